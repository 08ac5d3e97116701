//! The checks of an authorization request whose client and redirect URI are known, one function each.

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use crate::model::application::{Application, GrantType};
use crate::model::login::CodeChallenge;
use crate::model::scope::{Scope, Scopes};

/// A check that failed.
pub(super) struct Failure {
    pub(super) code: AuthorizeErrorCode,
    pub(super) description: String,
}

fn failure<T>(code: AuthorizeErrorCode, description: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { code, description: description.into() })
}

/// What `prompt` asks for (OpenID Connect Core section 3.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Show pages where needed.
    Default,
    /// Show none.
    None,
    /// Sign in afresh.
    Login,
}

pub(super) struct Request<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) application: &'a Application,
}

impl Request<'_> {
    /// RFC 6749 section 3.1: parameters must not be repeated.
    pub(super) fn not_repeated(&self) -> Result<(), Failure> {
        self.parameters
            .refuse_repeated()
            .or_else(|error| failure(AuthorizeErrorCode::InvalidRequest, error.to_string()))
    }

    /// What is kept until the answer has a limit, in bytes, since anybody may ask.
    pub(super) fn sizes(&self) -> Result<(), Failure> {
        for (name, most) in [("state", 2048), ("nonce", 512)] {
            if self.parameters.get(name).is_some_and(|value| value.len() > most) {
                return failure(AuthorizeErrorCode::InvalidRequest, format!("{name} is longer than {most} bytes"));
            }
        }
        Ok(())
    }

    /// OpenID Connect Core section 6: not supported, and never ignored.
    pub(super) fn no_request_object(&self) -> Result<(), Failure> {
        if self.parameters.get("request").is_some() {
            return failure(AuthorizeErrorCode::RequestNotSupported, "the parameter request is not supported");
        }
        if self.parameters.get("request_uri").is_some() {
            return failure(AuthorizeErrorCode::RequestUriNotSupported, "the parameter request_uri is not supported");
        }
        Ok(())
    }

    /// RFC 6749 section 3.1.1.
    pub(super) fn response_type(&self) -> Result<(), Failure> {
        match self.parameters.get("response_type") {
            Some("code") if self.application.settings.grant_types.contains(&GrantType::AuthorizationCode) => Ok(()),
            Some("code") => {
                failure(AuthorizeErrorCode::UnauthorizedClient, "the application may not use authorization codes")
            }
            Some(_) => failure(AuthorizeErrorCode::UnsupportedResponseType, "response_type must be code"),
            None => failure(AuthorizeErrorCode::InvalidRequest, "response_type is missing; it must be code"),
        }
    }

    /// OAuth 2.0 Multiple Response Type Encoding Practices section 2.1.
    pub(super) fn response_mode(&self) -> Result<(), Failure> {
        match self.parameters.get("response_mode") {
            None | Some("query") => Ok(()),
            Some(_) => failure(AuthorizeErrorCode::InvalidRequest, "response_mode must be query"),
        }
    }

    /// The scopes that were asked for and that the application may have; others are ignored, as the specification says.
    pub(super) fn scopes(&self) -> Result<Scopes, Failure> {
        let asked = Scopes::known(self.parameters.get("scope").unwrap_or_default());
        let mut scopes = asked.both(&self.application.settings.scopes);
        // The specification: without `prompt=consent` there is no `offline_access`.
        let consent = self.parameters.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|one| one == "consent"));
        if !consent || !self.application.settings.grant_types.contains(&GrantType::RefreshToken) {
            scopes = scopes.without(Scope::OfflineAccess);
        }
        if !scopes.has(Scope::OpenId) {
            return failure(AuthorizeErrorCode::InvalidScope, "scope must include openid");
        }
        Ok(scopes)
    }

    /// PKCE (RFC 7636): required for public clients, `S256` alone.
    pub(super) fn code_challenge(&self) -> Result<Option<CodeChallenge>, Failure> {
        let method = self.parameters.get("code_challenge_method");
        let invalid = |description: &str| failure(AuthorizeErrorCode::InvalidRequest, description);
        match (self.parameters.get("code_challenge"), method) {
            (Some(text), Some("S256")) => match CodeChallenge::parse(text) {
                Some(challenge) => Ok(Some(challenge)),
                None => invalid("code_challenge must be the base64url of a SHA-256 digest, 43 characters"),
            },
            (Some(_), _) => invalid("code_challenge_method must be S256"),
            (None, Some(_)) => invalid("code_challenge is missing"),
            (None, None) if self.application.settings.application_type.is_confidential() => Ok(None),
            (None, None) => invalid("code_challenge is missing: this application must use PKCE with S256"),
        }
    }

    /// OpenID Connect Core section 3.1.2.1: `none` stands alone.
    pub(super) fn prompt(&self) -> Result<Prompt, Failure> {
        let asked: Vec<&str> = self.parameters.get("prompt").unwrap_or_default().split(' ').collect();
        if let Some(unknown) = asked.iter().find(|p| !["", "none", "login", "consent", "select_account"].contains(p)) {
            return failure(
                AuthorizeErrorCode::InvalidRequest,
                format!("prompt has an unknown value of {} characters", unknown.len()),
            );
        }
        let has = |value| asked.contains(&value);
        match (has("none"), has("login") || has("select_account")) {
            (true, _) if asked.len() > 1 => failure(AuthorizeErrorCode::InvalidRequest, "prompt=none stands alone"),
            (true, _) => Ok(Prompt::None),
            (false, true) => Ok(Prompt::Login),
            (false, false) => Ok(Prompt::Default),
        }
    }

    /// OpenID Connect Core section 3.1.2.1, in seconds.
    pub(super) fn max_age(&self) -> Result<Option<u32>, Failure> {
        match self.parameters.get("max_age").map(str::parse) {
            None => Ok(None),
            Some(Ok(seconds)) => Ok(Some(seconds)),
            Some(Err(_)) => failure(AuthorizeErrorCode::InvalidRequest, "max_age must be a number of seconds"),
        }
    }
}
