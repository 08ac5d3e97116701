//! A small relying party, as an example for developers who connect an application to Assent.
//!
//! It signs a user in with the authorization code flow (OpenID Connect Core 1.0 section 3.1) as a public client with
//! PKCE, and shows the received claims. Read `relying_party` first. It takes all information about the provider from
//! the discovery document.

mod client_file;
mod pages;
mod relying_party;
mod web;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use client_file::ClientFile;
use relying_party::RelyingParty;

/// A demo application that signs users in with OpenID Connect.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// A JSON file with `issuer`, `client_id` and `redirect_uri`. Assent writes one at its first start.
    #[arg(long, value_name = "FILE")]
    client: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_ansi(std::io::stdout().is_terminal())
        // A line that cannot be written is lost. The report of that would end the demo, if it cannot be written either.
        .log_internal_errors(false)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
        )
        .init();
    let client = ClientFile::read(&Arguments::parse().client)?;
    let address = client.listen_address()?;
    let listener = tokio::net::TcpListener::bind(&address)
        .await
        .with_context(|| format!("the demo cannot listen on {address}; is it running already?"))?;
    tracing::info!(origin = %client.origin(), "demo application serving");

    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    axum::serve(listener, web::router(RelyingParty::new(client)?))
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}
