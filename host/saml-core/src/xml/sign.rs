//! The signatures that the writer puts into what it writes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey, Private};
use openssl::x509::X509Ref;

use super::algorithm::{DigestAlgorithm, SignatureAlgorithm, TrustedKey, UnfitKey};
use super::names::{
    CANONICALIZATION_METHOD, DIGEST_METHOD, DIGEST_VALUE, ENVELOPED_SIGNATURE, EXC_C14N,
    INCLUSIVE_NAMESPACES, KEY_INFO, REFERENCE, SIGNATURE, SIGNATURE_METHOD, SIGNATURE_VALUE,
    SIGNED_INFO, TRANSFORM, TRANSFORMS, X509_CERTIFICATE, X509_DATA,
};
use super::writer::{WriteError, Writer};

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
    /// [`UnfitKey`] if the key is not RSA of 2048 bits or more, or not that of the certificate.
    pub fn new(key: PKey<Private>, certificate: &X509Ref) -> Result<Self, UnfitKey> {
        TrustedKey::of_certificate(certificate)?;
        if key.id() != Id::RSA {
            return Err(UnfitKey::Kind);
        }
        if !certificate.public_key()?.public_eq(&key) {
            return Err(UnfitKey::Certificate);
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

    /// The `ds:Signature` over an element in canonical form that has this ID. `inclusive` are the prefixes that are written
    /// where they are declared.
    pub(super) fn signature(
        &self,
        covered: &str,
        id: &str,
        inclusive: &str,
    ) -> Result<String, WriteError> {
        let digest = STANDARD.encode(Self::DIGEST.digest(covered.as_bytes())?);
        // Alone, SignedInfo is just as its own canonical form: the namespace that its parent declares is declared here.
        let mut alone = Writer::new();
        signed_info(&mut alone, id, inclusive, &digest);
        let value = STANDARD.encode(self.sign(alone.finish()?.as_bytes())?);
        let mut whole = Writer::new();
        whole.open(SIGNATURE).content(|signature| {
            signed_info(signature, id, inclusive, &digest);
            signature.open(SIGNATURE_VALUE).text(&value);
            signature.open(KEY_INFO).content(|info| {
                info.open(X509_DATA)
                    .content(|data| data.open(X509_CERTIFICATE).text(&self.certificate));
            });
        });
        whole.finish()
    }
}

fn signed_info(writer: &mut Writer, id: &str, inclusive: &str, digest: &str) {
    writer.open(SIGNED_INFO).content(|info| {
        info.open(CANONICALIZATION_METHOD)
            .attribute("Algorithm", EXC_C14N.uri)
            .empty();
        info.open(SIGNATURE_METHOD)
            .attribute("Algorithm", Signer::ALGORITHM.uri())
            .empty();
        info.open(REFERENCE)
            .attribute("URI", format!("#{id}"))
            .content(|reference| {
                reference.open(TRANSFORMS).content(|transforms| {
                    transforms
                        .open(TRANSFORM)
                        .attribute("Algorithm", ENVELOPED_SIGNATURE)
                        .empty();
                    transforms
                        .open(TRANSFORM)
                        .attribute("Algorithm", EXC_C14N.uri)
                        .content(|form| {
                            if !inclusive.is_empty() {
                                form.open(INCLUSIVE_NAMESPACES)
                                    .attribute("PrefixList", inclusive)
                                    .empty();
                            }
                        });
                });
                reference
                    .open(DIGEST_METHOD)
                    .attribute("Algorithm", Signer::DIGEST.uri())
                    .empty();
                reference.open(DIGEST_VALUE).text(digest);
            });
    });
}
