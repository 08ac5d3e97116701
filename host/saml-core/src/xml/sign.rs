//! The signatures of the writer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::pkey::{Id, PKey, Private};
use openssl::x509::X509Ref;

use assent_model::rsa_signer::{RsaScheme, RsaSigner};

use super::algorithm::{DigestAlgorithm, SignatureAlgorithm, SignatureKeyError, TrustedKey};

/// A private RSA key, and the certificate that accompanies its signatures.
///
/// A signature takes about a millisecond of CPU time, so callers must sign outside the async threads.
#[derive(Clone, Debug)]
pub struct Signer {
    key: RsaSigner,
    /// The certificate's DER in base64.
    certificate: String,
}

impl Signer {
    /// The signature algorithm.
    pub const ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RsaSha256;
    /// The digest algorithm.
    pub const DIGEST: DigestAlgorithm = DigestAlgorithm::Sha256;

    /// Returns a signer for a key and its certificate.
    ///
    /// # Errors
    /// [`SignatureKeyError`] if the key is not RSA with at least 2048 bits, or does not match the certificate.
    pub fn new(key: PKey<Private>, certificate: &X509Ref) -> Result<Self, SignatureKeyError> {
        TrustedKey::of_certificate(certificate)?;
        if key.id() != Id::RSA {
            return Err(SignatureKeyError::Kind);
        }
        if !certificate.public_key()?.public_eq(&key) {
            return Err(SignatureKeyError::Certificate);
        }
        Ok(Self {
            key: RsaSigner::new(key, RsaScheme::Pkcs1),
            certificate: STANDARD.encode(certificate.to_der()?),
        })
    }

    /// Returns the certificate in the form of `ds:X509Certificate`: its DER in base64, in one line.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs bytes, such as the query of a redirect, with [`Self::ALGORITHM`].
    ///
    /// # Errors
    /// An error of OpenSSL.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        self.key.sign(message)
    }
}
