//! The header in which a proxy forwards a client's certificate (RFC 9440). An input is the header's value, and the
//! base64 of a certificate.

#![no_main]

use assent::http::oidc::client_certificate::{ClientCertificate, from_header};
use assent::keys::client::certificate_is_in_time;
use assent_fuzz::lines;
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use openssl::x509::X509;

fuzz_target!(|input: &[u8]| {
    let Some([value, encoded]) = lines(input) else {
        return;
    };
    for value in [value, &format!(":{encoded}:")] {
        let Some(certificate) = read(value) else {
            continue;
        };
        // An application is identified by exactly these bytes, so the certificate must have only one encoding.
        let parsed = X509::from_der(certificate.der()).and_then(|parsed| parsed.to_der());
        assert_eq!(
            parsed.ok().as_deref(),
            Some(certificate.der()),
            "{value} has more than a certificate"
        );
        assert_eq!(
            read(&format!(":{}:", STANDARD.encode(certificate.der()))).as_ref(),
            Some(&certificate)
        );
        certificate_is_in_time(certificate.der(), 2_000_000_000);
    }
});

fn read(value: &str) -> Option<ClientCertificate> {
    let headers = HeaderMap::from_iter([(
        "client-cert".parse().ok()?,
        HeaderValue::from_str(value).ok()?,
    )]);
    from_header(&headers).ok().flatten()
}
