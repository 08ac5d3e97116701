//! The verification of receipts. It needs only the receipt and the receipt keys of the issuer, no server.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::content::{RECEIPT_VERSION, ReceiptAnswer, ReceiptContent, receipt_header};
use super::passkey_proof;
use super::passkey_proof::PasskeyProofError;
use super::signed_statement::{SignedStatement, StatementError};
use crate::device::DeviceKey;
use crate::secret::Digest;
use crate::statement::Decision;

/// The longest accepted receipt, in bytes. The summary of a protected action has the names of all that it concerns.
pub const LONGEST: usize = 4 << 20;

/// The clock difference that is accepted between an instance and the period of its key, in seconds.
const LEEWAY: i64 = 300;

/// The reason why a receipt is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// The text is longer than [`LONGEST`].
    #[error("it is longer than 4 MiB")]
    TooLong,
    /// The text is not a JWS in the compact form.
    #[error("it is not a receipt: expected a JWS in the compact form")]
    Malformed,
    /// The header is not the only accepted one for its key.
    #[error(
        "its header is not that of a receipt: expected alg ES256, kid and typ assent-receipt+jws"
    )]
    Header,
    /// The payload is not the JSON of a receipt in the canonical form.
    #[error("its payload is not the canonical JSON of a receipt of version 1")]
    Payload,
    /// The key set has no key with its `kid`.
    #[error("the key set has no key with its kid")]
    UnknownKey,
    /// The issuer is not that of the key set.
    #[error("its issuer is not that of the key set")]
    OtherIssuer,
    /// The issuer's signature is invalid.
    #[error("the signature of the issuer is invalid")]
    IssuerSignature,
    /// The key signed at another time than the answer.
    #[error("its time is outside the period of the key that signed it")]
    KeyPeriod,
    /// The issuer revoked the key, so its signatures prove nothing any more.
    #[error("the issuer revoked the key that signed it")]
    RevokedKey,
    /// The issuer is not an http or https URL.
    #[error("its issuer is not a URL")]
    Issuer,
    /// The source of the answer cannot make this decision.
    #[error("such an answer cannot have this decision")]
    Decision,
    /// The device's signature of the text is invalid.
    #[error("the signature of the device is invalid")]
    DeviceSignature,
    /// The signed text does not belong to the receipt.
    #[error("the text that the device signed does not belong to it: {0}")]
    Statement(#[from] StatementError),
    /// The assertion of the passkey is invalid.
    #[error("the assertion of the passkey is invalid: {0}")]
    Passkey(#[from] PasskeyProofError),
}

/// The text is not a set of receipt keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a set of receipt keys, as GET /oidc/receipts/keys returns it")]
pub struct KeySetError;

/// The receipt keys of an issuer, as `GET /oidc/receipts/keys` returns them.
#[derive(Clone, Debug)]
pub struct ReceiptKeySet {
    issuer: String,
    keys: Vec<IssuerKey>,
}

#[derive(Clone, Debug)]
struct IssuerKey {
    key_id: String,
    key: DeviceKey,
    period: RangeInclusive<i64>,
    /// When the issuer revoked the key, in seconds since the epoch.
    revoked_at: Option<i64>,
}

#[derive(Deserialize)]
struct KeySetDocument {
    issuer: String,
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct KeyDocument {
    kid: String,
    nbf: i64,
    exp: Option<i64>,
    revoked: Option<RevocationDocument>,
    #[serde(flatten)]
    key: DeviceKey,
}

/// The revocation of a key (OpenID Federation 1.0 section 8.7).
#[derive(Deserialize)]
struct RevocationDocument {
    revoked_at: i64,
}

impl ReceiptKeySet {
    /// Parses a key set. Keys of an unknown algorithm are ignored.
    ///
    /// # Errors
    /// [`KeySetError`] if the text is another document, or an ES256 key in it is malformed.
    pub fn parse(json: &[u8]) -> Result<Self, KeySetError> {
        let document: KeySetDocument = serde_json::from_slice(json).map_err(|_| KeySetError)?;
        let known = document
            .keys
            .into_iter()
            .filter(|key| key.get("alg").and_then(Value::as_str) == Some("ES256"));
        let keys = known.map(|key| {
            let read: KeyDocument = serde_json::from_value(key).map_err(|_| KeySetError)?;
            let revoked_at = read.revoked.map(|revocation| revocation.revoked_at);
            // A key that was revoked before its period has none.
            let end = read.exp.into_iter().chain(revoked_at).min();
            let until = end.map_or(i64::MAX, |end| end.saturating_add(LEEWAY));
            Ok(IssuerKey {
                key_id: read.kid,
                key: read.key,
                period: read.nbf.saturating_sub(LEEWAY)..=until,
                revoked_at,
            })
        });
        Ok(Self {
            issuer: document.issuer,
            keys: keys.collect::<Result<_, KeySetError>>()?,
        })
    }
}

/// A receipt whose signatures are not verified yet.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The identifier of the issuer's key.
    key_id: String,
    content: ReceiptContent,
    /// The header and the payload, which the issuer signed.
    signed: String,
    signature: Vec<u8>,
    digest: Digest,
}

/// The standing of the issuer's key that signed a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerKeyState {
    /// The issuer did not revoke the key.
    Valid,
    /// The issuer revoked the key, because another party may have it. That party can sign receipts for any time of its
    /// period, so only the digest in the audit log shows which ones the issuer signed.
    Revoked {
        /// The time of the revocation, in seconds since the epoch.
        at: i64,
    },
}

/// The evidence of an answer, after its verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A vendor decided. There is no signature of a device.
    NoDeviceSignature,
    /// The key of the device signed this text.
    Device(SignedStatement),
    /// The key of the device signed this text, and its passkey a challenge that is bound to the text.
    DeviceAndPasskey(SignedStatement),
    /// The passkey of the device signed a challenge of the issuer, but no text.
    Passkey,
}

/// The members of the header. [`receipt_header`] builds the only accepted form of it again.
#[derive(Deserialize)]
struct Header {
    kid: String,
}

impl Receipt {
    /// Parses a receipt, without a verification of its signatures.
    ///
    /// # Errors
    /// [`ReceiptError`] if the text is not a receipt in its only accepted form.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        if text.len() > LONGEST {
            return Err(ReceiptError::TooLong);
        }
        let parts: Vec<&str> = text.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else {
            return Err(ReceiptError::Malformed);
        };
        let decode = |part: &str| {
            URL_SAFE_NO_PAD
                .decode(part)
                .map_err(|_| ReceiptError::Malformed)
        };
        let (json, signature) = (decode(payload)?, decode(signature)?);
        let Header { kid: key_id } =
            serde_json::from_slice(&decode(header)?).map_err(|_| ReceiptError::Header)?;
        if receipt_header(&key_id) != *header {
            return Err(ReceiptError::Header);
        }
        let content: ReceiptContent =
            serde_json::from_slice(&json).map_err(|_| ReceiptError::Payload)?;
        let canonical = content.to_json().map_err(|_| ReceiptError::Payload)?;
        if content.version != RECEIPT_VERSION || canonical.as_bytes() != json {
            return Err(ReceiptError::Payload);
        }
        Ok(Self {
            key_id,
            content,
            signed: format!("{header}.{payload}"),
            signature,
            digest: Digest::sha256(text.as_bytes()),
        })
    }

    /// Returns the identifier of the issuer's key (`kid`).
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the content.
    pub const fn content(&self) -> &ReceiptContent {
        &self.content
    }

    /// Returns the digest that the entry in the audit log has.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Verifies the issuer's signature of the whole content, and returns whether the key was revoked. The signature of
    /// a revoked key proves nothing by itself.
    ///
    /// # Errors
    /// [`ReceiptError`] if the key set has no key that signed it at its time.
    pub fn verify_issuer(&self, keys: &ReceiptKeySet) -> Result<IssuerKeyState, ReceiptError> {
        let mut known = keys.keys.iter();
        let key = known
            .find(|key| key.key_id == self.key_id)
            .ok_or(ReceiptError::UnknownKey)?;
        if !key.key.verifies(&self.signed, &self.signature) {
            return Err(ReceiptError::IssuerSignature);
        }
        if keys.issuer != self.content.iss {
            return Err(ReceiptError::OtherIssuer);
        }
        if !key.period.contains(&self.content.decided_at) {
            return Err(ReceiptError::KeyPeriod);
        }
        Ok(match key.revoked_at {
            None => IssuerKeyState::Valid,
            Some(at) => IssuerKeyState::Revoked { at },
        })
    }

    /// Verifies the signatures of the device, and compares what it signed with the content.
    ///
    /// # Errors
    /// [`ReceiptError`] if a signature is invalid, or belongs to another answer.
    pub fn verify_proof(&self) -> Result<Proof, ReceiptError> {
        let content = &self.content;
        let issuer = Url::parse(&content.iss).ok();
        let issuer = issuer
            .filter(|issuer| matches!(issuer.scheme(), "https" | "http"))
            .ok_or(ReceiptError::Issuer)?;
        match &content.answer {
            ReceiptAnswer::Channel { .. } if content.decision == Decision::Report => {
                Err(ReceiptError::Decision)
            }
            ReceiptAnswer::Channel { .. } => Ok(Proof::NoDeviceSignature),
            ReceiptAnswer::Passkey { passkey, .. } => {
                if content.decision != Decision::Approve {
                    return Err(ReceiptError::Decision);
                }
                passkey_proof::verify(passkey, &issuer, None)?;
                Ok(Proof::Passkey)
            }
            ReceiptAnswer::Device {
                device,
                passkey,
                signature,
                statement,
            } => {
                let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
                if !device.key.verifies(statement, &signature) {
                    return Err(ReceiptError::DeviceSignature);
                }
                let signed = SignedStatement::parse(statement)?;
                signed.check(content, device)?;
                match passkey {
                    None => Ok(Proof::Device(signed)),
                    Some(passkey) => {
                        passkey_proof::verify(passkey, &issuer, Some(statement))?;
                        Ok(Proof::DeviceAndPasskey(signed))
                    }
                }
            }
        }
    }

    /// Verifies all signatures.
    ///
    /// # Errors
    /// As [`Self::verify_issuer`] and [`Self::verify_proof`], and if the issuer revoked its key.
    pub fn verify(&self, keys: &ReceiptKeySet) -> Result<Proof, ReceiptError> {
        match self.verify_issuer(keys)? {
            IssuerKeyState::Valid => self.verify_proof(),
            IssuerKeyState::Revoked { .. } => Err(ReceiptError::RevokedKey),
        }
    }
}
