//! The key that identifies this server to push services (VAPID, RFC 8292).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jws::alg::ecdsa::EcdsaJwsSigner;
use josekit::jws::{ES256, JwsHeader};
use josekit::jwt::{self, JwtPayload};
use openssl::bn::BigNumContext;
use openssl::ec::PointConversionForm;
use serde_json::json;

use super::generation::open;
use super::{KeyError, SealingKeys};
use assent_model::clock::Timestamp;
use assent_model::device::PushSubscription;
use assent_model::key::KeyPurpose;

/// The time for which a push service may accept a header, in seconds. It is less than the day that RFC 8292 section 2
/// permits.
const VALIDITY: i64 = 12 * 60 * 60;

/// The key that identifies this server to push services.
#[derive(Clone, Debug)]
pub struct PushKey {
    signer: EcdsaJwsSigner,
    public: String,
    contact: String,
}

impl PushKey {
    /// Opens the sealed key. `contact` is the URL at which a push service's operator finds information about this
    /// server.
    ///
    /// # Errors
    /// [`KeyError`] if the key cannot be unsealed.
    pub fn open(sealed: &str, sealing: &SealingKeys, contact: String) -> Result<Self, KeyError> {
        let key = open(KeyPurpose::Push, sealed, sealing)?;
        let ec = key.ec_key()?;
        let mut context = BigNumContext::new()?;
        let point = ec.public_key().to_bytes(
            ec.group(),
            PointConversionForm::UNCOMPRESSED,
            &mut context,
        )?;
        let der = zeroize::Zeroizing::new(key.private_key_to_pkcs8()?);
        let signer = ES256
            .signer_from_der(&*der)
            .map_err(|error| KeyError::Form(error.to_string()))?;
        Ok(Self {
            signer,
            public: URL_SAFE_NO_PAD.encode(point),
            contact,
        })
    }

    /// Returns the public key as a browser's `applicationServerKey`: the uncompressed point, base64url.
    pub fn public_key(&self) -> &str {
        &self.public
    }

    /// Returns the `Authorization` header for the push service at `origin` (RFC 8292 section 3).
    ///
    /// # Errors
    /// [`KeyError`] if the token cannot be signed.
    pub fn authorization(&self, origin: &str, now: Timestamp) -> Result<String, KeyError> {
        let form = |error: josekit::JoseError| KeyError::Form(error.to_string());
        let mut payload = JwtPayload::new();
        payload
            .set_claim("aud", Some(json!(origin)))
            .map_err(form)?;
        payload
            .set_claim("exp", Some(json!(now.seconds() + VALIDITY)))
            .map_err(form)?;
        payload
            .set_claim("sub", Some(json!(self.contact)))
            .map_err(form)?;
        let mut header = JwsHeader::new();
        header.set_token_type("JWT");
        let token = jwt::encode_with_signer(&payload, &header, &self.signer).map_err(form)?;
        Ok(format!("vapid t={token}, k={}", self.public))
    }
}

/// Encrypts a message so that only the device can decrypt it (RFC 8291). `None` if the keys of the subscription are
/// invalid.
pub(crate) fn seal(push: &PushSubscription, message: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
    let (key, auth) = (decode(&push.keys.p256dh)?, decode(&push.keys.auth)?);
    ece::encrypt(&key, &auth, message).ok()
}
