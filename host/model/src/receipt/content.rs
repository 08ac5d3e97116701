//! The content of receipts.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize, Serializer};

use super::passkey_key::PasskeyPublicKey;
use crate::device::DeviceKey;
use crate::id::{ApprovalId, DeviceId, Did, UserId};
use crate::secret::Digest;
use crate::statement::Decision;

/// The type of a receipt (`typ`, RFC 7515 section 4.1.9), so that no other signed text is accepted as a receipt (RFC
/// 8725 section 3.11).
pub const RECEIPT_TYPE: &str = "assent-receipt+jws";

/// The version of the payload.
pub const RECEIPT_VERSION: u32 = 1;

/// The payload of a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptContent {
    /// The source of the answer, with its proof.
    pub answer: ReceiptAnswer,
    /// The time at which the server received the answer, in seconds since the epoch.
    pub decided_at: i64,
    /// The user's decision.
    pub decision: Decision,
    /// The issuer's URL.
    pub iss: String,
    /// The request.
    pub request: ReceiptRequest,
    /// The user, as the server knew them.
    pub user: ReceiptUser,
    /// The version of the payload: [`RECEIPT_VERSION`].
    pub version: u32,
}

impl ReceiptContent {
    /// Returns the payload in its only accepted form.
    ///
    /// # Errors
    /// If the content cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// The request that a receipt is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptRequest {
    /// The application. `None` for the server's own pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Did>,
    /// The identifier of the request.
    pub id: ApprovalId,
    /// The purpose of the request.
    pub kind: ReceiptSubject,
    /// The time of the request, in seconds since the epoch.
    pub requested_at: i64,
}

/// The purpose of a request in its receipt.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReceiptSubject {
    /// A sign-in in a browser.
    SignIn,
    /// A protected action of an administrator.
    Action,
    /// A back-channel request of an application, without a browser.
    Backchannel,
    /// A sign-in on a device whose code the user entered (RFC 8628).
    DeviceAuthorization,
    /// The second approval of a back-channel request that an application began for another user.
    SecondApproval,
    /// The answer to a help desk that the user is on the phone.
    CallerCheck,
}
crate::enum_texts!(ReceiptSubject);

/// The user who answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptUser {
    /// The identifier.
    pub id: UserId,
    /// The user name.
    pub name: String,
}

/// The source of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReceiptAnswer {
    /// A vendor decided. There is no signature of a device.
    Channel {
        /// The name of the delegated channel.
        channel: String,
    },
    /// A device of the user signed a text.
    Device {
        /// The device.
        device: ReceiptDevice,
        /// The assertion of the device's passkey, if the device has one and the user approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passkey: Option<ReceiptPasskey>,
        /// The device's signature of the text: ECDSA with SHA-256, `r` and `s` of 32 bytes each, base64url.
        signature: String,
        /// The signed text.
        statement: String,
    },
    /// The passkey of a device signed in on the login page. The device signed no text.
    Passkey {
        /// The device.
        device: ReceiptDevice,
        /// The assertion.
        passkey: ReceiptPasskey,
    },
}

/// A device, as the server knew it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptDevice {
    /// The time of the enrolment, in seconds since the epoch.
    pub enrolled_at: i64,
    /// The identifier.
    pub id: DeviceId,
    /// The public key.
    #[serde(serialize_with = "in_order")]
    pub key: DeviceKey,
    /// The name that the user chose.
    pub name: String,
}

/// Writes the members of a key in the order of their names.
fn in_order<S: Serializer>(key: &DeviceKey, serializer: S) -> Result<S::Ok, S::Error> {
    let members = serde_json::to_value(key).and_then(serde_json::from_value);
    let members: BTreeMap<String, String> = members.map_err(serde::ser::Error::custom)?;
    members.serialize(serializer)
}

/// An assertion of a passkey (W3C Web Authentication Level 3, section 7.2). The values are base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptPasskey {
    /// The authenticator data (section 6.1).
    pub authenticator_data: String,
    /// The bytes of the client data (section 5.8.1).
    pub client_data_json: String,
    /// The identifier of the credential.
    pub credential_id: String,
    /// The public key of the credential.
    pub key: PasskeyPublicKey,
    /// The signature of the authenticator data and the digest of the client data.
    pub signature: String,
}

/// A signed receipt, before it is stored.
#[derive(Clone, Debug)]
pub struct NewReceipt {
    /// The identifier of the request.
    pub request: ApprovalId,
    /// The receipt: a JWS in the compact form.
    pub text: String,
}

impl NewReceipt {
    /// Returns the digest that identifies the receipt in the audit log.
    pub fn digest(&self) -> Digest {
        Digest::sha256(self.text.as_bytes())
    }
}

/// Returns the only accepted header of a receipt with this key, base64url.
pub fn receipt_header(key_id: &str) -> String {
    let key_id = serde_json::Value::from(key_id);
    URL_SAFE_NO_PAD.encode(format!(
        r#"{{"alg":"ES256","kid":{key_id},"typ":"{RECEIPT_TYPE}"}}"#
    ))
}

/// Returns the challenge of a passkey that approves a text: the random bytes, followed by the digest of the text. So
/// the assertion is bound to the text for everyone who has both.
pub fn approval_challenge(random: &[u8], statement: &str) -> Vec<u8> {
    [random, &openssl::sha::sha256(statement.as_bytes())].concat()
}
