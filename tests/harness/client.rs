//! HTTP clients.

use std::sync::LazyLock;

use native_tls::TlsConnector;
use reqwest::{Client, ClientBuilder};

/// This machine's certificate authorities. OpenSSL takes longer to read them than most requests take, and a test makes many
/// clients: they were two thirds of what the tests took.
static TLS: LazyLock<TlsConnector> = LazyLock::new(|| TlsConnector::new().expect("TLS"));

/// A client of its own for each that asks, as [`Client::builder`] makes one.
pub fn http_client_builder() -> ClientBuilder {
    Client::builder().tls_backend_preconfigured(TLS.clone())
}

/// A client of its own for each that asks, as [`Client::new`] makes one.
pub fn http_client() -> Client {
    http_client_builder().build().expect("a client")
}
