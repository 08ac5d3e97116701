//! Requests for sign-on (SAML core section 3.4.1), before and after the browser sends its cookies.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, SignOnId};
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::saml::name_id::NameIdFormat;
use crate::secret::Digest;
use crate::session::Acr;

/// A checked request for sign-on (SAML core section 3.4.1), or an IdP-initiated sign-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOnRequest {
    /// The service provider.
    pub application: Did,
    /// The URL that receives the response.
    pub acs: CheckedRedirect,
    /// The `ID` of the AuthnRequest; `None` for IdP-initiated sign-on.
    pub in_response_to: Option<String>,
    /// Returned unchanged.
    pub relay_state: Option<String>,
    /// `ForceAuthn`: an existing session is not sufficient.
    pub fresh_login: bool,
    /// `IsPassive`: no page may be shown.
    pub passive: bool,
    /// The format of the user's NameID.
    pub name_id_format: NameIdFormat,
    /// `Subject`: only this user may sign in.
    pub subject: Option<RequestedSubject>,
    /// The prefilled name.
    pub login_hint: Option<LoginName>,
    /// `RequestedAuthnContext` excludes a vendor's approval.
    pub needs_device: bool,
    /// The assertion contains the class `unspecified`, because `RequestedAuthnContext` requests it.
    pub unspecified_context: bool,
    /// The authentication context of a passkey sign-in in the assertion.
    pub passkey_context: PasskeyContext,
    /// The purpose of the sign-in.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
}

/// The relation between `RequestedAuthnContext` and the class of phishing-resistant sign-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasskeyContext {
    /// The request has no `RequestedAuthnContext`, so a passkey sign-in has that class.
    Free,
    /// The request contains that class, and others that an approval satisfies.
    Named,
    /// Only that class satisfies the request.
    Required,
    /// The request contains only other classes. The assertion contains one of them.
    Unnamed,
}

impl SignOnRequest {
    /// Whether a sign-in of this kind satisfies `RequestedAuthnContext`. A passkey satisfies each class that an
    /// approval does.
    pub fn admits(&self, acr: Acr) -> bool {
        match acr {
            Acr::PhishingResistant => true,
            Acr::Device => self.passkey_context != PasskeyContext::Required,
            Acr::Delegated => {
                !self.needs_device && self.passkey_context != PasskeyContext::Required
            }
        }
    }
}

/// The requested user of an AuthnRequest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedSubject {
    /// The format of the NameID; `None` if any format is acceptable.
    pub format: Option<String>,
    /// The NameID.
    pub value: String,
}

/// A checked request that waits until the browser sends its cookies.
#[derive(Clone, Debug)]
pub struct PendingSignOn {
    /// The row's id. The address for the browser contains it.
    pub id: SignOnId,
    /// The request.
    pub request: SignOnRequest,
    /// The expiry of the request.
    pub expires_at: Timestamp,
}

/// The claim of a single-use message. Until its expiry, another message with the same `ID` is a replay.
#[derive(Clone, Copy, Debug)]
pub struct MessageClaim {
    /// Identifies the message of the service provider.
    pub digest: Digest,
    /// The expiry of the claim. From then on, the message's `IssueInstant` is too old.
    pub until: Timestamp,
    /// The answer in the same transaction. `None` if the message only begins a sign-in or a sign-out.
    pub answer: Option<MessageAnswer>,
}

/// The answer to a message by a session, without a sign-in in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageAnswer {
    /// The time of the answer.
    pub at: Timestamp,
    /// The digest of the sign-on, its browser and its session. Only these receive the answer again.
    pub to: Digest,
}
