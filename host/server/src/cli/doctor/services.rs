//! What the server calls: the SMTP server, and the hosts of approval channels. And the digests of its plugins.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use openssl::asn1::Asn1Time;
use openssl::ssl::{SslConnector, SslMethod};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use super::finding::Finding;
use crate::app;
use crate::config::{Plugins, Settings};

/// The time of one connection with its handshake.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A warning for each plugin whose file may change unnoticed.
pub(super) fn plugin_digests(plugins: &Plugins) -> Vec<Finding> {
    let mappers = plugins
        .claim_mappers
        .iter()
        .map(|one| (&one.name, &one.sha256));
    let channels = plugins
        .approval_channels
        .iter()
        .map(|one| (&one.name, &one.sha256));
    let all: Vec<_> = mappers.chain(channels).collect();
    let unpinned: Vec<&str> = all
        .iter()
        .filter(|(_, digest)| digest.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    if unpinned.is_empty() {
        return vec![Finding::ok(
            "plugins",
            format!("{} with their digests", all.len()),
        )];
    }
    vec![Finding::warning(
        "plugins",
        format!("the settings have no digest of {}", unpinned.join(", ")),
        "Add sha256 to each, as `assent plugins check FILE` prints it. Another file is then not loaded.",
    )]
}

/// Calls what the server calls, and sends nothing.
pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(smtp(settings).await);
    let channels = &settings.plugins.approval_channels;
    let hosts = channels.iter().flat_map(|channel| &channel.http_hosts);
    // A pattern such as *.push.apple.com names no host that could be called.
    for host in hosts.filter(|host| !host.contains('*')) {
        findings.push(channel_host(host).await);
    }
    findings
}

async fn smtp(settings: &Settings) -> Option<Finding> {
    let mailer = match app::mailer(settings) {
        Ok(mailer) => mailer?,
        Err(error) => return Some(Finding::problem("email", error.to_string(), "")),
    };
    let address = mailer.address();
    Some(match mailer.check().await {
        Ok(()) => Finding::ok(
            "email",
            format!("{address} accepts the connection and the credentials"),
        ),
        Err(error) => Finding::problem(
            "email",
            error.to_string(),
            "Check the table [mail], and that the firewall permits the connection.",
        ),
    })
}

async fn channel_host(host: &str) -> Finding {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().unwrap_or(443)),
        None => (host, 443),
    };
    match certificate_days(name, port, None).await {
        Ok(_) => Finding::ok("push", format!("{host} can be reached")),
        Err(error) => Finding::warning(
            "push",
            format!("{host}: {error:#}"),
            "Permit outgoing connections to it; until then devices find requests only when they are opened.",
        ),
    }
}

/// Connects with TLS, verifies the certificate, and returns the days that it is still valid.
pub(super) async fn certificate_days(
    host: &str,
    port: u16,
    ca: Option<&Path>,
) -> anyhow::Result<i64> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    if let Some(file) = ca {
        builder
            .set_ca_file(file)
            .with_context(|| file.display().to_string())?;
    }
    let name = host.trim_matches(['[', ']']);
    let ssl = builder.build().configure()?.into_ssl(name)?;
    let connected = async {
        let stream = TcpStream::connect((name, port))
            .await
            .context("no connection")?;
        let mut stream = SslStream::new(ssl, stream)?;
        let shaken = Pin::new(&mut stream).connect().await;
        let verified = stream.ssl().verify_result();
        shaken.with_context(|| format!("no TLS connection: {}", verified.error_string()))?;
        anyhow::Ok(stream)
    };
    let stream = tokio::time::timeout(TIMEOUT, connected)
        .await
        .context("no answer in time")??;
    let certificate = stream.ssl().peer_certificate().context("no certificate")?;
    let left = Asn1Time::days_from_now(0)?.diff(certificate.not_after())?;
    Ok(i64::from(left.days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Level;

    #[test]
    fn plugins_without_a_digest_are_named() {
        let read = |text: &str| toml::from_str::<Plugins>(text).unwrap();
        let found = plugin_digests(&read(
            "[[claim_mappers]]\nname = \"a\"\nfile = \"a.wasm\"\nwrites = []\nsha256 = \"00\"\n\
             [[approval_channels]]\nname = \"b\"\nfile = \"b.wasm\"\n",
        ));
        let [found] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(found.level, Level::Warning);
        assert_eq!(found.text, "the settings have no digest of b");
        let pinned = read(
            "[[claim_mappers]]\nname = \"a\"\nfile = \"a.wasm\"\nwrites = []\nsha256 = \"00\"\n",
        );
        assert!(
            plugin_digests(&pinned)
                .iter()
                .all(|one| one.level == Level::Ok)
        );
    }
}
