//! HTTP clients.

use std::sync::LazyLock;

use native_tls::TlsConnector;
use reqwest::{Client, ClientBuilder};

/// One TLS configuration for all clients: a new one reads this machine's certificate authorities, which takes longer
/// than most requests. Tests reach this machine only, and their instances have self-signed certificates.
static TLS: LazyLock<TlsConnector> = LazyLock::new(|| {
    let mut builder = TlsConnector::builder();
    builder
        .danger_accept_invalid_certs(true)
        .build()
        .expect("TLS")
});

/// A client of its own for each that asks, as [`Client::builder`] makes one.
pub fn http_client_builder() -> ClientBuilder {
    Client::builder().tls_backend_preconfigured(TLS.clone())
}

/// A client of its own for each that asks, as [`Client::new`] makes one.
pub fn http_client() -> Client {
    http_client_builder().build().expect("a client")
}
