//! Requests for sign-on (SAML core section 3.4.1), before and after the browser comes with its cookies.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, SignOnId};
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::saml::name_id::NameIdFormat;
use crate::secret::Digest;
use crate::session::Acr;

/// A checked request for sign-on (SAML core section 3.4.1), or one that began here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOnRequest {
    /// The service provider.
    pub application: Did,
    /// Where the response goes.
    pub acs: CheckedRedirect,
    /// The `ID` of the AuthnRequest; none where the sign-on began here.
    pub in_response_to: Option<String>,
    /// Given back as it came.
    pub relay_state: Option<String>,
    /// `ForceAuthn`: an old session is not enough.
    pub fresh_login: bool,
    /// `IsPassive`: no page may be shown.
    pub passive: bool,
    /// The format of the name that the person gets.
    pub name_id_format: NameIdFormat,
    /// `Subject`: nobody else will do.
    pub subject: Option<RequestedSubject>,
    /// The name to start with.
    pub login_hint: Option<LoginName>,
    /// `RequestedAuthnContext` is not met by a vendor's word.
    #[serde(default)]
    pub needs_device: bool,
    /// The assertion names the class `unspecified`, because `RequestedAuthnContext` requests it.
    #[serde(default)]
    pub unspecified_context: bool,
    /// What the assertion says of a sign-in by a passkey.
    #[serde(default)]
    pub passkey_context: PasskeyContext,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
}

/// How `RequestedAuthnContext` and the class of phishing-resistant sign-ins relate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasskeyContext {
    /// The request has no `RequestedAuthnContext`, so a sign-in by a passkey has that class.
    #[default]
    Free,
    /// The request names that class and others that an approval meets.
    Named,
    /// Only that class meets the request.
    Required,
    /// The request names other classes only: the assertion names one of them.
    Unnamed,
}

impl SignOnRequest {
    /// Whether a sign-in of this kind meets `RequestedAuthnContext`. One by a passkey meets whatever an approval meets.
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

/// Whom an AuthnRequest asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedSubject {
    /// The format of the name; none where any will do.
    pub format: Option<String>,
    /// The name.
    pub value: String,
}

/// A checked request that waits for the browser to come with its cookies.
#[derive(Clone, Debug)]
pub struct PendingSignOn {
    /// The row's id; it stands in the address that the browser is sent to.
    pub id: SignOnId,
    /// The request.
    pub request: SignOnRequest,
    /// Until when the browser may come.
    pub expires_at: Timestamp,
}

/// A message that counts once, and how long another with its `ID` is known to be a replay.
#[derive(Clone, Copy, Debug)]
pub struct MessageClaim {
    /// Tells the service provider's message from all others.
    pub digest: Digest,
    /// Until when it is remembered: as long as its `IssueInstant` would do.
    pub until: Timestamp,
}
