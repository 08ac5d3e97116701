//! The signatures of the writer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey, PKeyRef, Private};
use openssl::x509::X509Ref;

use super::algorithm::{DigestAlgorithm, SignatureAlgorithm, SignatureKeyError, TrustedKey};

/// A private RSA key, and the certificate that accompanies its signatures.
///
/// A signature takes about a millisecond of CPU time, so callers must sign outside the async threads.
#[derive(Clone)]
pub struct Signer {
    sign: Arc<Sign>,
    /// The certificate's DER in base64.
    certificate: String,
}

/// Signs the SHA-256 digest of a message by the private key (RSASSA-PKCS1-v1_5).
type Sign = dyn Fn(&[u8]) -> Result<Vec<u8>, ErrorStack> + Send + Sync;

/// Omits the key.
impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
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
        Self::signing_by(&key.clone(), certificate, move |message| {
            openssl::sign::Signer::new(MessageDigest::sha256(), &key)?.sign_oneshot_to_vec(message)
        })
    }

    /// Returns a signer for a key and its certificate. `sign` signs the SHA-256 digest of a message by this key
    /// (RSASSA-PKCS1-v1_5).
    ///
    /// # Errors
    /// As [`Signer::new`].
    pub fn signing_by(
        key: &PKeyRef<Private>,
        certificate: &X509Ref,
        sign: impl Fn(&[u8]) -> Result<Vec<u8>, ErrorStack> + Send + Sync + 'static,
    ) -> Result<Self, SignatureKeyError> {
        TrustedKey::of_certificate(certificate)?;
        if key.id() != Id::RSA {
            return Err(SignatureKeyError::Kind);
        }
        if !certificate.public_key()?.public_eq(key) {
            return Err(SignatureKeyError::Certificate);
        }
        Ok(Self {
            sign: Arc::new(sign),
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
        (self.sign)(message)
    }
}
