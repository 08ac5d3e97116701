//! The status of a response without an assertion (SAML core section 3.2.2.2).

use assent_saml_core::message::status::{REQUESTER, RESPONDER};
use assent_saml_core::message::{Status, UnsupportedError};

const AUTHN_FAILED: &str = "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed";
const INVALID_NAME_ID_POLICY: &str = "urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy";
const NO_AUTHN_CONTEXT: &str = "urn:oasis:names:tc:SAML:2.0:status:NoAuthnContext";
const NO_PASSIVE: &str = "urn:oasis:names:tc:SAML:2.0:status:NoPassive";
const UNSUPPORTED_BINDING: &str = "urn:oasis:names:tc:SAML:2.0:status:UnsupportedBinding";

/// The reason why there is no assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignOnDenied {
    /// The user denied on the device.
    Denied,
    /// The approval request expired. The result is the same for a suspended or unknown user.
    Expired,
    /// The user cancelled, or may not use the service provider.
    GivenUp,
    /// Another user signed in than the one in the request's `Subject`.
    OtherSubject,
    /// A page would have been necessary, and `IsPassive` forbids that.
    NoPassive,
    /// The `RequestedAuthnContext` cannot be satisfied.
    NoAuthnContext,
    /// The `ProtocolBinding` is not HTTP-POST.
    UnsupportedBinding,
    /// The format of the `NameIDPolicy` is not configured.
    InvalidNameIdPolicy,
    /// The request has another version of SAML, or an unsupported part.
    Unsupported(UnsupportedError),
    /// A plugin failed, or the user has no name in the format. The log has details.
    Internal,
}

/// The reasons with which a login can end, and their stored names.
const NAMES: [(SignOnDenied, &str); 7] = [
    (SignOnDenied::Denied, "denied"),
    (SignOnDenied::Expired, "expired"),
    (SignOnDenied::GivenUp, "given_up"),
    (SignOnDenied::OtherSubject, "other_subject"),
    (SignOnDenied::NoPassive, "no_passive"),
    (SignOnDenied::NoAuthnContext, "no_authn_context"),
    (SignOnDenied::Internal, "internal"),
];

impl SignOnDenied {
    /// Returns the name with which the reason is stored; empty for a reason with which no login ends.
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(reason, _)| *reason == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns the reason with this stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(reason, _)| *reason)
    }

    /// Returns the status.
    pub fn status(self) -> Status {
        let (code, second) = match self {
            Self::Denied | Self::Expired | Self::GivenUp | Self::OtherSubject => {
                (RESPONDER, Some(AUTHN_FAILED))
            }
            Self::NoPassive => (RESPONDER, Some(NO_PASSIVE)),
            Self::NoAuthnContext => (RESPONDER, Some(NO_AUTHN_CONTEXT)),
            Self::UnsupportedBinding => (RESPONDER, Some(UNSUPPORTED_BINDING)),
            Self::InvalidNameIdPolicy => (REQUESTER, Some(INVALID_NAME_ID_POLICY)),
            Self::Unsupported(what) => {
                return Status {
                    message: Some(what.to_string()),
                    ..what.status()
                };
            }
            Self::Internal => (RESPONDER, None),
        };
        Status {
            message: Some(self.to_string()),
            ..Status::new(code, second)
        }
    }
}

impl std::fmt::Display for SignOnDenied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Denied => "the request was denied in the authenticator",
            Self::Expired => "the request was not approved in time",
            Self::GivenUp => "the sign-on was not completed",
            Self::OtherSubject => "another user signed in than the Subject of the request names",
            Self::NoPassive => "the user must interact, and IsPassive forbids that",
            Self::NoAuthnContext => {
                "the RequestedAuthnContext cannot be met: users are authenticated by PasswordProtectedTransport"
            }
            Self::UnsupportedBinding => "responses are sent only by HTTP-POST",
            Self::InvalidNameIdPolicy => "the format of the NameIDPolicy is not configured for this service provider",
            Self::Unsupported(what) => return what.fmt(f),
            Self::Internal => {
                "the sign-on could not be completed; the operator of the identity provider finds the cause in the log"
            }
        })
    }
}
