//! The verification of a passkey's assertion in a receipt (W3C Web Authentication Level 3, section 7.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use url::Url;

use super::content::ReceiptPasskey;

/// The shortest authenticator data: the digest of the RP ID, the flags, and the signature counter (section 6.1).
const SHORTEST: usize = 37;
/// The length of the challenge of the login page, in bytes.
const CHALLENGE: usize = 32;
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
    /// The challenge is not one of the login page, which are shorter than those of signed texts.
    #[error("the challenge is not one of the login page: it has not 32 bytes")]
    Length,
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

/// Verifies an assertion. `statement` is the text that its challenge must be bound to. Without one, the challenge must
/// be one of the login page, so that the approval of a text is not accepted as a sign-in.
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
    match statement {
        None if challenge.len() != CHALLENGE => return Err(PasskeyProofError::Length),
        None => {}
        Some(statement) => {
            let digest = openssl::sha::sha256(statement.as_bytes());
            if challenge.len() <= digest.len() || !challenge.ends_with(&digest) {
                return Err(PasskeyProofError::Challenge);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::passkey_key::PasskeyPublicKey;

    /// Without a signature, so the result says whether the challenge was accepted.
    fn with_challenge(length: usize, statement: Option<&str>) -> Result<(), PasskeyProofError> {
        let client_data = serde_json::json!({
            "type": "webauthn.get",
            "challenge": URL_SAFE_NO_PAD.encode(vec![7_u8; length]),
            "origin": "https://id.example.org",
        });
        let mut authenticator_data = openssl::sha::sha256(b"id.example.org").to_vec();
        authenticator_data.extend([PRESENT | VERIFIED, 0, 0, 0, 1]);
        let passkey = ReceiptPasskey {
            authenticator_data: URL_SAFE_NO_PAD.encode(authenticator_data),
            client_data_json: URL_SAFE_NO_PAD.encode(client_data.to_string()),
            credential_id: String::new(),
            key: PasskeyPublicKey::es256(&[1; 32], &[2; 32]),
            signature: String::new(),
        };
        let issuer = Url::parse("https://id.example.org/oidc").expect("a URL");
        verify(&passkey, &issuer, statement)
    }

    #[test]
    fn a_challenge_without_a_text_has_the_length_of_the_login_page() {
        assert_eq!(with_challenge(32, None), Err(PasskeyProofError::Signature));
        for length in [0, 31, 33, 64] {
            let error = Err(PasskeyProofError::Length);
            assert_eq!(with_challenge(length, None), error, "{length}");
        }
        assert_eq!(
            with_challenge(64, Some("text")),
            Err(PasskeyProofError::Challenge)
        );
    }
}
