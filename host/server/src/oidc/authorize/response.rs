//! The authorization response, success or error, and its delivery to the application.

use super::super::error::AuthorizeErrorCode;
use assent_model::id::Did;
use assent_model::login::{AuthorizationRequest, ResponseMode};
use assent_model::purpose::SignInPurpose;
use assent_model::redirect::CheckedRedirect;

/// A response to the application (RFC 6749 sections 4.1.2 and 4.1.2.1, with `iss` of RFC 9207).
#[derive(Clone, Debug)]
pub struct AuthorizationAnswer {
    application: Did,
    redirect_uri: CheckedRedirect,
    mode: ResponseMode,
    parameters: Vec<(&'static str, String)>,
}

/// The delivery of a response.
#[derive(Debug)]
pub enum AnswerDelivery<'a> {
    /// The browser is redirected to this address.
    Redirect(String),
    /// The browser posts a form (OAuth 2.0 Form Post Response Mode section 2).
    Form {
        /// The target of the form.
        redirect_uri: &'a CheckedRedirect,
        /// The fields, by name and value.
        fields: &'a [(&'static str, String)],
    },
}

/// The destination of a response, and the parameters of every response.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) application: Did,
    pub(super) redirect_uri: CheckedRedirect,
    pub(super) mode: ResponseMode,
    pub(super) state: Option<String>,
    pub(super) purpose: SignInPurpose,
}

impl Destination {
    pub(super) fn from_request(request: &AuthorizationRequest) -> Self {
        Self {
            application: request.application.clone(),
            redirect_uri: request.redirect_uri.clone(),
            mode: request.response_mode,
            state: request.state.clone(),
            purpose: request.purpose,
        }
    }

    pub(super) fn code(self, issuer: &str, code: &str) -> AuthorizationAnswer {
        self.answer(issuer, vec![("code", code.to_owned())])
    }

    pub(super) fn error(
        self,
        issuer: &str,
        code: AuthorizeErrorCode,
        description: impl Into<String>,
    ) -> AuthorizationAnswer {
        let (application, error, description) =
            (&self.application, code.as_str(), description.into());
        tracing::info!(%application, error, description, "authorization request rejected");
        self.failure(issuer, error, &description)
    }

    /// Returns an error response without a line in the log.
    pub(super) fn failure(
        self,
        issuer: &str,
        error: &str,
        description: &str,
    ) -> AuthorizationAnswer {
        self.answer(
            issuer,
            vec![
                ("error", error.to_owned()),
                ("error_description", description.to_owned()),
            ],
        )
    }

    fn answer(
        self,
        issuer: &str,
        mut parameters: Vec<(&'static str, String)>,
    ) -> AuthorizationAnswer {
        parameters.push(("iss", issuer.to_owned()));
        parameters.extend(self.state.map(|state| ("state", state)));
        let Self {
            application,
            redirect_uri,
            mode,
            ..
        } = self;
        AuthorizationAnswer {
            application,
            redirect_uri,
            mode,
            parameters,
        }
    }
}

impl AuthorizationAnswer {
    /// Whether the response has an authorization code.
    pub fn is_granted(&self) -> bool {
        self.parameters.iter().any(|(name, _)| *name == "code")
    }

    /// The application that receives the response.
    pub const fn application(&self) -> &Did {
        &self.application
    }

    /// The delivery of the response to the application.
    pub fn delivery(&self) -> AnswerDelivery<'_> {
        match self.mode {
            ResponseMode::Query => {
                let parameters: Vec<(&str, &str)> = self
                    .parameters
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                AnswerDelivery::Redirect(self.redirect_uri.with_query(&parameters))
            }
            ResponseMode::FormPost => AnswerDelivery::Form {
                redirect_uri: &self.redirect_uri,
                fields: &self.parameters,
            },
        }
    }
}
