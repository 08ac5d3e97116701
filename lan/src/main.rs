//! A trial of Assent with a real phone, for `make run LAN=1`.
//!
//! Browsers permit cryptographic keys only on pages over https, so the phone needs a certificate that it trusts. No
//! public authority certifies a private address. So this program creates an authority of its own, and serves a page
//! that explains how to trust it.

mod address;
mod authority;
mod page;

use std::fmt::Display;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use reqwest::{Certificate, Client};
use tokio::net::TcpListener;

use crate::address::Address;
use crate::authority::Authority;
use crate::page::Trial;

/// Prepares a trial of Assent with a phone: an address, a certificate, and a page that explains how to trust it.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the address at which other machines of the network reach this one.
    Address {
        /// `1` detects the address of this machine. Any other value is the name or address for the phone.
        wanted: String,
    },
    /// Create the certificate, unless there is a valid one, and print the origin of Assent.
    Certify(Place),
    /// Check whether Assent is ready, within one second. The exit code is the result.
    Ready(Place),
    /// Serve the page that explains how to trust the certificate.
    Explain {
        #[command(flatten)]
        place: Place,
        /// The page's port.
        #[arg(long, default_value_t = 8090)]
        page_port: u16,
    },
}

/// The location of a trial.
#[derive(Clone, Debug, Args)]
struct Place {
    /// The name or address for the phone.
    address: Address,
    /// The folder of the certificate.
    folder: PathBuf,
    /// The port of Assent.
    #[arg(long, default_value_t = 8443)]
    port: u16,
}

impl Place {
    fn origin(&self) -> String {
        format!("https://{}:{}", self.address.in_url(), self.port)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Address { wanted } => {
            let address = if wanted == "1" {
                address::own()?
            } else {
                wanted.parse()?
            };
            print_line(address)
        }
        Command::Certify(place) => {
            authority::prepare(&place.folder, &place.address)?;
            print_line(place.origin())
        }
        Command::Ready(place) => ready(&place).await,
        Command::Explain { place, page_port } => explain(place, page_port).await,
    }
}

/// Prints the result of a command.
///
/// # Errors
/// If it cannot be written.
fn print_line(line: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Prints a line for the user. The page is served even if it cannot be written.
fn show_line(line: impl Display) {
    let _ = print_line(line);
}

async fn ready(place: &Place) -> anyhow::Result<()> {
    let authority = Certificate::from_pem(&std::fs::read(Authority::file(&place.folder))?)?;
    let client = Client::builder()
        .tls_certs_only([authority])
        .no_proxy()
        .timeout(Duration::from_secs(1))
        .build()?;
    let answer = client
        .get(format!("{}/readyz", place.origin()))
        .send()
        .await?;
    if !answer.status().is_success() {
        bail!("Assent is not ready: it answers {}", answer.status());
    }
    Ok(())
}

async fn explain(place: Place, page_port: u16) -> anyhow::Result<()> {
    let authority = Authority::read(&place.folder)?;
    let everywhere = match place.address.ip() {
        Some(ip) if ip.is_ipv6() => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    let listener = TcpListener::bind((everywhere, page_port))
        .await
        .with_context(|| {
            format!("the page cannot listen on port {page_port}; is a trial running already?")
        })?;
    let page = format!(
        "http://{}:{}/",
        place.address.in_url(),
        listener.local_addr()?.port()
    );
    show_line(format_args!(
        "\nOn your phone, in the same network, open {page}"
    ));
    if let Ok(code) = qrcode::QrCode::new(&page) {
        show_line(format_args!(
            "{}",
            code.render::<qrcode::render::unicode::Dense1x2>()
                .quiet_zone(true)
                .build()
        ));
    }
    show_line(
        "It explains how to trust this trial's certificate on the phone. The SHA-256 fingerprint of the certificate is",
    );
    show_line(format_args!("  {}\n", authority.fingerprint));
    Ok(axum::serve(
        listener,
        page::router(Trial {
            origin: place.origin(),
            authority,
        }),
    )
    .await?)
}
