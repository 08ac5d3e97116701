//! RSA signatures of SHA-256 digests.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::{PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use openssl::sha::sha256;
use openssl::sign::RsaPssSaltlen;

/// The form of a signature (RFC 8017 section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaScheme {
    /// RSASSA-PKCS1-v1_5.
    Pkcs1,
    /// RSASSA-PSS, with a salt as long as the digest (RFC 7518 section 3.5).
    Pss,
}

/// A private RSA key that signs. Its contexts of OpenSSL are kept for further signatures, because each initialisation
/// takes as long as a thirtieth of a signature. There are as many contexts as threads that signed at the same moment.
#[derive(Clone)]
pub struct RsaSigner {
    key: PKey<Private>,
    scheme: RsaScheme,
    idle: Arc<Mutex<Vec<PkeyCtx<Private>>>>,
}

/// Omits the key.
impl fmt::Debug for RsaSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaSigner")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

impl RsaSigner {
    /// Returns a signer with this key.
    pub fn new(key: PKey<Private>, scheme: RsaScheme) -> Self {
        Self {
            key,
            scheme,
            idle: Arc::default(),
        }
    }

    /// Signs the SHA-256 digest of the message.
    ///
    /// # Errors
    /// An error of OpenSSL, such as for a key that is not RSA.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut context = match kept {
            Some(context) => context,
            None => self.context()?,
        };
        let mut signature = vec![0; self.key.size()];
        let length = context.sign(&sha256(message), Some(&mut signature))?;
        signature.truncate(length);
        idle().push(context);
        Ok(signature)
    }

    fn context(&self) -> Result<PkeyCtx<Private>, ErrorStack> {
        let mut context = PkeyCtx::new(&self.key)?;
        context.sign_init()?;
        if self.scheme == RsaScheme::Pss {
            context.set_rsa_padding(Padding::PKCS1_PSS)?;
        }
        context.set_signature_md(Md::sha256())?;
        if self.scheme == RsaScheme::Pss {
            context.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        Ok(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::hash::MessageDigest;
    use openssl::rsa::Rsa;
    use openssl::sign::Verifier;

    #[test]
    fn each_signature_of_a_kept_context_is_that_of_its_message() {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        for scheme in [RsaScheme::Pkcs1, RsaScheme::Pss] {
            let signer = RsaSigner::new(key.clone(), scheme);
            for message in ["one", "another", ""].map(str::as_bytes) {
                let mut verifier = Verifier::new(MessageDigest::sha256(), &key).unwrap();
                if scheme == RsaScheme::Pss {
                    verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                    let salt = RsaPssSaltlen::DIGEST_LENGTH;
                    verifier.set_rsa_pss_saltlen(salt).unwrap();
                }
                let signature = signer.sign(message).unwrap();
                assert!(verifier.verify_oneshot(&signature, message).unwrap());
            }
            assert_eq!(signer.idle.lock().unwrap().len(), 1);
        }
    }

    #[test]
    fn concurrent_signatures_are_correct() {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let signer = RsaSigner::new(key.clone(), RsaScheme::Pkcs1);
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let (signer, key) = (&signer, &key);
                scope.spawn(move || {
                    for round in 0..16_u8 {
                        let message = [thread, round];
                        let signature = signer.sign(&message).unwrap();
                        let mut verifier = Verifier::new(MessageDigest::sha256(), key).unwrap();
                        assert!(verifier.verify_oneshot(&signature, &message).unwrap());
                    }
                });
            }
        });
    }
}
