//! The keys and certificates of SAML: those of this server, and those of service providers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssl::asn1::{Asn1Integer, Asn1Time};
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, KeyUsage, SubjectKeyIdentifier};
use openssl::x509::{X509, X509Name};
use zeroize::Zeroizing;

use super::armour::{first_certificate, has_private_key};
use super::{KeyError, SealingKeys};
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;
use assent_model::id::{Did, KeyId};
use assent_model::rsa_signer::{RsaScheme, RsaSigner};
use assent_model::saml::{PartnerCertificate, SamlKey};
use assent_saml_core::xml::Signer;

/// The size of this server's keys, in bits.
const BITS: u32 = 2048;
/// The time by which a certificate begins before its creation, for service providers with slow clocks.
const BEFORE: Duration = Duration::from_secs(60 * 60);
/// The accepted curves of signatures.
const CURVES: [Nid; 3] = [Nid::X9_62_PRIME256V1, Nid::SECP384R1, Nid::SECP521R1];
/// The largest number of cached keys.
const MOST_OPEN: usize = 1_000;

/// The cache of the signers of unsealed keys. The key of a row's identifier never changes, so the cache is never
/// outdated.
#[derive(Default)]
pub struct OpenKeys(Mutex<HashMap<KeyId, Arc<Signer>>>);

impl std::fmt::Debug for OpenKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenKeys").finish_non_exhaustive()
    }
}

impl OpenKeys {
    /// Returns the signer of the unsealed key, from the cache if possible.
    ///
    /// # Errors
    /// [`KeyError`] if the key cannot be unsealed, or cannot sign.
    pub fn open(&self, key: &SamlKey, sealing: &SealingKeys) -> Result<Arc<Signer>, KeyError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = lock().get(&key.id) {
            return Ok(Arc::clone(open));
        }
        let plain = sealing.open(&purpose(&key.application, key.id), &key.sealed)?;
        let private = PKey::private_key_from_pkcs8(&plain)?;
        let certificate = X509::from_pem(key.certificate.as_bytes())?;
        let signer = RsaSigner::new(private.clone(), RsaScheme::Pkcs1);
        let open = Signer::signing_by(&private, &certificate, move |message| signer.sign(message));
        let open = Arc::new(open.map_err(|error| KeyError::Form(error.to_string()))?);
        let mut all = lock();
        if all.len() >= MOST_OPEN {
            all.clear();
        }
        all.insert(key.id, Arc::clone(&open));
        Ok(open)
    }

    /// Removes a key that is not used any more.
    pub fn forget(&self, id: KeyId) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
    }
}

/// Returns the purpose for which a service provider's key is sealed.
pub fn purpose(application: &Did, id: KeyId) -> String {
    format!("saml {application} {id}")
}

/// The time from which a key signs, and the validity of its certificate.
#[derive(Clone, Copy, Debug)]
pub struct Validity {
    /// The current time.
    pub now: Timestamp,
    /// The time from which the key signs.
    pub signs_from: Timestamp,
    /// The end of the certificate's validity.
    pub until: Timestamp,
}

/// Generates a key of this generation for a service provider. It may take a second of a core, so it is generated
/// outside the async threads.
///
/// # Errors
/// [`KeyError`] if the cryptographic library fails.
pub async fn generate(
    application: &Did,
    generation: i64,
    validity: Validity,
    sealing: &SealingKeys,
    entropy: &dyn Entropy,
) -> Result<SamlKey, KeyError> {
    let (subject, serial) = (application.clone(), entropy.bytes::<16>());
    let making = tokio::task::spawn_blocking(move || {
        let key = PKey::from_rsa(Rsa::generate(BITS)?)?;
        let certificate = certificate(&key, subject.as_str(), serial, validity)?;
        let plain = Zeroizing::new(key.private_key_to_pkcs8()?);
        Ok::<_, KeyError>((plain, certificate.to_pem()?))
    });
    let (plain, pem) = making.await.map_err(|_| KeyError::BrokenOff)??;
    let id = KeyId::new(validity.now, entropy);
    Ok(SamlKey {
        id,
        application: application.clone(),
        generation,
        sealed: sealing.seal(&purpose(application, id), &plain, validity.now, entropy)?,
        certificate: String::from_utf8(pem).map_err(|error| KeyError::Form(error.to_string()))?,
        created_at: validity.now,
        signs_from: validity.signs_from,
        expires_at: validity.until,
    })
}

/// Returns a self-signed certificate. Service providers trust it because it is in the metadata.
fn certificate(
    key: &PKeyRef<Private>,
    name: &str,
    serial: [u8; 16],
    validity: Validity,
) -> Result<X509, KeyError> {
    let mut subject = X509Name::builder()?;
    subject.append_entry_by_text("CN", name)?;
    let subject = subject.build();
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    // Positive, and at most twenty octets (RFC 5280 section 4.1.2.2).
    let mut serial = BigNum::from_slice(&serial)?;
    serial.clear_bit(127).ok();
    let serial = Asn1Integer::from_bn(&serial)?;
    builder.set_serial_number(&serial)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(&subject)?;
    builder.set_not_before(&*Asn1Time::from_unix((validity.now - BEFORE).seconds())?)?;
    builder.set_not_after(&*Asn1Time::from_unix(validity.until.seconds())?)?;
    builder.set_pubkey(key)?;
    builder.append_extension(BasicConstraints::new().critical().build()?)?;
    builder.append_extension(KeyUsage::new().critical().digital_signature().build()?)?;
    let identifier = SubjectKeyIdentifier::new().build(&builder.x509v3_context(None, None))?;
    builder.append_extension(identifier)?;
    builder.sign(key, MessageDigest::sha256())?;
    Ok(builder.build())
}

/// The reason why a certificate of a service provider is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// The text is a private key.
    #[error(
        "this is a private key, which must stay with the service provider; expected its certificate"
    )]
    Private,
    /// The text is not a certificate.
    #[error(
        "expected an X.509 certificate in PEM form (-----BEGIN CERTIFICATE-----), or its base64 as in SAML metadata"
    )]
    NotCertificate,
    /// The key of the certificate is not secure enough.
    #[error(
        "the certificate's key must be RSA of 2,048 to 8,192 bits, or on the curve P-256, P-384 or P-521"
    )]
    Key,
}

/// Parses a certificate of a service provider, from its PEM form or from the base64 form in metadata. Only the first
/// one of a chain counts.
///
/// # Errors
/// [`CertificateError`] if the certificate is rejected.
pub fn partner_certificate(text: &str) -> Result<PartnerCertificate, CertificateError> {
    if has_private_key(text) {
        return Err(CertificateError::Private);
    }
    let certificate = first_certificate(text).ok_or(CertificateError::NotCertificate)?;
    let key = certificate
        .public_key()
        .map_err(|_| CertificateError::Key)?;
    let curve = key.ec_key().ok().and_then(|key| key.group().curve_name());
    let fits = match key.id() {
        Id::RSA => (2048..=8192).contains(&key.bits()),
        Id::EC => curve.is_some_and(|curve| CURVES.contains(&curve)),
        _ => false,
    };
    if !fits {
        return Err(CertificateError::Key);
    }
    let pem = certificate
        .to_pem()
        .map_err(|_| CertificateError::NotCertificate)?;
    let pem = String::from_utf8(pem).map_err(|_| CertificateError::NotCertificate)?;
    Ok(PartnerCertificate { pem })
}
