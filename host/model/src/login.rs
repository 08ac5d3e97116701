//! A login: an application's request that a person sign in, from the request to its answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::claims_request::ClaimsRequest;
use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeviceId, Did, LoginId, SessionId};
use crate::language::Language;
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::saml::SignOnRequest;
use crate::scope::{Scope, Scopes};
use crate::secret::Digest;
use crate::session::Acr;

/// A login that is under way in one browser.
#[derive(Clone, Debug)]
pub struct Login {
    /// The row's id; it stands in the address of the login's pages.
    pub id: LoginId,
    /// The digest of the cookie of the browser that began it. No other browser may go on with it.
    pub browser: Digest,
    /// What that browser told about itself when it began.
    pub context: BrowserContext,
    /// Who asks, and for what.
    pub request: LoginRequest,
    /// How far it has come.
    pub stage: LoginStage,
    /// The start of the hour or day.
    pub created_at: Timestamp,
    /// Until when it can be gone on with.
    pub expires_at: Timestamp,
}

/// What a browser tells about itself, for the person to recognise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserContext {
    /// Where it seems to be.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
}

/// How far a login has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginStage {
    /// The person has not yet said who they are.
    Identify,
    /// The person's phone was asked; the approval tells the rest.
    Asked(ApprovalId),
    /// The person was signed in already, in this session, and has to agree to something.
    SignedIn(SessionId),
    /// The application was answered. Nothing more can come of it.
    Answered,
}

/// Who asks a person to sign in, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "snake_case")]
pub enum LoginRequest {
    /// An OpenID Connect client.
    Oidc(Box<AuthorizationRequest>),
    /// A SAML service provider.
    Saml(Box<SignOnRequest>),
    /// One of the host's own pages, such as the console.
    Local {
        /// The page's path.
        page: LocalPage,
    },
}

impl LoginRequest {
    /// The application that asks; `None` for the host's own pages.
    pub const fn application(&self) -> Option<&Did> {
        match self {
            Self::Oidc(request) => Some(&request.application),
            Self::Saml(request) => Some(&request.application),
            Self::Local { .. } => None,
        }
    }

    /// What the sign-in is for.
    pub const fn purpose(&self) -> SignInPurpose {
        match self {
            Self::Oidc(request) => request.purpose,
            Self::Saml(request) => request.purpose,
            Self::Local { .. } => SignInPurpose::Application,
        }
    }

    /// The language that the application asks for, whatever the browser prefers.
    pub const fn language(&self) -> Option<Language> {
        match self {
            Self::Oidc(request) => request.language,
            Self::Saml(_) | Self::Local { .. } => None,
        }
    }

    /// Whether only an approval by a device of this host will do: the application says that it can't do without that,
    /// or it is the console, which decides over everybody's sign-ins.
    pub fn needs_device(&self) -> bool {
        !self.admits(Acr::Delegated)
    }

    /// Whether a sign-in of this kind meets what the application says that it can't do without. The host's own pages
    /// take no passkey of a login page: they have no setting for it.
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

/// Why a person who was authenticated is not signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInDenied {
    /// The application was removed meanwhile.
    ApplicationGone,
    /// The application of this name is disabled.
    ApplicationDisabled(String),
    /// The application takes no answer any more where it wanted this one.
    AddressGone,
    /// They have no account with the application of this name.
    NoAccount(String),
    /// Their account with the application of this name is closed.
    AccountClosed(String),
    /// They were suspended or terminated meanwhile.
    PersonClosed,
    /// A plugin refuses them, in words of its own.
    Plugin(String),
    /// It is a test sign-in of another administrator.
    OthersTestSignIn,
}

/// The host's own pages that need a signed-in person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalPage {
    /// The administration console.
    Console,
    /// The start page: the portal's applications.
    Home,
    /// The portal's devices.
    Devices,
    /// The question whether to revoke one of them, which only a sign-in of a moment ago leads to.
    RevokeDevice(DeviceId),
    /// The portal's recovery codes.
    RecoveryCodes,
    /// The portal's sessions.
    Sessions,
    /// What the person let applications know.
    Consents,
    /// What happened lately in their name.
    Activity,
    /// What is kept of them, and what applications see of it.
    Profile,
}

impl LocalPage {
    /// Where the page is.
    pub fn path(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Console => "/admin",
            Self::Home => "/",
            Self::Devices => "/devices",
            Self::RevokeDevice(id) => return Cow::Owned(format!("/devices/{id}/revoke")),
            Self::RecoveryCodes => "/devices/recovery-codes",
            Self::Sessions => "/sessions",
            Self::Consents => "/consents",
            Self::Activity => "/activity",
            Self::Profile => "/profile",
        })
    }

    /// The page of the portal that a path is of, or that leads there: the start page, if it is of none.
    pub fn at(path: &str) -> Self {
        let mut parts = path.trim_start_matches('/').split('/');
        match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
            ("devices", Some(id), Some("revoke")) => {
                id.parse().map_or(Self::Devices, Self::RevokeDevice)
            }
            ("devices", Some("recovery-codes"), _) => Self::RecoveryCodes,
            ("devices", ..) => Self::Devices,
            ("sessions", ..) => Self::Sessions,
            ("consents", ..) => Self::Consents,
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
    /// Where the answer goes.
    pub redirect_uri: CheckedRedirect,
    /// What was asked for and the application may have.
    pub scopes: Scopes,
    /// Given back as it came.
    pub state: Option<String>,
    /// Bound into the ID token.
    pub nonce: Option<String>,
    /// The PKCE challenge.
    pub code_challenge: Option<CodeChallenge>,
    /// `prompt=login`, or `max_age=0`: an old session is not enough.
    pub fresh_login: bool,
    /// `max_age`, in seconds.
    pub max_age: Option<u32>,
    /// `login_hint`: the name to start with.
    pub login_hint: Option<LoginName>,
    /// `prompt=select_account`: the person says whether they go on with their session.
    #[serde(default)]
    pub select_account: bool,
    /// `prompt=consent`: the person is asked, whatever they agreed to before.
    #[serde(default)]
    pub ask_consent: bool,
    /// The `sub` of `id_token_hint`, as the application knows it: nobody else will do.
    #[serde(default)]
    pub hinted_subject: Option<String>,
    /// The `claims` parameter, as far as the application may have what it asks for.
    #[serde(default)]
    pub claims: ClaimsRequest,
    /// How the answer travels.
    #[serde(default)]
    pub response_mode: ResponseMode,
    /// The first of `ui_locales` that the pages speak.
    #[serde(default)]
    pub language: Option<Language>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
}

impl AuthorizationRequest {
    /// What the person has to agree to: the scopes, and those of the claims that were asked for one by one.
    pub fn consent_scopes(&self) -> Scopes {
        self.scopes
            .iter()
            .chain(self.claims.names().filter_map(Scope::of_claim))
            .collect()
    }

    /// Whether this `acr` meets what the application says that it can't do without (OpenID Connect Core section
    /// 5.5.1.1). What it would merely like, as all of `acr_values`, makes no difference.
    pub fn admits(&self, acr: Acr) -> bool {
        let acr = json!(acr.as_str());
        self.claims
            .wanted("acr")
            .all(|wanted| !wanted.essential || wanted.admits(&acr))
    }
}

/// How the answer gets to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    /// In the query of the redirect URI (OAuth 2.0 Multiple Response Type Encoding Practices section 2.1).
    #[default]
    Query,
    /// In a form that the browser posts to it (OAuth 2.0 Form Post Response Mode).
    FormPost,
}

/// A PKCE challenge of the method `S256` (RFC 7636 section 4.2): 43 characters of base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeChallenge(String);

impl CodeChallenge {
    /// Reads a challenge; `None` if it is not the form of a SHA-256 digest.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 43
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        fits.then(|| Self(text.to_owned()))
    }

    /// Whether `verifier` is the one that the challenge was made of (RFC 7636 sections 4.1 and 4.6).
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
    fn a_request_that_was_kept_by_an_earlier_release_is_understood() {
        let kept = r#"{"protocol": "oidc", "application": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "redirect_uri": "https://rp.example/cb",
            "scopes": ["openid"], "state": null, "nonce": null, "code_challenge": null, "fresh_login": false,
            "max_age": null, "login_hint": null}"#;
        let LoginRequest::Oidc(request) = serde_json::from_str(kept).expect("understood") else {
            panic!("a client's")
        };
        assert_eq!(
            (request.response_mode, request.ask_consent),
            (ResponseMode::Query, false)
        );
        assert!(
            request.claims.is_empty()
                && request.hinted_subject.is_none()
                && request.language.is_none()
        );
    }

    #[test]
    fn the_example_of_rfc_7636_appendix_b() {
        let challenge = CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
            .expect("well formed");
        assert!(challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert!(!challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"));
    }

    #[test]
    fn verifiers_of_the_wrong_length_are_refused() {
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
