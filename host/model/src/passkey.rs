//! Passkeys: evidence that the user unlocked the device for an approval (W3C Web Authentication Level 3).
//!
//! A device always signs with its own key. A passkey is a second key, which the device uses only after user
//! verification by face, finger or PIN. WebAuthn does not reveal the method.

use crate::clock::Timestamp;
use crate::id::DeviceId;
use crate::secret::Digest;

/// The public key credential of a passkey (section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyCredential {
    /// The id of the credential for browsers and authenticators.
    pub id: Vec<u8>,
    /// The record of the WebAuthn library, in JSON: the public key, and the authenticator that created it.
    pub record: String,
}

/// The passkey of a device.
#[derive(Clone, Debug)]
pub struct DevicePasskey {
    /// The device.
    pub device_id: DeviceId,
    /// The credential.
    pub credential: PasskeyCredential,
    /// The signature counter at the last use; 0 if the authenticator has no counter.
    pub counter: u32,
    /// The time at which the passkey was added.
    pub added_at: Timestamp,
    /// Whether the passkey can sign in on login pages without an approval.
    pub sign_in: PasskeySignIn,
}

/// Whether a passkey can sign its user in on the login pages of applications that permit it, without an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeySignIn {
    /// The passkey was created only for approvals. It is not a discoverable credential (section 6.2.2), so no login
    /// page finds it.
    Unavailable,
    /// The passkey is a discoverable credential, and its user withdrew the permission.
    Declined,
    /// The user gave permission.
    Agreed {
        /// The time of the permission.
        at: Timestamp,
    },
}

impl PasskeySignIn {
    /// Whether the user gave permission.
    pub const fn is_agreed(self) -> bool {
        matches!(self, Self::Agreed { .. })
    }
}

/// A valid assertion of a device's passkey, with the updated passkey.
#[derive(Clone, Debug)]
pub struct PasskeyUse {
    /// The credential, updated from the assertion.
    pub credential: PasskeyCredential,
    /// The assertion's signature counter.
    pub counter: u32,
}

/// The purpose of a ceremony. Its challenge is valid for no other purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyPurpose<'a> {
    /// To add a passkey to the device.
    Add,
    /// To remove it.
    Remove,
    /// To add a passkey that can sign in. An assertion of the passkey with this credential id authorized the
    /// replacement. With `None`, the device has no passkey.
    AddForSignIn(Option<&'a [u8]>),
    /// To allow a call that enrols another device later: the method and path of the call.
    Call(&'a str),
    /// To approve a request: the text that the device signed. It names the request and the device, and contains all
    /// displayed details.
    Approve(&'a str),
}

impl PasskeyPurpose<'_> {
    /// Returns the digest that identifies a ceremony. No signed text can equal one of the words, or a call.
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
