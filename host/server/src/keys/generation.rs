//! New private keys in sealed form, and the unsealing of existing ones.

use openssl::pkey::{PKey, Private};
use zeroize::Zeroizing;

use crate::keys::error::KeyError;
use crate::keys::sealing::SealingKeys;
use assent_model::clock::Timestamp;
use assent_model::entropy::Entropy;
use assent_model::id::Did;
use assent_model::key::{KeyPurpose, SigningAlgorithm};

/// Generates a private key for a purpose, in sealed form. An RSA key may take a second of a core, so it is generated
/// outside the async threads.
///
/// # Errors
/// [`KeyError`] if the cryptographic library fails.
pub async fn generate(
    purpose: KeyPurpose,
    sealing: &SealingKeys,
    now: Timestamp,
    entropy: &dyn Entropy,
) -> Result<String, KeyError> {
    let making = tokio::task::spawn_blocking(move || private_key(purpose));
    let plain = making.await.map_err(|_| KeyError::BrokenOff)??;
    sealing.seal(purpose.as_str(), &plain, now, entropy)
}

fn private_key(purpose: KeyPurpose) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let key = match purpose {
        KeyPurpose::IdToken(SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256) => {
            PKey::from_rsa(openssl::rsa::Rsa::generate(2048)?)?
        }
        KeyPurpose::IdToken(SigningAlgorithm::EdDsa) => PKey::generate_ed25519()?,
        KeyPurpose::IdToken(SigningAlgorithm::Es256) | KeyPurpose::Push | KeyPurpose::Receipt => {
            let group = openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1)?;
            PKey::from_ec_key(openssl::ec::EcKey::generate(&group)?)?
        }
    };
    Ok(Zeroizing::new(key.private_key_to_pkcs8()?))
}

/// Returns a new decentralized identifier: that of a new Ed25519 key. The private key is discarded, because nothing is
/// ever signed with it.
///
/// # Errors
/// [`KeyError`] if the cryptographic library fails.
pub fn fresh_did() -> Result<Did, KeyError> {
    let raw = PKey::generate_ed25519()?.raw_public_key()?;
    let key = raw
        .try_into()
        .map_err(|_| KeyError::Form("an Ed25519 public key has 32 bytes".to_owned()))?;
    Ok(Did::from_ed25519(&key))
}

pub(super) fn open(
    purpose: KeyPurpose,
    sealed: &str,
    sealing: &SealingKeys,
) -> Result<PKey<Private>, KeyError> {
    let plain = sealing.open(purpose.as_str(), sealed)?;
    Ok(PKey::private_key_from_pkcs8(&plain)?)
}
