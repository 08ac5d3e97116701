//! The configuration of the demo: the provider, and the demo's registration there.

use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;
use url::Url;

/// The registration of the demo at the provider, as in the file of `--client`.
#[derive(Clone, Debug, Deserialize)]
pub struct ClientFile {
    /// The provider's issuer identifier, such as `http://localhost:8080/oidc`.
    // This is a string because a `Url` would add a slash to an issuer without a path. Issuers are compared as exact
    // strings.
    pub issuer: String,
    /// The client identifier that the provider assigned to the demo.
    pub client_id: String,
    /// The redirect URI of the authorization response: a loopback address (RFC 8252 section 7.3).
    pub redirect_uri: Url,
    /// The address to which the provider redirects after sign-out. Without it the demo ends only its own session.
    #[serde(default)]
    pub post_logout_redirect_uri: Option<Url>,
}

impl ClientFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read or is invalid. The error describes the problem.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {shown}; start Assent first, which writes it"))?;
        Self::parse(&text)
            .with_context(|| format!("{shown} does not describe the demo application"))
    }

    /// Parses the text of the file.
    ///
    /// # Errors
    /// The text is invalid. The error describes the problem.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let client: Self = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .context("expected a JSON object with the texts issuer, client_id and redirect_uri")?;
        ensure!(!client.client_id.is_empty(), "client_id is empty");
        ensure!(
            Url::parse(&client.issuer)
                .is_ok_and(|issuer| matches!(issuer.scheme(), "http" | "https")),
            "issuer is {:?}, but must be an address such as http://localhost:8080/oidc",
            client.issuer
        );
        let loopback = client.redirect_uri.scheme() == "http"
            && matches!(
                client.redirect_uri.host_str(),
                Some("127.0.0.1" | "[::1]" | "localhost")
            );
        ensure!(
            loopback,
            "redirect_uri is {}, but the demo listens only on this machine: use http://127.0.0.1:PORT/callback",
            client.redirect_uri
        );
        // The other paths are pages of the demo.
        ensure!(
            client.redirect_uri.path() == "/callback",
            "redirect_uri must have the path /callback"
        );
        let signed_out = client.post_logout_redirect_uri.as_ref();
        ensure!(
            signed_out.is_none_or(|uri| {
                uri.origin() == client.redirect_uri.origin() && uri.path() == "/signed-out"
            }),
            "post_logout_redirect_uri must be that of the redirect_uri with the path /signed-out"
        );
        Ok(client)
    }

    /// Returns the address to listen on, `host:port`, from the redirect URI.
    ///
    /// # Errors
    /// The redirect URI has no host or no port.
    pub fn listen_address(&self) -> anyhow::Result<String> {
        let host = self
            .redirect_uri
            .host_str()
            .context("redirect_uri has no host")?;
        let port = self
            .redirect_uri
            .port_or_known_default()
            .context("redirect_uri has no port")?;
        Ok(format!("{host}:{port}"))
    }

    /// Returns the demo's own address without a path, such as `http://127.0.0.1:8081`.
    pub fn origin(&self) -> String {
        self.redirect_uri.origin().ascii_serialization()
    }
}
