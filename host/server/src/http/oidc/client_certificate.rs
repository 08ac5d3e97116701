//! The certificate with which an application authenticates (RFC 8705), from the TLS handshake or from a proxy.

use std::sync::Arc;

use axum::extract::OptionalFromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, http};
use openssl::x509::X509;
use serde_json::json;
use sfv::{BareItem, Item, List, ListEntry, Parser};

use crate::config;
use crate::domain::Services;
use crate::http::forwarded::{HandshakeCredentials, has_trusted_peer};
use crate::oidc::client_auth::certificate::PresentedCertificate;

/// The header `Client-Cert` (RFC 9440).
const HEADER: http::HeaderName = http::HeaderName::from_static("client-cert");
/// The header `Client-Cert-Chain` (RFC 9440).
pub(crate) const CHAIN_HEADER: http::HeaderName =
    http::HeaderName::from_static("client-cert-chain");
/// The maximum length of the certificate's header, in bytes. A certificate of an RSA key has about 2,000.
const LONGEST: usize = 16 * 1024;
/// The maximum length of the chain's header, in bytes: eight certificates of 3,000 bytes in base64.
const LONGEST_CHAIN: usize = 32 * 1024;
/// The maximum number of certificates between that of a client and the root.
const MOST_INTERMEDIATES: usize = 8;

/// The certificate whose key the client proved to hold. The server checked nothing else of it: no name, no validity
/// period, no authority.
///
/// A handler takes `Option<ClientCertificate>`. It comes from the handshake, or, with `http.client_cert_header`, from
/// the trusted proxy that performed the handshake. The server ignores the header from any other peer. It also ignores
/// it at its own listener for client certificates, because a proxy in front forwards the client's own headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    der: Arc<[u8]>,
    /// The further certificates that the client presented, DER.
    intermediates: Arc<[Vec<u8>]>,
}

impl ClientCertificate {
    /// The certificate in DER form.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate, and the further ones that came with it.
    pub fn presented(&self) -> PresentedCertificate<'_> {
        PresentedCertificate {
            der: &self.der,
            intermediates: &self.intermediates,
        }
    }

    /// Adds the certificates of the authorities between this one and the root. Too many, or too long ones, are none:
    /// a chain that needs them is then incomplete.
    pub fn with_intermediates(self, intermediates: Vec<Vec<u8>>) -> Self {
        let length: usize = intermediates.iter().map(Vec::len).sum();
        if intermediates.len() > MOST_INTERMEDIATES || length > LONGEST_CHAIN / 4 * 3 {
            return self;
        }
        Self {
            intermediates: intermediates.into(),
            ..self
        }
    }
}

impl From<Vec<u8>> for ClientCertificate {
    fn from(der: Vec<u8>) -> Self {
        Self {
            der: der.into(),
            intermediates: Arc::default(),
        }
    }
}

impl OptionalFromRequestParts<Arc<Services>> for ClientCertificate {
    type Rejection = ClientCertificateError;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Option<Self>, ClientCertificateError> {
        presented_certificate(&services.settings.http, parts)
    }
}

fn presented_certificate(
    settings: &config::Http,
    parts: &Parts,
) -> Result<Option<ClientCertificate>, ClientCertificateError> {
    if parts.extensions.get::<HandshakeCredentials>().is_some() {
        return Ok(parts.extensions.get::<ClientCertificate>().cloned());
    }
    if settings.client_cert_header && has_trusted_peer(&parts.extensions, &settings.trusted_proxies)
    {
        // A certificate of such a connection would be that of the proxy.
        return from_header(&parts.headers);
    }
    Ok(parts.extensions.get::<ClientCertificate>().cloned())
}

/// The header is present, but contains no certificate.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientCertificateError;

impl IntoResponse for ClientCertificateError {
    fn into_response(self) -> Response {
        tracing::warn!("Client-Cert header of a trusted proxy violates RFC 9440");
        let description = "the Client-Cert header must be one certificate, :base64 of DER:, and Client-Cert-Chain \
                           a list of at most 8 of them";
        let body = json!({"error": "invalid_request", "error_description": description});
        (StatusCode::BAD_REQUEST, Json(body)).into_response()
    }
}

/// Reads the headers: a byte sequence (RFC 9651 section 3.3.5) that is a certificate in DER form (RFC 9440 section
/// 2.2), and the list of those between it and the root (section 2.3). The list without the certificate is ignored.
///
/// # Errors
/// If the first header is repeated, or one of them is too long, or anything else than certificates.
pub fn from_header(
    headers: &HeaderMap,
) -> Result<Option<ClientCertificate>, ClientCertificateError> {
    let mut lines = headers.get_all(HEADER).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() || line.len() > LONGEST {
        return Err(ClientCertificateError);
    }
    let item: Item = Parser::new(line.as_bytes())
        .parse()
        .map_err(|_| ClientCertificateError)?;
    let certificate = ClientCertificate::from(certificate(item.bare_item)?);
    Ok(Some(certificate.with_intermediates(chain(headers)?)))
}

/// Reads the list of certificates. It may have several lines (RFC 9651 section 4.2).
fn chain(headers: &HeaderMap) -> Result<Vec<Vec<u8>>, ClientCertificateError> {
    let lines: Vec<&[u8]> = headers
        .get_all(CHAIN_HEADER)
        .iter()
        .map(http::HeaderValue::as_bytes)
        .collect();
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let joined = lines.join(&b", "[..]);
    if joined.len() > LONGEST_CHAIN {
        return Err(ClientCertificateError);
    }
    let list: List = Parser::new(&joined)
        .parse()
        .map_err(|_| ClientCertificateError)?;
    if list.len() > MOST_INTERMEDIATES {
        return Err(ClientCertificateError);
    }
    list.into_iter()
        .map(|entry| match entry {
            ListEntry::Item(item) => certificate(item.bare_item),
            ListEntry::InnerList(_) => Err(ClientCertificateError),
        })
        .collect()
}

/// Returns the DER form of a certificate in a header.
fn certificate(item: BareItem) -> Result<Vec<u8>, ClientCertificateError> {
    let BareItem::ByteSequence(der) = item else {
        return Err(ClientCertificateError);
    };
    // Later comparisons use the exact bytes, so nothing may follow the certificate.
    match X509::from_der(&der).and_then(|certificate| certificate.to_der()) {
        Ok(again) if again == der => Ok(der),
        _ => Err(ClientCertificateError),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::extract::ConnectInfo;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::http::forwarded::LocalProxy;
    use crate::http::tls::tests::certificate;

    /// Reads a certificate with these lines of its chain.
    fn read_chain(lines: &[&str]) -> Result<Vec<Vec<u8>>, ClientCertificateError> {
        let der = certificate("client").0.to_der().unwrap();
        let mut headers = HeaderMap::new();
        headers.append(
            HEADER,
            format!(":{}:", STANDARD.encode(der)).parse().unwrap(),
        );
        for line in lines {
            headers.append(CHAIN_HEADER, line.parse().unwrap());
        }
        let found = from_header(&headers)?.unwrap();
        Ok(found.presented().intermediates.to_vec())
    }

    #[test]
    fn a_chain_is_parsed_as_in_rfc_9440() {
        let der = ["first", "second"].map(|name| certificate(name).0.to_der().unwrap());
        let [first, second] = der
            .each_ref()
            .map(|der| format!(":{}:", STANDARD.encode(der)));
        assert_eq!(read_chain(&[]), Ok(Vec::new()));
        assert_eq!(read_chain(&[""]), Ok(Vec::new()));
        assert_eq!(
            read_chain(&[&format!("{first}, {second}")]),
            Ok(der.to_vec())
        );
        assert_eq!(read_chain(&[&first, &second]), Ok(der.to_vec()));
        let many = [first.as_str(); MOST_INTERMEDIATES].join(",");
        assert_eq!(read_chain(&[&many]).map(|chain| chain.len()), Ok(8));
        for bad in [
            "a",
            &format!("{many},{first}"),
            &format!("({first})"),
            &format!("{first},"),
            &format!("{first} {second}"),
            "::",
            ":AAAA:",
            &format!(":{}:", "A".repeat(LONGEST_CHAIN)),
        ] {
            assert_eq!(read_chain(&[bad]), Err(ClientCertificateError), "{bad}");
        }
        let mut alone = HeaderMap::new();
        alone.append(CHAIN_HEADER, first.parse().unwrap());
        assert_eq!(from_header(&alone), Ok(None));
        // Those of a handshake have the same bounds.
        let with = |chain: Vec<Vec<u8>>| {
            let certificate = ClientCertificate::from(b"client".to_vec()).with_intermediates(chain);
            certificate.presented().intermediates.len()
        };
        assert_eq!(with(vec![vec![0]; MOST_INTERMEDIATES]), 8);
        assert_eq!(with(vec![vec![0]; MOST_INTERMEDIATES + 1]), 0);
        assert_eq!(with(vec![vec![0; 3 * 1024]; MOST_INTERMEDIATES]), 8);
        assert_eq!(with(vec![vec![0; 24 * 1024], vec![0]]), 0);
    }

    fn read(lines: &[&[u8]]) -> Result<Option<Vec<u8>>, ClientCertificateError> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HEADER, http::HeaderValue::from_bytes(line).unwrap());
        }
        Ok(from_header(&headers)?.map(|certificate| certificate.der().to_vec()))
    }

    #[test]
    fn a_certificate_is_parsed_as_in_rfc_9440() {
        let der = certificate("client").0.to_der().unwrap();
        let text = STANDARD.encode(&der);
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(
            read(&[format!(":{text}:").as_bytes()]),
            Ok(Some(der.clone()))
        );
        let longer = STANDARD.encode([&der[..], b"more"].concat());
        let cut = STANDARD.encode(&der[..der.len() - 1]);
        let pem = certificate("client").0.to_pem().unwrap();
        let pem = STANDARD.encode(pem);
        let too_long = "A".repeat(LONGEST);
        for bad in [
            &text,
            &format!(":{text}"),
            &format!(":{text}:x"),
            &format!("\"{text}\""),
            &format!(":{text}:, :{text}:"),
        ] {
            assert_eq!(
                read(&[bad.as_bytes()]),
                Err(ClientCertificateError),
                "{bad}"
            );
        }
        for bad in ["", "::", ":%%%:", &longer, &cut, &pem, &too_long] {
            assert_eq!(
                read(&[format!(":{bad}:").as_bytes()]),
                Err(ClientCertificateError),
                "{bad}"
            );
        }
        let line = format!(":{text}:");
        assert_eq!(
            read(&[line.as_bytes(), line.as_bytes()]),
            Err(ClientCertificateError),
            "two lines"
        );
    }

    #[test]
    fn the_header_is_accepted_only_from_trusted_proxies_and_with_the_setting() {
        let (proxied, own) = (
            certificate("proxied").0.to_der().unwrap(),
            certificate("own").0.to_der().unwrap(),
        );
        let seen = |peer: &str, client_cert_header, with_header, header: &str| {
            let settings = config::Http {
                trusted_proxies: vec![std::net::IpAddr::from([10, 0, 0, 1]).into()],
                client_cert_header,
                ..config::Http::default()
            };
            let mut parts = http::Request::new(()).into_parts().0;
            parts.extensions.insert(ConnectInfo::<SocketAddr>(
                format!("{peer}:4711").parse().unwrap(),
            ));
            parts
                .extensions
                .insert(ClientCertificate::from(own.clone()));
            if with_header {
                parts.headers.insert(HEADER, header.parse().unwrap());
            }
            presented_certificate(&settings, &parts)
                .map(|found| found.map(|certificate| certificate.der().to_vec()))
        };
        let header = format!(":{}:", STANDARD.encode(&proxied));
        assert_eq!(seen("10.0.0.1", true, true, &header), Ok(Some(proxied)));
        assert_eq!(
            seen("10.0.0.1", true, false, ""),
            Ok(None),
            "the certificate of the connection is that of the proxy"
        );
        assert_eq!(
            seen("10.0.0.1", true, true, "nonsense"),
            Err(ClientCertificateError)
        );
        assert_eq!(
            seen("10.0.0.1", false, true, &header),
            Ok(Some(own.clone()))
        );
        assert_eq!(seen("10.0.0.2", true, true, &header), Ok(Some(own.clone())));
        assert_eq!(seen("10.0.0.2", true, true, "nonsense"), Ok(Some(own)));
    }

    #[test]
    fn the_header_is_accepted_from_a_proxy_at_the_socket() {
        let proxied = certificate("proxied").0.to_der().unwrap();
        for client_cert_header in [false, true] {
            let settings = config::Http {
                client_cert_header,
                ..config::Http::default()
            };
            let mut parts = http::Request::new(()).into_parts().0;
            parts.extensions.insert(LocalProxy);
            let header = format!(":{}:", STANDARD.encode(&proxied));
            parts.headers.insert(HEADER, header.parse().unwrap());
            let found = presented_certificate(&settings, &parts).unwrap();
            let expected = client_cert_header.then(|| ClientCertificate::from(proxied.clone()));
            assert_eq!(found, expected);
        }
    }

    proptest! {
        #[test]
        fn no_chain_panics(line in "[\\x20-\\x7e]{0,200}") {
            let _ = read_chain(&[&line]);
        }

        #[test]
        fn any_other_value_is_malformed(
            line in "[\\x20-\\x7e\\u{80}-\\u{ff}]{0,200}",
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            prop_assert_eq!(read(&[line.as_bytes()]), Err(ClientCertificateError));
            prop_assert_eq!(read(&[format!(":{}:", STANDARD.encode(&bytes)).as_bytes()]), Err(ClientCertificateError));
        }

        #[test]
        fn a_certificate_with_a_changed_byte_is_unchanged_or_malformed(at in 0_usize..400, to in any::<u8>()) {
            let mut der = certificate("client").0.to_der().unwrap();
            let at = at % der.len();
            der[at] = to;
            let found = read(&[format!(":{}:", STANDARD.encode(&der)).as_bytes()]);
            prop_assert!(found == Err(ClientCertificateError) || found == Ok(Some(der)));
        }
    }
}
