//! A symmetric key of 32 bytes for encryption or derivation, and the root secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::KeyError;
use assent_model::entropy::Entropy;

const NONCE: usize = 24;

/// A symmetric key of 32 bytes.
#[derive(Clone)]
pub struct SymmetricKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for SymmetricKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SymmetricKey(***)")
    }
}

impl SymmetricKey {
    /// Generates a new key.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self(Zeroizing::new(entropy.bytes()))
    }

    /// Returns the key with these bytes. `None` if they are not 32.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let key: [u8; 32] = bytes.try_into().ok()?;
        Some(Self(Zeroizing::new(key)))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Encrypts `plain` for `purpose` with XChaCha20-Poly1305. Returns base64 of nonce, ciphertext and tag. The nonces
    /// are long enough to be random for any number of messages.
    ///
    /// # Errors
    /// If `plain` is too long for the cipher.
    pub fn encrypt(
        &self,
        purpose: &str,
        plain: &[u8],
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError> {
        let nonce: [u8; NONCE] = entropy.bytes();
        let message = Payload {
            msg: plain,
            aad: purpose.as_bytes(),
        };
        let encrypted = self.cipher().encrypt(&XNonce::from(nonce), message);
        let encrypted = encrypted.map_err(|_| KeyError::Sealing)?;
        Ok(STANDARD.encode([nonce.as_slice(), &encrypted].concat()))
    }

    /// Decrypts a value that was encrypted for `purpose`. Returns `None` for another key, another purpose or a changed
    /// value.
    pub fn decrypt(&self, purpose: &str, encrypted: &str) -> Option<Zeroizing<Vec<u8>>> {
        let bytes = STANDARD.decode(encrypted).ok()?;
        let (nonce, rest) = bytes.split_first_chunk::<NONCE>()?;
        let message = Payload {
            msg: rest,
            aad: purpose.as_bytes(),
        };
        let plain = self.cipher().decrypt(&XNonce::from(*nonce), message).ok()?;
        Some(Zeroizing::new(plain))
    }

    /// Derives 32 bytes from `message`, for `purpose`: HMAC-SHA256 with a key of that purpose. Without this key they
    /// cannot be distinguished from random bytes.
    pub fn derive(&self, purpose: &str, message: &[u8]) -> Result<[u8; 32], KeyError> {
        let key = Zeroizing::new(hmac(&*self.0, purpose.as_bytes())?);
        hmac(&*key, message)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0))
    }
}

// Not by OpenSSL, which takes 20 µs to prepare a key.
pub(super) fn hmac(key: &[u8], message: &[u8]) -> Result<[u8; 32], KeyError> {
    let code = Hmac::<Sha256>::new_from_slice(key).map_err(|_| KeyError::Sealing)?;
    Ok(code.chain_update(message).finalize().into_bytes().into())
}

/// The secret of an installation, which is created once and never changes. Derived from it are identifiers (NameIDs,
/// `SessionIndex`, pairwise `sub` and `sid`), short codes, and the keys of the audit log and of compiled plugins. With
/// another secret, applications would not recognise their users.
#[derive(Clone, Debug)]
pub struct RootSecret(SymmetricKey);

impl RootSecret {
    /// Returns the root secret with this key.
    pub const fn new(key: SymmetricKey) -> Self {
        Self(key)
    }

    /// Derives 32 bytes from `message`, for `purpose`. Without the root secret they cannot be distinguished from random
    /// bytes.
    pub fn derive(&self, purpose: &str, message: &[u8]) -> Result<[u8; 32], KeyError> {
        self.0.derive(purpose, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::entropy::SystemEntropy;

    #[test]
    fn a_value_is_decrypted_only_with_the_same_key_for_the_same_purpose() {
        let key = SymmetricKey::generate(&SystemEntropy);
        let encrypted = key.encrypt("a", b"secret", &SystemEntropy).unwrap();
        assert_eq!(key.decrypt("a", &encrypted).unwrap().as_slice(), b"secret");
        assert!(key.decrypt("b", &encrypted).is_none());
        let other = SymmetricKey::generate(&SystemEntropy);
        assert!(other.decrypt("a", &encrypted).is_none());
        for broken in ["", "AAAA", "not base64!", &encrypted[4..]] {
            assert!(key.decrypt("a", broken).is_none(), "{broken}");
        }
        let again = key.encrypt("a", b"secret", &SystemEntropy).unwrap();
        assert_ne!(encrypted, again);
    }

    #[test]
    fn derived_bytes_depend_on_purpose_and_message() {
        let key = SymmetricKey::from_bytes(&[7; 32]).unwrap();
        let code = key.derive("a", b"x").unwrap();
        assert_eq!(code, key.derive("a", b"x").unwrap());
        assert_ne!(code, key.derive("b", b"x").unwrap());
        assert_ne!(code, key.derive("a", b"y").unwrap());
        assert!(SymmetricKey::from_bytes(&[7; 31]).is_none());
    }
}
