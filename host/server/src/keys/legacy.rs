//! The format of sealed values in installations without sealing keys: the master key encrypted each value itself.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use zeroize::Zeroizing;

use super::{KeyError, SymmetricKey};
use assent_model::entropy::Entropy;

const NONCE: usize = 12;
const TAG: usize = 16;

/// Encrypts `plain` for `purpose` with AES-256-GCM: base64 of nonce, ciphertext and tag. Instances of the release
/// without sealing keys read it.
pub(super) fn encrypt(
    key: &SymmetricKey,
    purpose: &str,
    plain: &[u8],
    entropy: &dyn Entropy,
) -> Result<String, KeyError> {
    let nonce: [u8; NONCE] = entropy.bytes();
    let mut tag = [0; TAG];
    let cipher = encrypt_aead(
        Cipher::aes_256_gcm(),
        key.bytes(),
        Some(&nonce),
        purpose.as_bytes(),
        plain,
        &mut tag,
    )?;
    Ok(STANDARD.encode([nonce.as_slice(), &cipher, &tag].concat()))
}

/// Decrypts a value that [`encrypt`] encrypted. Returns `None` for another key, another purpose or a changed value.
pub(super) fn decrypt(
    key: &SymmetricKey,
    purpose: &str,
    encrypted: &str,
) -> Option<Zeroizing<Vec<u8>>> {
    let bytes = STANDARD.decode(encrypted).ok()?;
    let (nonce, rest) = bytes.split_at_checked(NONCE)?;
    let (cipher, tag) = rest.split_at_checked(rest.len().checked_sub(TAG)?)?;
    let aes = Cipher::aes_256_gcm();
    decrypt_aead(
        aes,
        key.bytes(),
        Some(nonce),
        purpose.as_bytes(),
        cipher,
        tag,
    )
    .map(Zeroizing::new)
    .ok()
}
