//! The public keys of passkeys in receipts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Public};
use openssl::rsa::Rsa;
use openssl::sign::Verifier;
use serde::{Deserialize, Serialize};

/// The public key of a passkey as a JSON Web Key (RFC 7518 section 6) with its algorithm. These are the algorithms that
/// the server offers when a passkey is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "alg", deny_unknown_fields)]
pub enum PasskeyPublicKey {
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256(EcCoordinates),
    /// ECDSA on P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384(EcCoordinates),
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    #[serde(rename = "RS256")]
    Rs256(RsaNumbers),
}

/// The members of a key on an elliptic curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcCoordinates {
    crv: String,
    kty: String,
    x: String,
    y: String,
}

/// The members of an RSA key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RsaNumbers {
    e: String,
    kty: String,
    n: String,
}

impl EcCoordinates {
    fn new(curve: &str, x: &[u8], y: &[u8]) -> Self {
        Self {
            crv: curve.to_owned(),
            kty: "EC".to_owned(),
            x: URL_SAFE_NO_PAD.encode(x),
            y: URL_SAFE_NO_PAD.encode(y),
        }
    }

    fn to_openssl(&self, curve: &str, nid: Nid, length: usize) -> Option<PKey<Public>> {
        if self.kty != "EC" || self.crv != curve {
            return None;
        }
        let (x, y) = (decode(&self.x)?, decode(&self.y)?);
        if x.len() != length || y.len() != length {
            return None;
        }
        let key = || -> Result<PKey<Public>, ErrorStack> {
            let group = EcGroup::from_curve_name(nid)?;
            let (x, y) = (BigNum::from_slice(&x)?, BigNum::from_slice(&y)?);
            let key = EcKey::from_public_key_affine_coordinates(&group, &x, &y)?;
            key.check_key()?;
            let mut context = BigNumContext::new()?;
            if !key.public_key().is_on_curve(&group, &mut context)? {
                return Err(ErrorStack::get());
            }
            PKey::from_ec_key(key)
        };
        key().ok()
    }
}

impl RsaNumbers {
    fn to_openssl(&self) -> Option<PKey<Public>> {
        if self.kty != "RSA" {
            return None;
        }
        let (n, e) = (decode(&self.n)?, decode(&self.e)?);
        let key = || -> Result<PKey<Public>, ErrorStack> {
            let (n, e) = (BigNum::from_slice(&n)?, BigNum::from_slice(&e)?);
            PKey::from_rsa(Rsa::from_public_components(n, e)?)
        };
        key().ok()
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

impl PasskeyPublicKey {
    /// Returns a key on P-256 with these coordinates.
    pub fn es256(x: &[u8], y: &[u8]) -> Self {
        Self::Es256(EcCoordinates::new("P-256", x, y))
    }

    /// Returns a key on P-384 with these coordinates.
    pub fn es384(x: &[u8], y: &[u8]) -> Self {
        Self::Es384(EcCoordinates::new("P-384", x, y))
    }

    /// Returns an RSA key with this modulus and exponent.
    pub fn rs256(n: &[u8], e: &[u8]) -> Self {
        Self::Rs256(RsaNumbers {
            e: URL_SAFE_NO_PAD.encode(e),
            kty: "RSA".to_owned(),
            n: URL_SAFE_NO_PAD.encode(n),
        })
    }

    /// Whether `signature` is this key's signature of `message`. ECDSA signatures have the form of ASN.1 (W3C Web
    /// Authentication Level 3, section 6.5.5).
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let (key, digest) = match self {
            Self::Es256(key) => (
                key.to_openssl("P-256", Nid::X9_62_PRIME256V1, 32),
                MessageDigest::sha256(),
            ),
            Self::Es384(key) => (
                key.to_openssl("P-384", Nid::SECP384R1, 48),
                MessageDigest::sha384(),
            ),
            Self::Rs256(key) => (key.to_openssl(), MessageDigest::sha256()),
        };
        let Some(key) = key else {
            return false;
        };
        let check = || -> Result<bool, ErrorStack> {
            Verifier::new(digest, &key)?.verify_oneshot(signature, message)
        };
        let verified = check().unwrap_or(false);
        // A failed verification leaves errors, which later calls of OpenSSL would report.
        drop(ErrorStack::get());
        verified
    }
}
