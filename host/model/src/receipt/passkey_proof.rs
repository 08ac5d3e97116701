//! The verification of a passkey's assertion in a receipt (W3C Web Authentication Level 3, section 7.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use url::Url;

use super::content::ReceiptPasskey;

/// The shortest authenticator data: the digest of the RP ID, the flags, and the signature counter (section 6.1).
const SHORTEST: usize = 37;
/// The flag of user presence (UP).
const PRESENT: u8 = 0x01;
/// The flag of user verification (UV).
const VERIFIED: u8 = 0x04;

/// The reason why an assertion is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyProofError {
    /// A value is not base64url.
    #[error("a value is not base64url")]
    Encoding,
    /// The client data is not the expected JSON.
    #[error("the client data (clientDataJSON) is malformed")]
    ClientData,
    /// The client data is not that of an assertion.
    #[error("the type of the client data is not webauthn.get")]
    Type,
    /// The challenge does not end with the digest of the signed text.
    #[error("the challenge is not bound to the signed text")]
    Challenge,
    /// The page that used the passkey was not one of the issuer.
    #[error("the origin is not that of the issuer")]
    Origin,
    /// The authenticator data is too short.
    #[error("the authenticator data is malformed")]
    AuthenticatorData,
    /// The digest in the authenticator data is not that of the issuer's domain.
    #[error("rpIdHash is not that of the issuer's domain")]
    RelyingParty,
    /// The user was not present (UP), or not verified (UV).
    #[error("the flags do not state that the user was present and verified (UP, UV)")]
    User,
    /// The signature is not by the key of the passkey.
    #[error("the signature is not by the passkey")]
    Signature,
}

/// The relevant members of the client data. The others are ignored, as section 5.8.1 requires.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
}

/// Verifies an assertion. `statement` is the text that its challenge must be bound to, if there is one.
pub(super) fn verify(
    passkey: &ReceiptPasskey,
    issuer: &Url,
    statement: Option<&str>,
) -> Result<(), PasskeyProofError> {
    let decode = |text: &str| {
        URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| PasskeyProofError::Encoding)
    };
    let client_data = decode(&passkey.client_data_json)?;
    let authenticator_data = decode(&passkey.authenticator_data)?;
    let signature = decode(&passkey.signature)?;
    decode(&passkey.credential_id)?;
    let read: ClientData =
        serde_json::from_slice(&client_data).map_err(|_| PasskeyProofError::ClientData)?;
    if read.kind != "webauthn.get" {
        return Err(PasskeyProofError::Type);
    }
    let challenge = decode(&read.challenge)?;
    if let Some(statement) = statement {
        let digest = openssl::sha::sha256(statement.as_bytes());
        if challenge.len() <= digest.len() || !challenge.ends_with(&digest) {
            return Err(PasskeyProofError::Challenge);
        }
    }
    let origin = Url::parse(&read.origin).map_err(|_| PasskeyProofError::Origin)?;
    if origin.origin() != issuer.origin() {
        return Err(PasskeyProofError::Origin);
    }
    let (head, flags) = authenticator_data
        .split_at_checked(32)
        .filter(|_| authenticator_data.len() >= SHORTEST)
        .and_then(|(head, rest)| Some((head, *rest.first()?)))
        .ok_or(PasskeyProofError::AuthenticatorData)?;
    let domain = issuer.domain().ok_or(PasskeyProofError::RelyingParty)?;
    if head != openssl::sha::sha256(domain.as_bytes()) {
        return Err(PasskeyProofError::RelyingParty);
    }
    if flags & PRESENT == 0 || flags & VERIFIED == 0 {
        return Err(PasskeyProofError::User);
    }
    let message = [
        authenticator_data.as_slice(),
        &openssl::sha::sha256(&client_data),
    ]
    .concat();
    match passkey.key.verifies(&message, &signature) {
        true => Ok(()),
        false => Err(PasskeyProofError::Signature),
    }
}
