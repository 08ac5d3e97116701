//! The verification of ID tokens that this server issued. An application sends one back as `id_token_hint` (OpenID
//! Connect Core 1.0 section 3.1.2.1, RP-Initiated Logout 1.0 section 2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde_json::{Map, Value};

use super::signing::TokenType;
use super::verification::VerificationKey;

/// The longest accepted token, in bytes. No token that this server issues and a browser can send back is longer.
const LONGEST: usize = 64 * 1024;

/// The reason why a text is not an ID token of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    /// The text is longer than the accepted length.
    #[error("it is too long")]
    TooLong,
    /// The text is not a JWT in the compact form.
    #[error("it is not a JWT")]
    Malformed,
    /// Its header has an unknown critical parameter (RFC 7515 section 4.1.11).
    #[error("its header has `crit`")]
    Critical,
    /// It is a signed token of another type.
    #[error("its `typ` is not JWT")]
    OtherType,
    /// No key of this server has its `kid`.
    #[error("its key is unknown")]
    UnknownKey,
    /// Its `alg` is not the one of its key.
    #[error("its `alg` is not its key's")]
    OtherAlgorithm,
    /// The signature is not by this server's key.
    #[error("its signature is invalid")]
    BadSignature,
}

/// The relevant members of a header. All others are ignored, above all those with a key (`jwk`, `jku`, `x5c`, `x5u`). A
/// duplicate member makes the header malformed.
#[derive(serde::Deserialize)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
    #[serde(default, deserialize_with = "present")]
    crit: bool,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// Returns the claims of an ID token, verified with the key that `find` returns for its `kid`. The caller must check
/// the expiry.
pub(super) fn verify<'k>(
    jwt: &str,
    find: impl FnOnce(&str) -> Option<&'k VerificationKey>,
) -> Result<Map<String, Value>, IdTokenError> {
    if jwt.len() > LONGEST {
        return Err(IdTokenError::TooLong);
    }
    let (message, signature) = jwt.rsplit_once('.').ok_or(IdTokenError::Malformed)?;
    let (header, payload) = message.split_once('.').ok_or(IdTokenError::Malformed)?;
    let decode = |part: &str| {
        URL_SAFE_NO_PAD
            .decode(part)
            .map_err(|_| IdTokenError::Malformed)
    };
    let header: Header =
        serde_json::from_slice(&decode(header)?).map_err(|_| IdTokenError::Malformed)?;
    let signature = decode(signature)?;
    if header.crit {
        return Err(IdTokenError::Critical);
    }
    if header.typ != TokenType::IdToken.as_str() {
        return Err(IdTokenError::OtherType);
    }
    let key = find(&header.kid).ok_or(IdTokenError::UnknownKey)?;
    // The key determines the algorithm, never the token (RFC 8725 section 3.1).
    if header.alg != key.algorithm().as_str() {
        return Err(IdTokenError::OtherAlgorithm);
    }
    if !key.verifies(message.as_bytes(), &signature) {
        return Err(IdTokenError::BadSignature);
    }
    // A payload that contains a dot fails here.
    serde_json::from_slice(&decode(payload)?).map_err(|_| IdTokenError::Malformed)
}
