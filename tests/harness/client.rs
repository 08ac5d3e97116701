//! HTTP clients.

use std::sync::LazyLock;

use native_tls::TlsConnector;
use reqwest::{Client, ClientBuilder};

/// The common TLS configuration of all clients. A new configuration reads the certificate authorities of this machine,
/// which takes longer than most requests. Tests connect only to this machine, and their instances have self-signed
/// certificates.
static TLS: LazyLock<TlsConnector> = LazyLock::new(|| {
    let mut builder = TlsConnector::builder();
    builder
        .danger_accept_invalid_certs(true)
        .build()
        .expect("TLS")
});

/// Returns a builder for a separate client, as [`Client::builder`] does.
pub fn http_client_builder() -> ClientBuilder {
    Client::builder().tls_backend_preconfigured(TLS.clone())
}

/// Returns a separate client, as [`Client::new`] does.
pub fn http_client() -> Client {
    http_client_builder().build().expect("a client")
}
