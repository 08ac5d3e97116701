//! The checks of an authorization request with a known client and redirect URI, one function each.

use serde_json::json;

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use super::source::RequestSource;
use crate::domain::Services;
use crate::domain::approvals::channel;
use crate::oidc::dpop::proof;
use crate::oidc::id_token_hint;
use assent_model::application::{Application, GrantType};
use assent_model::authorization_details::requested::AuthorizationDetails;
use assent_model::claims_request::ClaimsRequest;
use assent_model::login::{AuthorizationRequest, CodeChallenge, ResponseMode};
use assent_model::purpose::SignInPurpose;
use assent_model::redirect::CheckedRedirect;
use assent_model::scope::{Scope, Scopes};
use assent_model::session::Acr;
use assent_model::token_binding::KeyThumbprint;

/// A check that failed.
#[derive(Debug)]
pub(super) struct CheckError {
    pub(super) code: AuthorizeErrorCode,
    pub(super) description: String,
}

pub(super) fn fail<T>(
    code: AuthorizeErrorCode,
    description: impl Into<String>,
) -> Result<T, CheckError> {
    Err(CheckError {
        code,
        description: description.into(),
    })
}

/// The values of `prompt` (OpenID Connect Core section 3.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PromptParameter {
    /// No page may be shown.
    pub(super) none: bool,
    /// The user must authenticate again.
    pub(super) login: bool,
    /// The user must consent again, even with a stored consent.
    pub(super) consent: bool,
    /// The user chooses the account to continue with.
    pub(super) select_account: bool,
}

impl PromptParameter {
    /// Rejects `prompt=none` with authorization details, which the user must see.
    pub(super) fn permits(self, details: &AuthorizationDetails) -> Result<(), CheckError> {
        if self.none && !details.is_empty() {
            return fail(
                AuthorizeErrorCode::InteractionRequired,
                "the user must approve the authorization_details on a device, and prompt=none forbids the pages",
            );
        }
        Ok(())
    }
}

pub(super) struct UncheckedRequest<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) application: &'a Application,
}

impl UncheckedRequest<'_> {
    /// Rejects repeated parameters (RFC 6749 section 3.1).
    pub(super) fn not_repeated(&self) -> Result<(), CheckError> {
        self.parameters
            .refuse_repeated()
            .or_else(|error| fail(AuthorizeErrorCode::InvalidRequest, error.to_string()))
    }

    /// Limits the size of the parameters that the server stores until the response, in bytes, because no authentication
    /// is required.
    pub(super) fn sizes(&self) -> Result<(), CheckError> {
        for (name, most) in [("state", 2048), ("nonce", 512), ("claims", 4096)] {
            if self
                .parameters
                .get(name)
                .is_some_and(|value| value.len() > most)
            {
                return fail(
                    AuthorizeErrorCode::InvalidRequest,
                    format!("{name} is longer than {most} bytes"),
                );
            }
        }
        for name in ["state", "nonce"] {
            if self
                .parameters
                .get(name)
                .is_some_and(|value| !is_printable(value))
            {
                return fail(
                    AuthorizeErrorCode::InvalidRequest,
                    format!("{name} must not contain control characters (RFC 6749 appendix A)"),
                );
            }
        }
        Ok(())
    }

    /// Rejects the metadata of an unregistered client, which only a self-issued provider reads (OpenID Connect Core
    /// section 7.2.1).
    pub(super) fn no_registration(&self) -> Result<(), CheckError> {
        if self.parameters.get("registration").is_some() {
            return fail(
                AuthorizeErrorCode::RegistrationNotSupported,
                "the parameter registration is not supported",
            );
        }
        Ok(())
    }

    /// Requires a pushed request, if the application or the server does (RFC 9126 section 5). A test of a sign-in by an
    /// administrator needs none, because only the application can push one.
    pub(super) fn pushed_if_required(
        &self,
        services: &Services,
        source: RequestSource,
        purpose: SignInPurpose,
    ) -> Result<(), CheckError> {
        let is_required = must_push(services, self.application);
        if is_required && matches!(source, RequestSource::Browser) && purpose.is_application() {
            return fail(AuthorizeErrorCode::InvalidRequest, MUST_PUSH);
        }
        Ok(())
    }

    /// Reads `dpop_jkt` (RFC 9449 section 10).
    pub(super) fn dpop_key(&self) -> Result<Option<KeyThumbprint>, CheckError> {
        match self.parameters.get("dpop_jkt").map(proof::thumbprint) {
            None => Ok(None),
            Some(Some(thumbprint)) => Ok(Some(thumbprint)),
            Some(None) => fail(
                AuthorizeErrorCode::InvalidRequest,
                "dpop_jkt must be the base64url of a SHA-256 digest, 43 characters",
            ),
        }
    }

    /// Checks `response_type` (RFC 6749 section 3.1.1).
    pub(super) fn response_type(&self) -> Result<(), CheckError> {
        match self.parameters.get("response_type") {
            Some("code")
                if self
                    .application
                    .settings
                    .grant_types
                    .contains(&GrantType::AuthorizationCode) =>
            {
                Ok(())
            }
            Some("code") => fail(
                AuthorizeErrorCode::UnauthorizedClient,
                "the application may not use authorization codes",
            ),
            Some(_) => fail(
                AuthorizeErrorCode::UnsupportedResponseType,
                "response_type must be code",
            ),
            None => fail(
                AuthorizeErrorCode::InvalidRequest,
                "response_type is missing; it must be code",
            ),
        }
    }

    /// Checks that `response_mode` is a supported one (see [`response_mode`]).
    pub(super) fn known_response_mode(
        &self,
        redirect_uri: &CheckedRedirect,
    ) -> Result<(), CheckError> {
        let Some(named) = self.parameters.get("response_mode") else {
            return Ok(());
        };
        match ResponseMode::parse(named) {
            Some(mode) if !mode.is_form() || redirect_uri.takes_forms() => Ok(()),
            Some(_) => fail(
                AuthorizeErrorCode::InvalidRequest,
                format!(
                    "response_mode={named} needs a redirect_uri that begins with https:// or http://"
                ),
            ),
            None => fail(
                AuthorizeErrorCode::InvalidRequest,
                "response_mode must be query, form_post, jwt, query.jwt or form_post.jwt",
            ),
        }
    }

    /// Returns the requested scopes that the application may have. Others are ignored, as the specification requires.
    pub(super) fn scopes(&self) -> Result<Scopes, CheckError> {
        let requested = Scopes::parse_known(self.parameters.get("scope").unwrap_or_default());
        let mut scopes = requested.both(&self.application.settings.scopes);
        // The specification permits `offline_access` only with `prompt=consent`.
        let consent = self
            .parameters
            .get("prompt")
            .is_some_and(|prompt| prompt.split(' ').any(|one| one == "consent"));
        if !consent
            || !self
                .application
                .settings
                .grant_types
                .contains(&GrantType::RefreshToken)
        {
            scopes = scopes.without(Scope::OfflineAccess);
        }
        if !scopes.has(Scope::OpenId) {
            return fail(
                AuthorizeErrorCode::InvalidScope,
                "scope must include openid",
            );
        }
        Ok(scopes)
    }

    /// Reads the PKCE parameters (RFC 7636): required for public clients and by setting, and only with `S256`.
    pub(super) fn code_challenge(&self) -> Result<Option<CodeChallenge>, CheckError> {
        let method = self.parameters.get("code_challenge_method");
        let invalid = |description: &str| fail(AuthorizeErrorCode::InvalidRequest, description);
        match (self.parameters.get("code_challenge"), method) {
            (Some(text), Some("S256")) => match CodeChallenge::parse(text) {
                Some(challenge) => Ok(Some(challenge)),
                None => invalid(
                    "code_challenge must be the base64url of a SHA-256 digest, 43 characters",
                ),
            },
            (Some(_), _) => invalid("code_challenge_method must be S256"),
            (None, Some(_)) => invalid("code_challenge is missing"),
            (None, None) if !self.application.settings.needs_pkce() => Ok(None),
            (None, None) => {
                invalid("code_challenge is missing: this application must use PKCE with S256")
            }
        }
    }

    /// Reads `prompt` (OpenID Connect Core section 3.1.2.1): `none` must be the only value.
    pub(super) fn prompt(&self) -> Result<PromptParameter, CheckError> {
        let prompts: Vec<&str> = self
            .parameters
            .get("prompt")
            .unwrap_or_default()
            .split(' ')
            .filter(|value| !value.is_empty())
            .collect();
        if let Some(unknown) = prompts
            .iter()
            .find(|p| !["none", "login", "consent", "select_account"].contains(p))
        {
            return fail(
                AuthorizeErrorCode::InvalidRequest,
                format!(
                    "prompt has an unknown value of {} characters",
                    unknown.len()
                ),
            );
        }
        let has = |value| prompts.contains(&value);
        let prompt = PromptParameter {
            none: has("none"),
            login: has("login"),
            consent: has("consent"),
            select_account: has("select_account"),
        };
        if prompt.none && prompts.len() > 1 {
            return fail(
                AuthorizeErrorCode::InvalidRequest,
                "prompt=none must be the only value",
            );
        }
        Ok(prompt)
    }

    /// Reads `max_age` (OpenID Connect Core section 3.1.2.1), in seconds.
    pub(super) fn max_age(&self) -> Result<Option<u32>, CheckError> {
        match self.parameters.get("max_age").map(str::parse) {
            None => Ok(None),
            Some(Ok(seconds)) => Ok(Some(seconds)),
            Some(Err(_)) => fail(
                AuthorizeErrorCode::InvalidRequest,
                "max_age must be a number of seconds",
            ),
        }
    }

    /// Reads `claims` (OpenID Connect Core section 5.5). Claims that the application may not have are left out, like
    /// such scopes. An essential `acr` that this server never issues is rejected at once (section 5.5.1.1). A request
    /// with authorization details has that of a device.
    pub(super) fn claims(
        &self,
        services: &Services,
        has_details: bool,
    ) -> Result<ClaimsRequest, CheckError> {
        let Some(text) = self.parameters.get("claims") else {
            return Ok(ClaimsRequest::default());
        };
        let requested = ClaimsRequest::parse(text)
            .or_else(|error| fail(AuthorizeErrorCode::InvalidRequest, error.to_string()))?;
        let delegated = channel::are_delegated(services, Some(&self.application.id));
        let passkeys = services.passkeys.is_some() && self.application.settings.passkey_sign_in;
        let supported: Vec<Acr> = [
            Some(Acr::Device),
            (delegated && !has_details).then_some(Acr::Delegated),
            (passkeys && !has_details).then_some(Acr::PhishingResistant),
        ]
        .into_iter()
        .flatten()
        .collect();
        for requirement in requested
            .requirements_of("acr")
            .filter(|requirement| requirement.essential)
        {
            if !supported
                .iter()
                .any(|acr| requirement.admits(&json!(acr.as_str())))
            {
                let supported: Vec<&str> = supported.iter().map(|acr| acr.as_str()).collect();
                return fail(
                    AuthorizeErrorCode::UnmetAuthenticationRequirements,
                    format!("acr must be {}", supported.join(" or ")),
                );
            }
        }
        let allowed = &self.application.settings.scopes;
        Ok(requested.retaining(|name| {
            let of_sign_in = ["sub", "acr", "auth_time", "amr"].contains(&name);
            of_sign_in || Scope::of_claim(name).is_some_and(|scope| allowed.has(scope))
        }))
    }

    /// Reads `id_token_hint` (OpenID Connect Core section 3.1.2.1): an ID token of this server for this application,
    /// which may have expired. Returns its `sub`.
    pub(super) async fn id_token_hint(
        &self,
        services: &Services,
    ) -> Result<Option<String>, CheckError> {
        let Some(jwt) = self.parameters.get("id_token_hint") else {
            return Ok(None);
        };
        let subject = id_token_hint::subject(services, self.application, jwt).await;
        match subject {
            Ok(subject) => Ok(Some(subject)),
            Err(why) => fail(AuthorizeErrorCode::InvalidRequest, why),
        }
    }
}

/// The reason to reject a request that is not pushed.
pub(super) const MUST_PUSH: &str =
    "the request must be pushed to pushed_authorization_request_endpoint (RFC 9126)";

/// Whether each request of the application must be pushed.
pub(super) fn must_push(services: &Services, application: &Application) -> bool {
    services.settings.oidc.require_pushed_authorization_requests
        || application.settings.require_pushed_authorization_requests
}

/// The maximum stored size of a request, in bytes.
const LARGEST: usize = 8 * 1024;
/// The maximum stored size of a request with authorization details, of which the texts in each language are stored.
const LARGEST_WITH_DETAILS: usize = 32 * 1024;

/// Checks that a request is small enough for storage, in its stored form: JSON escapes some characters, which then take
/// more space than in the request.
pub(super) fn check_size(request: &AuthorizationRequest) -> Result<(), CheckError> {
    let (largest, parts) = match request.authorization_details.is_empty() {
        true => (LARGEST, "state, nonce, claims and redirect_uri"),
        false => (
            LARGEST_WITH_DETAILS,
            "state, nonce, claims, redirect_uri and the texts of authorization_details",
        ),
    };
    match serde_json::to_vec(request) {
        Ok(text) if text.len() <= largest => Ok(()),
        _ => fail(
            AuthorizeErrorCode::InvalidRequest,
            format!("{parts} together are longer than {largest} bytes"),
        ),
    }
}

/// Whether a text has no control characters. RFC 6749 appendix A allows `state` the printable characters of ASCII.
/// Other letters are accepted as well, because applications put addresses of their own into it.
pub(super) fn is_printable(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// The delivery of the response, also of an error. If `response_mode` itself is the error, the default applies.
pub(super) fn response_mode(
    parameters: &Parameters,
    redirect_uri: &CheckedRedirect,
) -> ResponseMode {
    let named = parameters
        .get("response_mode")
        .and_then(ResponseMode::parse);
    named
        .filter(|mode| !mode.is_form() || redirect_uri.takes_forms())
        .unwrap_or(ResponseMode::Query)
}
