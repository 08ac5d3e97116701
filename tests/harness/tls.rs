//! Instances with TLS, and clients that trust them.

use std::path::Path;

use super::{rsa_key, write_file};
use openssl::asn1::{Asn1Time, Asn1Type};
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Extension, X509Name, X509NameBuilder};
use reqwest::{Certificate, Client, ClientBuilder, Identity};

/// Returns a self-signed certificate for `localhost`, and its key.
pub fn certificate_of(name: &str) -> (X509, PKey<Private>) {
    let key = rsa_key();
    let created = || {
        let mut subject = X509NameBuilder::new()?;
        subject.append_entry_by_text("CN", name)?;
        let subject = subject.build();
        let mut builder = X509::builder()?;
        builder.set_version(2)?;
        let serial = BigNum::from_u32(1)?.to_asn1_integer()?;
        builder.set_serial_number(&serial)?;
        builder.set_subject_name(&subject)?;
        builder.set_issuer_name(&subject)?;
        let (from, until) = (Asn1Time::days_from_now(0)?, Asn1Time::days_from_now(2)?);
        builder.set_not_before(&from)?;
        builder.set_not_after(&until)?;
        builder.set_pubkey(&key)?;
        let names = SubjectAlternativeName::new()
            .dns("localhost")
            .build(&builder.x509v3_context(None, None))?;
        builder.append_extension(names)?;
        builder.sign(&key, MessageDigest::sha256())?;
        Ok::<_, openssl::error::ErrorStack>(builder.build())
    };
    (created().expect("a certificate"), key)
}

/// Writes a certificate and its key, and returns the settings with their paths.
pub fn files(folder: &Path, certificate: &X509, key: &PKey<Private>) -> String {
    let (certificate_file, key_file) = (folder.join("certificate.pem"), folder.join("key.pem"));
    write_file(&certificate_file, certificate.to_pem().expect("PEM"));
    write_file(&key_file, key.private_key_to_pem_pkcs8().expect("PEM"));
    format!("certificate_file = {certificate_file:?}\nkey_file = {key_file:?}\n")
}

/// Returns a client that trusts this certificate, and that presents its own certificate if it has one.
pub fn client(server: &X509, own: Option<&(X509, PKey<Private>)>) -> Client {
    client_builder(server, own).build().expect("a client")
}

/// Returns the builder of such a client.
pub fn client_builder(server: &X509, own: Option<&(X509, PKey<Private>)>) -> ClientBuilder {
    let trusted = Certificate::from_der(&server.to_der().expect("DER")).expect("a certificate");
    let mut builder = Client::builder()
        .add_root_certificate(trusted)
        .redirect(reqwest::redirect::Policy::none());
    if let Some((certificate, key)) = own {
        let (certificate, key) = (
            certificate.to_pem().expect("PEM"),
            key.private_key_to_pem_pkcs8().expect("PEM"),
        );
        builder =
            builder.identity(Identity::from_pkcs8_pem(&certificate, &key).expect("an identity"));
    }
    builder
}

/// Returns the settings of an instance with HTTPS, and its certificate. The folder stores the certificate and its key.
pub fn https_settings(folder: &Path) -> (String, X509) {
    let (certificate, key) = certificate_of("server");
    (
        format!("[http.tls]\n{}", files(folder, &certificate, &key)),
        certificate,
    )
}

/// Returns the settings of an instance with a listener for client certificates, and that listener's certificate. `http`
/// has additional lines of the table `[http]`. The caller may append lines of `[http.mtls]` and other tables.
pub fn mtls_settings(folder: &Path, http: &str) -> (String, X509) {
    let (certificate, key) = certificate_of("server");
    let settings = format!(
        "[http]\nmtls_url = \"https://localhost:{{mtls_port}}\"\n{http}[http.mtls]\nlisten = \
         \"127.0.0.1:{{mtls_port}}\"\n{}",
        files(folder, &certificate, &key)
    );
    (settings, certificate)
}

/// A certificate and its key.
pub type Certified = (X509, PKey<Private>);

/// Returns a certificate of this issuer, with a new EC key. Without an issuer it is self-signed. The validity is in
/// seconds since the epoch.
pub fn issued(
    subject: &X509Name,
    issuer: Option<&Certified>,
    (from, until): (i64, i64),
    extensions: Vec<X509Extension>,
) -> Certified {
    let created = || {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
        let key = PKey::from_ec_key(EcKey::generate(&group)?)?;
        let mut builder = X509::builder()?;
        builder.set_version(2)?;
        let mut serial = BigNum::new()?;
        serial.rand(64, MsbOption::MAYBE_ZERO, false)?;
        let serial = serial.to_asn1_integer()?;
        builder.set_serial_number(&serial)?;
        builder.set_subject_name(subject)?;
        builder.set_issuer_name(issuer.map_or(subject, |(issuer, _)| issuer.subject_name()))?;
        let (from, until) = (Asn1Time::from_unix(from)?, Asn1Time::from_unix(until)?);
        builder.set_not_before(&from)?;
        builder.set_not_after(&until)?;
        builder.set_pubkey(&key)?;
        for extension in extensions {
            builder.append_extension(extension)?;
        }
        builder.sign(issuer.map_or(&key, |(_, key)| key), MessageDigest::sha256())?;
        Ok::<_, ErrorStack>((builder.build(), key))
    };
    created().expect("a certificate")
}

/// Returns a certificate authority.
pub fn authority(name: &str, issuer: Option<&Certified>, validity: (i64, i64)) -> Certified {
    let constraints = BasicConstraints::new().critical().ca().build();
    let constraints = constraints.expect("an extension");
    issued(
        &subject(&[("CN", name)]),
        issuer,
        validity,
        vec![constraints],
    )
}

/// Returns a name with these attributes in their order, as UTF8String.
pub fn subject(attributes: &[(&str, &str)]) -> X509Name {
    let mut name = X509NameBuilder::new().expect("a name");
    for (kind, value) in attributes {
        name.append_entry_by_text_with_type(kind, value, Asn1Type::UTF8STRING)
            .expect("an attribute");
    }
    name.build()
}

/// Returns the subject alternative names that the closure adds.
pub fn alternative_names(add: impl FnOnce(&mut SubjectAlternativeName)) -> X509Extension {
    let mut names = SubjectAlternativeName::new();
    add(&mut names);
    let builder = X509::builder().expect("a certificate");
    names
        .build(&builder.x509v3_context(None, None))
        .expect("an extension")
}

/// Returns a client that trusts this certificate, and that presents its own with those of the authorities.
pub fn client_with_chain(
    server: &X509,
    (own, key): &Certified,
    authorities: &[&Certified],
) -> Client {
    let mut chain = own.to_pem().expect("PEM");
    for (authority, _) in authorities {
        chain.extend(authority.to_pem().expect("PEM"));
    }
    let key = key.private_key_to_pem_pkcs8().expect("PEM");
    let identity = Identity::from_pkcs8_pem(&chain, &key).expect("an identity");
    client_builder(server, None)
        .identity(identity)
        .build()
        .expect("a client")
}

/// Writes the certificates of authorities, and returns the line of `[http.mtls]` that names the file.
pub fn authorities_setting(folder: &Path, authorities: &[&Certified]) -> String {
    let file = folder.join("authorities.pem");
    let texts = authorities
        .iter()
        .map(|(authority, _)| authority.to_pem().expect("PEM"));
    write_file(&file, texts.collect::<Vec<_>>().concat());
    format!("authorities_file = {file:?}\n")
}
