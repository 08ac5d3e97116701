//! Passkeys: what shows that whoever approves unlocked the phone (W3C Web Authentication Level 3).
//!
//! A device signs with its own key, always. A passkey is a second key, which the phone uses only after face, finger or
//! PIN; which of them it was, WebAuthn does not tell.

use crate::clock::Timestamp;
use crate::id::DeviceId;
use crate::secret::Digest;

/// The public key credential of a passkey (section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyCredential {
    /// The id by which browsers and authenticators name it.
    pub id: Vec<u8>,
    /// What the WebAuthn library knows of it, in JSON: the public key, and the authenticator that made it.
    pub record: String,
}

/// The passkey of a device.
#[derive(Clone, Debug)]
pub struct DevicePasskey {
    /// Whose it is.
    pub device_id: DeviceId,
    /// The credential.
    pub credential: PasskeyCredential,
    /// The signature counter at its last use; 0 where the authenticator counts nothing.
    pub counter: u32,
    /// When it was added.
    pub added_at: Timestamp,
    /// Whether it signs in by itself on login pages.
    pub sign_in: PasskeySignIn,
}

/// Whether a passkey signs its user in on the login pages of applications that permit it, without an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeySignIn {
    /// It was created for approvals only, and is not a discoverable credential (section 6.2.2): no login page finds it.
    Unavailable,
    /// It is a discoverable credential, and its user withdrew the agreement.
    Declined,
    /// Its user agreed.
    Agreed {
        /// When.
        at: Timestamp,
    },
}

impl PasskeySignIn {
    /// Whether the user agreed.
    pub const fn is_agreed(self) -> bool {
        matches!(self, Self::Agreed { .. })
    }
}

/// A good assertion of a device's passkey: the passkey as it is after it.
#[derive(Clone, Debug)]
pub struct PasskeyUse {
    /// The credential with what the assertion told of it.
    pub credential: PasskeyCredential,
    /// The assertion's signature counter.
    pub counter: u32,
}

/// What a ceremony is for. Its challenge is good for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyPurpose<'a> {
    /// To add a passkey to the device.
    Add,
    /// To remove it.
    Remove,
    /// To add a passkey that signs in, in place of the one with this credential id, whose assertion permitted it; or to
    /// a device without one.
    AddForSignIn(Option<&'a [u8]>),
    /// To let another device in later: the method and path of the call that does so.
    Call(&'a str),
    /// To approve a request: the text that the device signed, which names the request and the device, and holds all
    /// that was shown.
    Approve(&'a str),
}

impl PasskeyPurpose<'_> {
    /// The digest that a ceremony is found by again. No signed text can pass for one of the words, or for a call.
    pub fn digest(self) -> Digest {
        match self {
            Self::Add => Digest::sha256(b"add"),
            Self::Remove => Digest::sha256(b"remove"),
            Self::AddForSignIn(replaces) => {
                Digest::sha256(&[b"add for sign-in ", replaces.unwrap_or_default()].concat())
            }
            Self::Call(text) | Self::Approve(text) => Digest::sha256(text.as_bytes()),
        }
    }
}
