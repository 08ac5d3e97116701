//! Sessions: signed-in browsers.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{SessionId, UserId};

/// A signed-in browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The row's id.
    pub id: SessionId,
    /// The `sid` claim: identifies the session to applications, but authenticates nothing.
    pub sid: String,
    /// The signed-in user.
    pub user_id: UserId,
    /// The method and time of the authentication.
    pub authentication: Authentication,
    /// The expiry of the session.
    pub expires_at: Timestamp,
}

/// The method and time of a user's authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    /// The `auth_time` claim.
    pub at: Timestamp,
    /// The `amr` claim: the methods of the approval, as the server verified them.
    pub amr: Vec<Amr>,
    /// The operator's name for the channel of the vendor that approved; `None` if a device proved the approval.
    /// Applications do not receive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

impl Authentication {
    /// Returns the `acr` claim, which follows from the methods.
    pub fn acr(&self) -> Acr {
        if self.amr.contains(&Amr::Mca) {
            Acr::Delegated
        } else if self.amr.contains(&Amr::Pop) {
            Acr::PhishingResistant
        } else {
            Acr::Device
        }
    }
}

/// The assurance of an authentication (OpenID Connect Core section 2, `acr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Acr {
    /// A proof with the device's own key, which this server verified.
    #[strum(serialize = "urn:assent:acr:device")]
    Device,
    /// An approval by a vendor.
    #[strum(serialize = "urn:assent:acr:delegated")]
    Delegated,
    /// An assertion of a passkey on the login page. The browser bound it to this server's origin (OpenID Connect EAP
    /// ACR Values 1.0 section 2).
    #[strum(serialize = "phr")]
    PhishingResistant,
}
crate::enum_texts!(Acr);

/// An authentication method (RFC 8176 section 2, OpenID Connect EAP ACR Values 1.0 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Amr {
    /// Proof of possession of a key in software.
    Swk,
    /// Proof of possession of a key in hardware or software. Without attestation the storage of a passkey is unknown,
    /// and passkey managers synchronise it.
    Pop,
    /// User presence: the user typed the number, or used the passkey.
    User,
    /// Multi-factor authentication: the device's key, and a passkey that the device used only after it was unlocked. Or
    /// such a passkey by itself, which combines possession with face, finger or PIN.
    Mfa,
    /// Another channel than the browser's. The methods on that channel are unknown.
    Mca,
}
crate::enum_texts!(Amr);

impl Amr {
    /// The methods of a passkey sign-in.
    pub const BY_PASSKEY: [Self; 3] = [Self::Pop, Self::User, Self::Mfa];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passkey_sign_in_is_phishing_resistant() {
        let authentication = Authentication {
            at: Timestamp::from_millis(0),
            amr: Amr::BY_PASSKEY.to_vec(),
            channel: None,
        };
        assert_eq!(authentication.acr().as_str(), "phr");
        assert_eq!(
            serde_json::to_string(&authentication.amr).expect("JSON"),
            r#"["pop","user","mfa"]"#
        );
    }

    #[test]
    fn an_authentication_by_a_device_names_no_channel() {
        let stored = r#"{"at": 1700000000000, "amr": ["swk", "user"]}"#;
        let authentication: Authentication = serde_json::from_str(stored).expect("understood");
        assert_eq!(
            (authentication.channel.as_deref(), authentication.acr()),
            (None, Acr::Device)
        );
        assert!(
            !serde_json::to_string(&authentication)
                .expect("JSON")
                .contains("channel")
        );
    }
}
