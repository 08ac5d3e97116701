//! The signatures that the writer puts into what it writes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey, Private};
use openssl::x509::X509Ref;

use super::algorithm::{DigestAlgorithm, SignatureAlgorithm, SignatureKeyError, TrustedKey};

/// A private RSA key, and the certificate that is sent along with what it signs.
///
/// A signature takes about a millisecond of a core, so it is made off the async threads.
#[derive(Clone)]
pub struct Signer {
    key: PKey<Private>,
    /// The certificate's DER in base64.
    certificate: String,
}

/// Without the key.
impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

impl Signer {
    /// How it signs.
    pub const ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RsaSha256;
    /// How it makes the digest of what it signs.
    pub const DIGEST: DigestAlgorithm = DigestAlgorithm::Sha256;

    /// A signer from its key and its certificate.
    ///
    /// # Errors
    /// [`SignatureKeyError`] if the key is not RSA of 2048 bits or more, or not that of the certificate.
    pub fn new(key: PKey<Private>, certificate: &X509Ref) -> Result<Self, SignatureKeyError> {
        TrustedKey::of_certificate(certificate)?;
        if key.id() != Id::RSA {
            return Err(SignatureKeyError::Kind);
        }
        if !certificate.public_key()?.public_eq(&key) {
            return Err(SignatureKeyError::Certificate);
        }
        Ok(Self {
            key,
            certificate: STANDARD.encode(certificate.to_der()?),
        })
    }

    /// The certificate as `ds:X509Certificate` has it: its DER in base64, in one line.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs bytes, such as the query of a redirect, by [`Self::ALGORITHM`].
    ///
    /// # Errors
    /// OpenSSL's own.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        openssl::sign::Signer::new(MessageDigest::sha256(), &self.key)?.sign_oneshot_to_vec(message)
    }
}
