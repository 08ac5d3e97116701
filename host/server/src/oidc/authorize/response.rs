//! The authorization response, success or error, and its delivery to the application.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::error::AuthorizeErrorCode;
use crate::domain::keys::signing_keys;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::id::Did;
use assent_model::key::SigningAlgorithm;
use assent_model::login::{AuthorizationRequest, ResponseMode};
use assent_model::purpose::SignInPurpose;
use assent_model::redirect::CheckedRedirect;

/// A response to the application (RFC 6749 sections 4.1.2 and 4.1.2.1, with `iss` of RFC 9207).
#[derive(Clone, Debug)]
pub struct AuthorizationAnswer {
    application: Did,
    redirect_uri: CheckedRedirect,
    mode: ResponseMode,
    /// Whether it has an authorization code.
    is_granted: bool,
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
            is_granted: parameters.iter().any(|(name, _)| *name == "code"),
            parameters,
        }
    }
}

/// The lifetime of a response in a JWT (JARM section 2.1).
const JWT_LIFETIME: Duration = Duration::from_secs(10 * 60);

impl AuthorizationAnswer {
    /// Returns the response with its parameters in a signed JWT, if the application requested that (JARM section 2).
    ///
    /// # Errors
    /// If the database or the signing key fails.
    pub async fn in_its_form(&self, services: &Services) -> Result<Cow<'_, Self>, InternalError> {
        if !self.mode.is_signed() {
            return Ok(Cow::Borrowed(self));
        }
        let application = services.store.application(&self.application).await?;
        // A deleted application receives an error that any of our algorithms may sign.
        let algorithm = application.map_or_else(SigningAlgorithm::default, |application| {
            let settings = &application.settings;
            settings
                .authorization_response_algorithm
                .unwrap_or(settings.id_token_algorithm)
        });
        let now = services.now();
        let parameters = self.parameters.iter();
        let mut claims: Map<String, Value> = parameters
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        claims.insert("aud".to_owned(), json!(self.application));
        claims.insert("exp".to_owned(), json!((now + JWT_LIFETIME).seconds()));
        let key = signing_keys::signer(services, algorithm).await?;
        let response = key.sign(claims, TokenType::Response)?;
        Ok(Cow::Owned(Self {
            application: self.application.clone(),
            redirect_uri: self.redirect_uri.clone(),
            mode: self.mode,
            is_granted: self.is_granted,
            parameters: vec![("response", response)],
        }))
    }

    /// Whether the response has an authorization code.
    pub const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// The application that receives the response.
    pub const fn application(&self) -> &Did {
        &self.application
    }

    /// The delivery of the response to the application.
    pub fn delivery(&self) -> AnswerDelivery<'_> {
        match self.mode {
            ResponseMode::Query | ResponseMode::QueryJwt => {
                let parameters: Vec<(&str, &str)> = self
                    .parameters
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                AnswerDelivery::Redirect(self.redirect_uri.with_query(&parameters))
            }
            ResponseMode::FormPost | ResponseMode::FormPostJwt => AnswerDelivery::Form {
                redirect_uri: &self.redirect_uri,
                fields: &self.parameters,
            },
        }
    }
}
