//! The base URL from the view of clients: the server behind it, its TLS certificate, and the headers of the proxy.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use reqwest::{Certificate, Client};
use serde::Deserialize;

use super::finding::Finding;
use super::services::certificate_days;
use crate::config::Settings;

/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a response, in bytes.
const LARGEST: usize = 256 * 1024;
/// The address, reserved for documentation (RFC 5737), that the doctor claims in a header.
const CLAIMED: &str = "192.0.2.77";
/// The number of days before its expiry by which a certificate should have been renewed.
const DAYS_LEFT: i64 = 14;

/// The part of the discovery document that identifies the installation.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
}

/// The response of `GET /connection`.
#[derive(Deserialize)]
struct Connection {
    client_address: Option<String>,
    forwarded_for: String,
}

pub(super) async fn examine(settings: &Settings, ca: Option<&Path>) -> Vec<Finding> {
    let client = match client(ca) {
        Ok(client) => client,
        Err(error) => {
            let text = format!("{error:#}");
            return vec![Finding::problem(
                "base URL",
                text,
                "Name a PEM file with --ca.",
            )];
        }
    };
    let origin = settings.origin();
    let mut findings = Vec::new();
    match issuer(&client, &origin).await {
        Ok(issuer) if issuer == settings.issuer() => {
            findings.push(Finding::ok(
                "base URL",
                format!("{origin} answers with the issuer of this installation"),
            ));
        }
        Ok(issuer) => {
            let text = format!("{origin} leads to another installation, whose issuer is {issuer}");
            let advice = "Correct base_url, the DNS record, or the proxy's target.";
            findings.push(Finding::problem("base URL", text, advice));
            return findings;
        }
        Err(error) => {
            let text = format!("{origin} does not lead to this server: {error:#}");
            let advice = "Start the server, and check the DNS record, the firewall, the proxy's target and the \
                          certificate.";
            findings.push(Finding::problem("base URL", text, advice));
            return findings;
        }
    }
    findings.push(readiness(&client, &origin).await);
    // Plain HTTP is only for clients on this machine, which need no proxy.
    if settings.is_https() {
        findings.push(certificate(settings, ca).await);
        findings.push(proxy(&client, &origin, settings).await);
    }
    findings
}

fn client(ca: Option<&Path>) -> anyhow::Result<Client> {
    let mut builder = Client::builder()
        .timeout(TIMEOUT)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none());
    if let Some(file) = ca {
        let name = || file.display().to_string();
        let pem = std::fs::read(file).with_context(name)?;
        for authority in Certificate::from_pem_bundle(&pem).with_context(name)? {
            builder = builder.add_root_certificate(authority);
        }
    }
    Ok(builder.build()?)
}

/// Returns the body of a successful response that is not too large.
async fn body_of(client: &Client, url: &str, claimed: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut request = client.get(url);
    if let Some(address) = claimed {
        request = request.header("x-forwarded-for", address);
    }
    let mut response = request.send().await?.error_for_status()?;
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        body.extend_from_slice(&part);
        anyhow::ensure!(body.len() <= LARGEST, "{url}: the response is too large");
    }
    Ok(body)
}

async fn issuer(client: &Client, origin: &str) -> anyhow::Result<String> {
    let url = format!("{origin}/oidc/.well-known/openid-configuration");
    let body = body_of(client, &url, None).await?;
    let document: Discovery =
        serde_json::from_slice(&body).with_context(|| format!("{url} is not Assent's document"))?;
    Ok(document.issuer)
}

async fn readiness(client: &Client, origin: &str) -> Finding {
    match client.get(format!("{origin}/readyz")).send().await {
        Ok(response) if response.status().is_success() => Finding::ok("server", "it is ready"),
        Ok(response) => {
            let status = response.status();
            let reason = response.text().await.unwrap_or_default();
            let text = format!("it is not ready ({status}): {}", reason.trim());
            Finding::problem("server", text, "The server's log has the reason.")
        }
        Err(error) => Finding::problem(
            "server",
            format!("/readyz does not answer: {error}"),
            "The server's log has the reason.",
        ),
    }
}

/// Checks the remaining days of the base URL's certificate. The earlier requests verified its chain.
async fn certificate(settings: &Settings, ca: Option<&Path>) -> Finding {
    let host = settings.base_url.host_str().unwrap_or_default();
    let port = settings.base_url.port_or_known_default().unwrap_or(443);
    match certificate_days(host, port, ca).await {
        Ok(days) => days_finding(host, days),
        Err(error) => Finding::problem(
            "certificate",
            format!("{host}:{port}: {error:#}"),
            "Send the whole chain: the certificate and those of the authorities between it and the root.",
        ),
    }
}

fn days_finding(host: &str, days: i64) -> Finding {
    let text = format!("the certificate of {host} is valid for {days} more days");
    if days < DAYS_LEFT {
        return Finding::warning(
            "certificate",
            text,
            "Renew it, and check the automatic renewal.",
        );
    }
    Finding::ok("certificate", text)
}

async fn proxy(client: &Client, origin: &str, settings: &Settings) -> Finding {
    let url = format!("{origin}/connection");
    let ask = async |claimed| -> anyhow::Result<Connection> {
        Ok(serde_json::from_slice(
            &body_of(client, &url, claimed).await?,
        )?)
    };
    match (ask(None).await, ask(Some(CLAIMED)).await) {
        (Ok(plain), Ok(claimed)) => proxy_finding(&plain, &claimed, settings.http.tls.is_none()),
        (Err(error), _) | (_, Err(error)) => Finding::problem(
            "proxy",
            format!("{url}: {error:#}"),
            "Let the proxy forward every path to the server.",
        ),
    }
}

/// Returns the finding from two requests: a usual one, and one that claims another address. `needs_proxy`: the server
/// has no TLS.
fn proxy_finding(plain: &Connection, claimed: &Connection, needs_proxy: bool) -> Finding {
    let check = "proxy";
    if plain.forwarded_for == "internal" {
        return Finding::warning(
            check,
            "this machine has an address of http.trusted_proxies, so the proxy cannot be checked from here",
            "Open /connection of the base URL in a browser elsewhere: it must show that browser's address.",
        );
    }
    if claimed.client_address.as_deref() == Some(CLAIMED) {
        return Finding::problem(
            check,
            "clients can claim any address: the proxy passes on the X-Forwarded-For header of the client",
            "Let the proxy add the client's address at the end of the header, or replace the header. With nginx: \
             proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        );
    }
    match plain.forwarded_for.as_str() {
        "used" => {
            let address = plain.client_address.as_deref().unwrap_or("unknown");
            Finding::ok(check, format!("it names the client's address: {address}"))
        }
        "ignored" => Finding::problem(
            check,
            "the server ignores X-Forwarded-For, because the proxy's address is not in http.trusted_proxies, so all \
             users share the rate limits of one address",
            "Add the address from which the proxy connects to http.trusted_proxies.",
        ),
        "unreadable" => Finding::problem(
            check,
            "the X-Forwarded-For header of the proxy does not end with an address",
            "Let the proxy add the client's address. With nginx: proxy_set_header X-Forwarded-For \
             $proxy_add_x_forwarded_for;",
        ),
        _ if needs_proxy => Finding::problem(
            check,
            "it sends no X-Forwarded-For header, so all users share the rate limits of one address",
            "Let the proxy send it. With nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        ),
        _ => Finding::ok(check, "none: clients reach the server directly"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Level;

    fn connection(address: &str, forwarded_for: &str) -> Connection {
        Connection {
            client_address: Some(address.to_owned()),
            forwarded_for: forwarded_for.to_owned(),
        }
    }

    #[test]
    fn each_way_to_forward_an_address_has_a_finding() {
        for (plain, claimed, needs_proxy, level, words) in [
            ("used", "203.0.113.9", true, Level::Ok, "203.0.113.9"),
            ("used", CLAIMED, true, Level::Problem, "claim any address"),
            (
                "internal",
                CLAIMED,
                true,
                Level::Warning,
                "cannot be checked",
            ),
            (
                "ignored",
                "10.0.0.1",
                true,
                Level::Problem,
                "trusted_proxies",
            ),
            (
                "unreadable",
                "10.0.0.1",
                true,
                Level::Problem,
                "does not end",
            ),
            ("absent", "10.0.0.1", true, Level::Problem, "sends no"),
            ("absent", "127.0.0.1", false, Level::Ok, "directly"),
        ] {
            let plain = connection("203.0.113.9", plain);
            let found = proxy_finding(&plain, &connection(claimed, "used"), needs_proxy);
            assert_eq!(found.level, level, "{found:?}");
            assert!(found.text.contains(words), "{found:?}");
        }
    }

    #[test]
    fn a_certificate_that_ends_soon_is_a_warning() {
        assert_eq!(days_finding("id.example", 13).level, Level::Warning);
        assert_eq!(days_finding("id.example", 14).level, Level::Ok);
    }
}
