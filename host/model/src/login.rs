//! Sign-ins: a login is one attempt of a browser to sign in, from the request to its answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::authorization_details::requested::AuthorizationDetails;
use crate::claims_request::ClaimsRequest;
use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeviceId, Did, FamilyId, LoginId, SessionId};
use crate::language::Language;
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::saml::{MessageClaim, SignOnRequest};
use crate::scope::{Scope, Scopes};
use crate::secret::Digest;
use crate::session::Acr;
use crate::token_binding::KeyThumbprint;

/// A sign-in in one browser.
#[derive(Clone, Debug)]
pub struct Login {
    /// The row's id. The addresses of the sign-in's pages contain it.
    pub id: LoginId,
    /// The digest of the cookie of the browser that started the sign-in. No other browser can continue it.
    pub browser: Digest,
    /// The properties of that browser at the start.
    pub context: BrowserContext,
    /// The request.
    pub request: LoginRequest,
    /// The stage of the sign-in.
    pub stage: LoginStage,
    /// The time at which the sign-in started.
    pub created_at: Timestamp,
    /// The expiry of the sign-in.
    pub expires_at: Timestamp,
}

/// The properties of a browser, which help the user to recognise it. The store has them in English.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserContext {
    /// The approximate location.
    pub place: String,
    /// The name of the location in other languages. Devices sign it, so it must not depend on a file of locations that
    /// changes, or that another instance lacks. Empty if the location has no name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub place_names: BTreeMap<Language, String>,
    /// The browser and operating system.
    pub browser: String,
}

/// The stage of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStage {
    /// The user has not identified themselves.
    Identify,
    /// The user's devices received an approval request, which determines the further stages.
    Asked(ApprovalId),
    /// The user was already signed in with this session, and must consent.
    SignedIn(SessionId),
    /// The sign-in has ended with this answer.
    Answered(GivenAnswer),
}

/// The answer that a sign-in had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The time of the answer.
    pub at: Timestamp,
    /// Its content.
    pub answer: LoginAnswer,
}

impl GivenAnswer {
    /// The time for which the browser of the sign-in may receive the answer again, because the first response was lost
    /// or discarded.
    pub const REPEATABLE: Duration = Duration::from_secs(30);

    /// Whether the answer may be repeated at this time.
    pub fn is_repeatable(&self, now: Timestamp) -> bool {
        now < self.at + Self::REPEATABLE
    }
}

/// The content of an answer, as far as it is stored. It contains no secret: codes and cookies are derived again from
/// these ids, the root secret and the cookie of the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoginAnswer {
    /// A user was signed in.
    SignedIn {
        /// The session.
        session: SessionId,
        /// Whether the session began with this answer.
        is_new: bool,
        /// The authorization code, if the application received one.
        code: Option<FamilyId>,
    },
    /// The application received an error of OpenID Connect.
    Error {
        /// `error`
        code: String,
        /// `error_description`
        description: String,
    },
    /// The service provider received a response without an assertion.
    Failed {
        /// The reason, by its name.
        reason: String,
    },
    /// The user left a sign-in to the server's own pages.
    Left,
    /// No one received an answer.
    Nothing,
}

/// The requester of a sign-in, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "snake_case")]
pub enum LoginRequest {
    /// An OpenID Connect client.
    Oidc(Box<AuthorizationRequest>),
    /// A SAML service provider.
    Saml(Box<SignOnRequest>),
    /// One of the server's own pages, such as the console.
    Local {
        /// The page.
        page: LocalPage,
    },
}

impl LoginRequest {
    /// Returns the application; `None` for the server's own pages.
    pub const fn application(&self) -> Option<&Did> {
        match self {
            Self::Oidc(request) => Some(&request.application),
            Self::Saml(request) => Some(&request.application),
            Self::Local { .. } => None,
        }
    }

    /// Returns the purpose of the sign-in.
    pub const fn purpose(&self) -> SignInPurpose {
        match self {
            Self::Oidc(request) => request.purpose,
            Self::Saml(request) => request.purpose,
            Self::Local { .. } => SignInPurpose::Application,
        }
    }

    /// Returns the language that the application requests. It precedes the browser's languages.
    pub const fn language(&self) -> Option<Language> {
        match self {
            Self::Oidc(request) => request.language,
            Self::Saml(_) | Self::Local { .. } => None,
        }
    }

    /// Whether only an approval by a device of this server is sufficient: if the application requests this as
    /// essential, and for the console, because the console controls all sign-ins.
    pub fn needs_device(&self) -> bool {
        !self.admits(Acr::Delegated)
    }

    /// Whether a sign-in of this kind satisfies the application's essential requirements. The server's own pages do not
    /// accept a passkey on a login page, because they have no setting for it.
    pub fn admits(&self, acr: Acr) -> bool {
        match self {
            Self::Oidc(request) => request.admits(acr),
            Self::Saml(request) => request.admits(acr),
            Self::Local { page } => match acr {
                Acr::Device => true,
                Acr::Delegated => !matches!(page, LocalPage::Console),
                Acr::PhishingResistant => false,
            },
        }
    }
}

/// The reason why an authenticated user is not signed in.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SignInDenied {
    /// The application was deleted in the meantime.
    #[strum(serialize = "application_deleted")]
    ApplicationGone,
    /// The application with this name is disabled.
    ApplicationDisabled(String),
    /// The requested address for the answer is no longer registered.
    #[strum(serialize = "redirect_uri_removed")]
    AddressGone,
    /// The user has no account in the application with this name.
    NoAccount(String),
    /// The user's account in the application with this name is suspended or terminated.
    #[strum(serialize = "account_inactive")]
    AccountClosed(String),
    /// The application with this name identifies users by their address, and the user's address is not confirmed.
    AddressNotConfirmed(String),
    /// The user was suspended or terminated in the meantime.
    UserInactive,
    /// A plugin rejected the user.
    Plugin {
        /// The plugin's name in the settings.
        plugin: String,
        /// The reason for the user, in one sentence.
        reason: String,
    },
    /// The sign-in is a test sign-in of another administrator.
    #[strum(serialize = "other_test_sign_in")]
    OthersTestSignIn,
}

impl SignInDenied {
    /// Returns the stable name of the reason, for the log and the audit log.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// Writes the reason for administrators, as the beginning of a sentence.
impl std::fmt::Display for SignInDenied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ApplicationGone => f.write_str("the application was deleted"),
            Self::ApplicationDisabled(name) => write!(f, "the application {name} is disabled"),
            Self::AddressGone => f.write_str("the redirect URI is no longer registered"),
            Self::NoAccount(name) => write!(f, "the user has no access to the application {name}"),
            Self::AccountClosed(name) => write!(
                f,
                "the account of the user in the application {name} is suspended or terminated"
            ),
            Self::UserInactive => f.write_str("the user is suspended or terminated"),
            Self::Plugin { plugin, reason } => {
                write!(f, "the plugin {plugin} denied the sign-in: {reason}")
            }
            Self::AddressNotConfirmed(name) => write!(
                f,
                "the email address of the user, which identifies the user to the application {name}, is not confirmed"
            ),
            Self::OthersTestSignIn => f.write_str("it is a test sign-in of another administrator"),
        }
    }
}

/// The server's own pages that require a signed-in user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalPage {
    /// The administration console.
    Console,
    /// The start page: the portal's applications.
    Home,
    /// The portal's devices.
    Devices,
    /// The confirmation page for the revocation of a device, which requires a recent sign-in.
    RevokeDevice(DeviceId),
    /// The portal's recovery codes.
    RecoveryCodes,
    /// The portal's sessions.
    Sessions,
    /// The user's consents.
    Consents,
    /// The applications that may ask the user without a browser.
    Requests,
    /// The user's recent activity.
    Activity,
    /// The user's stored data, and the data that applications receive.
    Profile,
}

impl LocalPage {
    /// Returns the path of the page.
    pub fn path(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Console => "/admin",
            Self::Home => "/",
            Self::Devices => "/devices",
            Self::RevokeDevice(id) => return Cow::Owned(format!("/devices/{id}/revoke")),
            Self::RecoveryCodes => "/devices/recovery-codes",
            Self::Sessions => "/sessions",
            Self::Consents => "/consents",
            Self::Requests => "/requests",
            Self::Activity => "/activity",
            Self::Profile => "/profile",
        })
    }

    /// Returns the page of the portal that a path belongs to, or the start page for other paths.
    pub fn from_path(path: &str) -> Self {
        let mut parts = path.trim_start_matches('/').split('/');
        match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
            ("devices", Some(id), Some("revoke")) => {
                id.parse().map_or(Self::Devices, Self::RevokeDevice)
            }
            ("devices", Some("recovery-codes"), _) => Self::RecoveryCodes,
            ("devices", ..) => Self::Devices,
            ("sessions", ..) => Self::Sessions,
            ("consents", ..) => Self::Consents,
            ("requests", ..) => Self::Requests,
            ("activity", ..) => Self::Activity,
            ("profile", ..) => Self::Profile,
            _ => Self::Home,
        }
    }
}

/// A checked authorization request (RFC 6749 section 4.1.1, OpenID Connect Core 1.0 section 3.1.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// The client.
    pub application: Did,
    /// The redirect URI for the answer.
    pub redirect_uri: CheckedRedirect,
    /// The requested scopes that the application may have.
    pub scopes: Scopes,
    /// Returned unchanged.
    pub state: Option<String>,
    /// Included in the ID token.
    pub nonce: Option<String>,
    /// The PKCE challenge.
    pub code_challenge: Option<CodeChallenge>,
    /// `prompt=login`, `max_age=0`, or authorization details: an existing session is not sufficient.
    pub fresh_login: bool,
    /// `max_age`, in seconds.
    pub max_age: Option<u32>,
    /// `login_hint`: the prefilled name.
    pub login_hint: Option<LoginName>,
    /// `prompt=select_account`: the user decides whether to continue with the session.
    pub select_account: bool,
    /// `prompt=consent`: the user is asked, even after an earlier consent.
    pub ask_consent: bool,
    /// The `sub` of `id_token_hint`, as the application knows it: only this user may sign in.
    pub hinted_subject: Option<String>,
    /// The claims of the `claims` parameter that the application may have.
    pub claims: ClaimsRequest,
    /// The transport of the answer.
    pub response_mode: ResponseMode,
    /// The first supported language of `ui_locales`.
    pub language: Option<Language>,
    /// The purpose of the sign-in.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
    /// The DPoP key to which the code is bound (`dpop_jkt`, RFC 9449 section 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<KeyThumbprint>,
    /// The pushed request of which this is the content. Its answer uses it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<PushedRequestUse>,
    /// What the application asks the user to permit (`authorization_details`, RFC 9396).
    #[serde(default, skip_serializing_if = "AuthorizationDetails::is_empty")]
    pub authorization_details: AuthorizationDetails,
}

/// The use of a pushed request (RFC 9126): only one sign-in answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedRequestUse {
    /// The digest of its `request_uri`.
    pub digest: Digest,
    /// The id of the code that answers it.
    pub code: FamilyId,
    /// The time from which no sign-in with this request is open.
    pub until: Timestamp,
}

impl PushedRequestUse {
    /// Returns the claim that the answer of the sign-in must make.
    pub const fn claim(self) -> MessageClaim {
        MessageClaim {
            digest: self.digest,
            until: self.until,
            answer: None,
        }
    }
}

impl AuthorizationRequest {
    /// Returns the scopes that the user must consent to: the requested scopes, and those of individually requested
    /// claims.
    pub fn consent_scopes(&self) -> Scopes {
        self.scopes
            .iter()
            .chain(self.claims.names().filter_map(Scope::of_claim))
            .collect()
    }

    /// Whether this `acr` satisfies the application's essential requirements (OpenID Connect Core section 5.5.1.1).
    /// Voluntary requirements, including all `acr_values`, have no effect. Only a device shows authorization details,
    /// and signs them.
    pub fn admits(&self, acr: Acr) -> bool {
        if acr != Acr::Device && !self.authorization_details.is_empty() {
            return false;
        }
        let acr = json!(acr.as_str());
        self.claims
            .requirements_of("acr")
            .all(|requirement| !requirement.essential || requirement.admits(&acr))
    }
}

/// The transport of the answer to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    /// The query of the redirect URI (OAuth 2.0 Multiple Response Type Encoding Practices section 2.1).
    Query,
    /// A form that the browser posts to the redirect URI (OAuth 2.0 Form Post Response Mode).
    FormPost,
    /// The query, with a signed JWT that has the parameters (JARM section 2.3.1).
    QueryJwt,
    /// A form with such a JWT (JARM section 2.3.3).
    FormPostJwt,
}

impl ResponseMode {
    /// Whether the answer is a signed JWT.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::QueryJwt | Self::FormPostJwt)
    }

    /// Whether the browser posts a form.
    pub const fn is_form(self) -> bool {
        matches!(self, Self::FormPost | Self::FormPostJwt)
    }

    /// Parses `response_mode`. `jwt` is the default of the code flow as a JWT (JARM section 2.3.4).
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "query" => Some(Self::Query),
            "form_post" => Some(Self::FormPost),
            "jwt" | "query.jwt" => Some(Self::QueryJwt),
            "form_post.jwt" => Some(Self::FormPostJwt),
            _ => None,
        }
    }
}

/// A PKCE challenge of the method `S256` (RFC 7636 section 4.2): 43 characters of base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeChallenge(String);

impl CodeChallenge {
    /// Parses a challenge. Returns `None` if it does not have the form of a SHA-256 digest.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 43
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        fits.then(|| Self(text.to_owned()))
    }

    /// Whether the challenge was derived from `verifier` (RFC 7636 sections 4.1 and 4.6).
    pub fn is_met_by(&self, verifier: &str) -> bool {
        use base64::Engine;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        use subtle::ConstantTimeEq;

        let fits = (43..=128).contains(&verifier.len())
            && verifier
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~'));
        let made = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(verifier.as_bytes()));
        fits && bool::from(made.as_bytes().ct_eq(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636_appendix_b() {
        let challenge = CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
            .expect("well formed");
        assert!(challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert!(!challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"));
    }

    #[test]
    fn verifiers_of_the_wrong_length_are_rejected() {
        use base64::Engine;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        for verifier in ["a".repeat(42), "a".repeat(129), String::new()] {
            let challenge = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(verifier.as_bytes()));
            assert!(
                !CodeChallenge::parse(&challenge)
                    .expect("well formed")
                    .is_met_by(&verifier)
            );
        }
    }
}
