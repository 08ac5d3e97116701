//! Self-signed certificates of services. Clients trust them only by configuration.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::x509::{X509, X509Name};

/// Returns a self-signed certificate of a service provider, valid for one day.
pub fn certificate(key: &PKey<Private>) -> X509 {
    let mut name = X509Name::builder().expect("a name");
    name.append_entry_by_text("CN", "sp.example.org")
        .expect("a name");
    let name = name.build();
    let mut certificate = X509::builder().expect("a certificate");
    certificate.set_version(2).expect("a version");
    let serial = BigNum::from_u32(1)
        .and_then(|number| number.to_asn1_integer())
        .expect("a number");
    certificate
        .set_serial_number(&serial)
        .expect("a serial number");
    certificate.set_subject_name(&name).expect("a subject");
    certificate.set_issuer_name(&name).expect("an issuer");
    certificate.set_pubkey(key).expect("a key");
    certificate
        .set_not_before(&Asn1Time::days_from_now(0).expect("a time"))
        .expect("a time");
    certificate
        .set_not_after(&Asn1Time::days_from_now(1).expect("a time"))
        .expect("a time");
    certificate
        .sign(key, MessageDigest::sha256())
        .expect("a signature");
    certificate.build()
}
