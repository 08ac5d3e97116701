//! The authorization endpoint (RFC 6749 section 4.1.1, OpenID Connect Core 1.0 section 3.1.2): checking the request,
//! and answering it once the person is known.

mod answer;
mod checks;

pub use answer::{Answer, DenialReason, deny, respond};

use super::error::AuthorizeErrorCode;
use super::parameters::{BadParameters, Parameters};
use crate::domain::{Broken, Host};
use crate::id::Did;
use crate::model::application::Application;
use crate::model::login::AuthorizationRequest;
use crate::model::redirect::CheckedRedirect;

/// Why a request can't be answered to the application: it is not known where the application is. A page says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswerable {
    /// `client_id` is missing, repeated or unknown.
    Client,
    /// `redirect_uri` is missing, repeated or not registered.
    RedirectUri,
    /// The request can't be read at all.
    Request,
}

/// An error that goes back to the application.
#[derive(Clone, Debug)]
pub struct ErrorRedirect {
    redirect_uri: CheckedRedirect,
    state: Option<String>,
    code: AuthorizeErrorCode,
    description: String,
}

impl ErrorRedirect {
    /// The address that the browser is sent to (RFC 6749 section 4.1.2.1, with `iss` of RFC 9207).
    pub fn location(&self, issuer: &str) -> String {
        let mut parameters =
            vec![("error", self.code.as_str()), ("error_description", self.description.as_str()), ("iss", issuer)];
        parameters.extend(self.state.as_deref().map(|state| ("state", state)));
        self.redirect_uri.with_query(&parameters)
    }

    /// The `error` code.
    pub const fn code(&self) -> AuthorizeErrorCode {
        self.code
    }
}

/// Why a request was not accepted.
#[derive(Debug)]
pub enum Rejected {
    /// A page says so.
    Page(Unanswerable),
    /// The application is told.
    Redirect(ErrorRedirect),
    /// The host broke.
    Broken(Broken),
}

impl From<Broken> for Rejected {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// An accepted request.
#[derive(Debug)]
pub struct Accepted {
    /// The request.
    pub request: AuthorizationRequest,
    /// `prompt=none`: no page may be shown.
    pub silent: bool,
}

impl Accepted {
    /// The answer where no page may be shown and nobody is signed in, or not well enough.
    pub fn login_required(&self) -> ErrorRedirect {
        ErrorRedirect {
            redirect_uri: self.request.redirect_uri.clone(),
            state: self.request.state.clone(),
            code: AuthorizeErrorCode::LoginRequired,
            description: "the person has to sign in, and prompt=none forbids to ask".to_owned(),
        }
    }
}

/// Checks a request. Until client and redirect URI are known errors can only be pages; from there on they go back to
/// the application. The order is the order of the checks.
pub async fn check(host: &Host, parameters: &Parameters) -> Result<Accepted, Rejected> {
    let application = find_application(host, parameters).await?;
    let redirect_uri = parameters
        .get("redirect_uri")
        .and_then(|asked| CheckedRedirect::find(&application.settings.redirect_uris, asked))
        .ok_or(Rejected::Page(Unanswerable::RedirectUri))?;
    let state = parameters.get("state").filter(|state| state.len() <= 2048).map(str::to_owned);
    let request = checks::Request { parameters, application: &application };
    let checked = request.not_repeated().and_then(|()| {
        request.sizes()?;
        request.no_request_object()?;
        request.response_type()?;
        request.response_mode()?;
        let scopes = request.scopes()?;
        let code_challenge = request.code_challenge()?;
        let prompt = request.prompt()?;
        let max_age = request.max_age()?;
        Ok((scopes, code_challenge, prompt, max_age))
    });
    let (scopes, code_challenge, prompt, max_age) = match checked {
        Ok(checked) => checked,
        Err(checks::Failure { code, description }) => {
            return Err(Rejected::Redirect(ErrorRedirect { redirect_uri, state, code, description }));
        }
    };
    let request = AuthorizationRequest {
        application: application.id,
        redirect_uri,
        scopes,
        state,
        nonce: parameters.get("nonce").map(str::to_owned),
        code_challenge,
        fresh_login: prompt == checks::Prompt::Login,
        max_age,
        // A hint that can't be a name is of no use.
        login_hint: parameters.get("login_hint").and_then(|hint| hint.parse().ok()),
    };
    Ok(Accepted { request, silent: prompt == checks::Prompt::None })
}

async fn find_application(host: &Host, parameters: &Parameters) -> Result<Application, Rejected> {
    let unknown = || Rejected::Page(Unanswerable::Client);
    let id: Did = parameters.get("client_id").and_then(|text| text.parse().ok()).ok_or_else(unknown)?;
    let found = host.store.application(&id).await.map_err(Broken::from)?;
    found.ok_or_else(unknown)
}

impl From<BadParameters> for Rejected {
    fn from(_: BadParameters) -> Self {
        Self::Page(Unanswerable::Request)
    }
}
