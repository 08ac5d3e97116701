//! A session: a browser in which a person signed in.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{SessionId, UserId};

/// A browser in which a person signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The row's id.
    pub id: SessionId,
    /// The `sid` claim: names the session to applications without being of use to them.
    pub sid: String,
    /// Who signed in.
    pub user_id: UserId,
    /// How and when.
    pub authentication: Authentication,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// How and when a person was authenticated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authentication {
    /// The `auth_time` claim.
    pub at: Timestamp,
    /// The `amr` claim: what the approval really was, as the host verified it.
    pub amr: Vec<Amr>,
    /// The operator's name for the channel whose vendor said so; `None` where a device proved it. Applications are not
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

impl Authentication {
    /// The `acr` claim: it follows from the methods.
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

/// How much an authentication shows (OpenID Connect Core section 2, `acr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acr {
    /// A proof by the device's own key, which this host verified.
    Device,
    /// A vendor's word.
    Delegated,
    /// An assertion of a passkey on the login page itself: the browser bound it to this server's origin (OpenID Connect
    /// EAP ACR Values 1.0 section 2).
    PhishingResistant,
}

impl Acr {
    /// The value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "urn:assent:acr:device",
            Self::Delegated => "urn:assent:acr:delegated",
            Self::PhishingResistant => "phr",
        }
    }
}

/// An authentication method (RFC 8176 section 2, OpenID Connect EAP ACR Values 1.0 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Amr {
    /// Proof of possession of a key that software keeps.
    Swk,
    /// Proof of possession of a key that may be in hardware or in software. Without attestation it is unknown where a
    /// passkey is kept, and passkey managers synchronise it.
    Pop,
    /// The person was there: they typed the number, or used the passkey.
    User,
    /// More than one factor: the device's key, and a passkey that the phone used only after it was unlocked; or such a
    /// passkey, which is possession, and face, finger or PIN.
    Mfa,
    /// Another channel than the browser's was used; of what happened there nothing is known.
    Mca,
}

impl Amr {
    /// What a sign-in by a passkey shows.
    pub const BY_PASSKEY: [Self; 3] = [Self::Pop, Self::User, Self::Mfa];

    /// The method's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swk => "swk",
            Self::Pop => "pop",
            Self::User => "user",
            Self::Mfa => "mfa",
            Self::Mca => "mca",
        }
    }
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
    fn an_authentication_that_was_kept_by_an_earlier_release_is_understood() {
        let kept = r#"{"at": 1700000000000, "amr": ["swk", "user"]}"#;
        let authentication: Authentication = serde_json::from_str(kept).expect("understood");
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
