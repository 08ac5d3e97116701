//! The certificate of a trial, and the certificate authority that signs it.
//!
//! The authority signs only this certificate, and its key is never stored. So a device that trusts the authority trusts
//! no other certificate, because none can ever be signed.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
    SubjectKeyIdentifier,
};
use openssl::x509::{X509, X509Builder, X509Name};

use crate::address::Address;

/// The lifetime of a certificate, in days. Phones accept at most 398 days.
const DAYS: u32 = 397;
/// The remaining lifetime below which a certificate is renewed, in days.
const LEFT: u32 = 30;

/// The authority that the phone must trust.
#[derive(Clone, Debug)]
pub struct Authority {
    /// Its certificate, in DER.
    pub certificate: Vec<u8>,
    /// The SHA-256 digest of the certificate in hexadecimal, in groups.
    pub fingerprint: String,
}

impl Authority {
    /// Returns the path of its certificate, in PEM.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join("authority.pem")
    }

    /// Reads the authority in a folder.
    ///
    /// # Errors
    /// The certificate is missing or invalid.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = Self::file(folder);
        let read = || -> anyhow::Result<Self> {
            let certificate = X509::from_pem(&fs::read(&file)?)?;
            let digest = certificate.digest(MessageDigest::sha256())?;
            let pairs: Vec<String> = digest
                .chunks(2)
                .map(|pair| pair.iter().map(|byte| format!("{byte:02X}")).collect())
                .collect();
            Ok(Self {
                certificate: certificate.to_der()?,
                fingerprint: pairs.join(" "),
            })
        };
        read().with_context(|| file.display().to_string())
    }
}

/// Creates the certificate of a trial at this address, unless the folder has one that stays valid for some time. The
/// server uses the files `certificate.pem` and `certificate.key`.
///
/// # Errors
/// The certificate cannot be created or stored.
pub fn prepare(folder: &Path, address: &Address) -> anyhow::Result<Authority> {
    if !is_valid(folder, address) {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        create_certificates(folder, address)?;
    }
    Authority::read(folder)
}

fn is_valid(folder: &Path, address: &Address) -> bool {
    let check = || -> anyhow::Result<bool> {
        let [authority, certificate] =
            ["authority.pem", "certificate.pem"].map(|name| fs::read(folder.join(name)));
        let (authority, certificate) =
            (X509::from_pem(&authority?)?, X509::from_pem(&certificate?)?);
        let key = PKey::private_key_from_pem(&fs::read(folder.join("certificate.key"))?)?;
        let names = certificate.subject_alt_names().context("no name")?;
        let named = names.iter().any(|name| match address.ip() {
            Some(ip) => name.ipaddress().is_some_and(|bytes| bytes == octets(ip)),
            None => name.dnsname() == Some(&address.in_url()),
        });
        let soon = Asn1Time::days_from_now(LEFT)?;
        Ok(named
            && key.public_eq(&*certificate.public_key()?)
            && certificate.verify(&*authority.public_key()?)?
            && certificate.not_after() > soon)
    };
    check().unwrap_or(false)
}

fn octets(ip: std::net::IpAddr) -> Vec<u8> {
    match ip {
        std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
        std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn create_certificates(folder: &Path, address: &Address) -> anyhow::Result<()> {
    let (authority_key, key) = (fresh_key()?, fresh_key()?);
    let subject = name(&format!("Assent trial at {address}"))?;
    let mut authority = builder(&subject, &subject, &authority_key)?;
    authority.append_extension(BasicConstraints::new().critical().ca().pathlen(0).build()?)?;
    authority.append_extension(KeyUsage::new().critical().key_cert_sign().build()?)?;
    let identifier = SubjectKeyIdentifier::new().build(&authority.x509v3_context(None, None))?;
    authority.append_extension(identifier)?;
    authority.sign(&authority_key, MessageDigest::sha256())?;
    let authority = authority.build();

    let mut certificate = builder(&name(&address.to_string())?, &subject, &key)?;
    certificate.append_extension(BasicConstraints::new().critical().build()?)?;
    certificate.append_extension(KeyUsage::new().critical().digital_signature().build()?)?;
    certificate.append_extension(ExtendedKeyUsage::new().server_auth().build()?)?;
    let mut names = SubjectAlternativeName::new();
    match address.ip() {
        Some(ip) => names.ip(&ip.to_string()),
        None => names.dns(&address.in_url()),
    };
    let context = certificate.x509v3_context(Some(&authority), None);
    let extensions = [
        names.build(&context)?,
        SubjectKeyIdentifier::new().build(&context)?,
        AuthorityKeyIdentifier::new().keyid(true).build(&context)?,
    ];
    for extension in extensions {
        certificate.append_extension(extension)?;
    }
    certificate.sign(&authority_key, MessageDigest::sha256())?;
    let certificate = certificate.build();

    write_private_file(
        &folder.join("certificate.key"),
        &key.private_key_to_pem_pkcs8()?,
    )?;
    write_private_file(&folder.join("certificate.pem"), &certificate.to_pem()?)?;
    write_private_file(&Authority::file(folder), &authority.to_pem()?)
}

fn fresh_key() -> anyhow::Result<PKey<Private>> {
    Ok(PKey::from_ec_key(EcKey::generate(
        &*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?,
    )?)?)
}

fn name(common: &str) -> anyhow::Result<X509Name> {
    let mut name = X509Name::builder()?;
    // A common name has at most 64 characters (RFC 5280 appendix A.1). Clients check only the alternative names.
    name.append_entry_by_text("CN", &common.chars().take(64).collect::<String>())?;
    Ok(name.build())
}

fn builder(
    subject: &X509Name,
    issuer: &X509Name,
    key: &PKey<Private>,
) -> anyhow::Result<X509Builder> {
    let mut serial = BigNum::new()?;
    serial.rand(127, MsbOption::MAYBE_ZERO, false)?;
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    builder.set_serial_number(&*serial.to_asn1_integer()?)?;
    builder.set_subject_name(subject)?;
    builder.set_issuer_name(issuer)?;
    builder.set_pubkey(key)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(DAYS)?)?;
    Ok(builder)
}

/// Writes a file atomically. Only its owner can read it.
fn write_private_file(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    let beside = file.with_extension("new");
    let write = || -> std::io::Result<()> {
        // A file of an aborted run is deleted and not reused, because it may have another owner or be readable by
        // others.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        written.write_all(content)?;
        fs::rename(&beside, file)
    };
    write().with_context(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn a_certificate_is_reused_for_its_address_and_replaced_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let first = prepare(folder.path(), &address("192.168.1.5")).unwrap();
        assert_eq!(
            prepare(folder.path(), &address("192.168.1.5"))
                .unwrap()
                .certificate,
            first.certificate
        );
        let other = prepare(folder.path(), &address("fd00::2")).unwrap();
        assert_ne!(other.certificate, first.certificate);
        let named = prepare(folder.path(), &address("ada.local")).unwrap();
        assert_eq!(
            prepare(folder.path(), &address("ada.local"))
                .unwrap()
                .certificate,
            named.certificate
        );
        fs::write(folder.path().join("certificate.pem"), "no certificate").unwrap();
        assert_ne!(
            prepare(folder.path(), &address("ada.local"))
                .unwrap()
                .certificate,
            named.certificate
        );
    }

    #[test]
    fn the_key_of_the_authority_is_not_stored_and_that_of_the_server_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path(), &address("192.168.1.5")).unwrap();
        let authority = X509::from_pem(&fs::read(Authority::file(folder.path())).unwrap()).unwrap();
        let mut keys = 0;
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if let Ok(key) = PKey::private_key_from_pem(&fs::read(&path).unwrap()) {
                assert!(
                    !key.public_eq(&*authority.public_key().unwrap()),
                    "{}",
                    path.display()
                );
                assert_eq!(
                    fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                    0o600
                );
                keys += 1;
            }
        }
        assert_eq!(keys, 1);
    }
}
