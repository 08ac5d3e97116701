//! The end session endpoint (OpenID Connect RP-Initiated Logout 1.0): validation of requests.
//!
//! Any site can send a browser here. So only an ID token of this server (`id_token_hint`) proves that an application
//! sent the request, and without one the user must confirm the sign-out. A browser is redirected only to an address
//! that is registered for the application that the token or `client_id` names.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::parameters::{Parameters, ParametersError};
use crate::domain::claims::standard_claims::{sid_of, subject_of};
use crate::domain::keys::signing_keys;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use crate::keys::IdTokenError;
use assent_model::application::Application;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::name::QuotedText;
use assent_model::redirect::CheckedRedirect;
use assent_model::saml::LogoutContinuation;
use assent_telemetry::SPANS;

/// The lifetime of a sealed request. It limits the time for the confirmation page.
const SEALED_FOR: Duration = Duration::from_secs(30 * 60);
/// The purpose of the seal.
const PURPOSE: &str = "end-session";

/// A validated request.
#[derive(Clone, Debug, Default)]
pub struct EndSessionRequest {
    application: Option<Arc<Application>>,
    hint: Option<IdTokenHint>,
    redirect: Option<CheckedRedirect>,
    state: Option<String>,
}

/// The content of an ID token of this server.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IdTokenHint {
    subject: String,
    sid: Option<String>,
}

/// The reason why a request is rejected. A page shows the reason; no session ends, and there is no redirect.
#[derive(Debug, thiserror::Error)]
pub enum EndSessionError {
    /// The parameters cannot be read.
    #[error("the request cannot be read: {0}")]
    Parameters(#[from] ParametersError),
    /// The `id_token_hint` is not an ID token of this server.
    #[error("the id_token_hint is not an ID token of this service: {0}")]
    BadHint(#[from] IdTokenError),
    /// The `id_token_hint` is an ID token of this server, but does not name its user or application.
    #[error("the id_token_hint has no known {0}")]
    InvalidHint(&'static str),
    /// `client_id` is unknown.
    #[error("no application has the client_id")]
    UnknownClient,
    /// `client_id` is not the application to which the `id_token_hint` was issued.
    #[error("the id_token_hint was issued to another client_id")]
    OtherClient,
    /// The `post_logout_redirect_uri` is not registered.
    #[error(
        "post_logout_redirect_uri is {0}, which is not registered; it must match a registered one exactly"
    )]
    RedirectUri(QuotedText),
    /// This server did not seal the request, or the seal has expired.
    #[error("the sealed request is not from this server, or has expired")]
    Sealed,
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// Validates a request (section 2 of the specification). An expired ID token is still a hint. `logout_hint` is accepted
/// and ignored; the renderer of the page handles `ui_locales`.
///
/// # Errors
/// [`EndSessionError`] if the request is not valid or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.logout_request")]
pub async fn check(
    services: &Services,
    parameters: &Parameters,
) -> Result<EndSessionRequest, EndSessionError> {
    parameters.refuse_repeated()?;
    let client_id = parameters.get("client_id");
    let requested = parameters.get("post_logout_redirect_uri");
    let (application, hint) = match (parameters.get("id_token_hint"), client_id, requested) {
        (Some(token), ..) => {
            let (application, hint) = hint(services, token).await?;
            (application, Some(hint))
        }
        // With `client_id` the address can be checked without a hint (section 2).
        (None, Some(id), Some(_)) => (client(services, id).await?, None),
        // The request proves nothing, and has no redirect.
        (None, ..) => return Ok(EndSessionRequest::default()),
    };
    if client_id.is_some_and(|id| id != application.id.as_str()) {
        return Err(EndSessionError::OtherClient);
    }
    let redirect = redirect(&application, requested)?;
    let state = parameters.get("state").map(str::to_owned);
    Ok(EndSessionRequest {
        application: Some(application),
        hint,
        redirect,
        state,
    })
}

async fn client(services: &Services, id: &str) -> Result<Arc<Application>, EndSessionError> {
    let id: Did = id.parse().map_err(|_| EndSessionError::UnknownClient)?;
    services
        .store
        .application(&id)
        .await
        .map_err(InternalError::from)?
        .ok_or(EndSessionError::UnknownClient)
}

/// Returns the address to which the browser goes afterwards: only an address of this application, and none if it is
/// disabled.
fn redirect(
    application: &Application,
    requested: Option<&str>,
) -> Result<Option<CheckedRedirect>, EndSessionError> {
    let registered = &application.settings.post_logout_redirect_uris;
    let find = |requested| {
        CheckedRedirect::find(registered, requested)
            .ok_or_else(|| EndSessionError::RedirectUri(QuotedText::new(requested)))
    };
    let redirect = requested.map(find).transpose()?;
    Ok(redirect.filter(|_| application.settings.enabled))
}

/// The validated request that the browser carries from page to page. It has the content of the ID token without the
/// token itself, which must not appear in addresses, histories and logs.
#[derive(Serialize, Deserialize)]
struct SealedRequest {
    application: Did,
    hint: Option<IdTokenHint>,
    redirect: Option<String>,
    state: Option<String>,
    until: Timestamp,
}

/// Opens the text of [`EndSessionRequest::sealed`], if it has not expired. The application is read again.
///
/// # Errors
/// [`EndSessionError`] if the text is not valid, has expired, or the database fails.
pub async fn unseal(services: &Services, text: &str) -> Result<EndSessionRequest, EndSessionError> {
    let opened = services
        .sealing_keys
        .open(PURPOSE, text)
        .map_err(|_| EndSessionError::Sealed)?;
    let sealed: SealedRequest =
        serde_json::from_slice(&opened).map_err(|_| EndSessionError::Sealed)?;
    if sealed.until < services.now() {
        return Err(EndSessionError::Sealed);
    }
    let application = services
        .store
        .application(&sealed.application)
        .await
        .map_err(InternalError::from)?;
    let application = application.ok_or(EndSessionError::InvalidHint("application"))?;
    let redirect = redirect(&application, sealed.redirect.as_deref())?;
    Ok(EndSessionRequest {
        application: Some(application),
        hint: sealed.hint,
        redirect,
        state: sealed.state,
    })
}

async fn hint(
    services: &Services,
    token: &str,
) -> Result<(Arc<Application>, IdTokenHint), EndSessionError> {
    let claims = signing_keys::verify_own(services, token).await?;
    let claim = |name: &str| claims.get(name).and_then(|value| value.as_str());
    if claim("iss") != Some(services.issuer.as_str()) {
        return Err(EndSessionError::InvalidHint("issuer"));
    }
    let audience: Option<Did> = claim("aud").and_then(|text| text.parse().ok());
    let found = match audience {
        Some(id) => services
            .store
            .application(&id)
            .await
            .map_err(InternalError::from)?,
        None => None,
    };
    let application = found.ok_or(EndSessionError::InvalidHint("application"))?;
    let subject = claim("sub")
        .ok_or(EndSessionError::InvalidHint("user"))?
        .to_owned();
    Ok((
        application,
        IdTokenHint {
            subject,
            sid: claim("sid").map(str::to_owned),
        },
    ))
}

impl EndSessionRequest {
    /// Seals the request as a text that only this server can create and read, for half an hour. Returns `None` if it
    /// proves nothing.
    ///
    /// # Errors
    /// If the sealing key fails.
    pub fn seal(&self, services: &Services) -> Result<Option<String>, InternalError> {
        let Some(application) = &self.application else {
            return Ok(None);
        };
        let sealed = SealedRequest {
            application: application.id.clone(),
            hint: self.hint.clone(),
            redirect: self
                .redirect
                .as_ref()
                .map(|redirect| redirect.as_str().to_owned()),
            state: self.state.clone(),
            until: services.now() + SEALED_FOR,
        };
        let text = serde_json::json!(sealed).to_string();
        Ok(Some(services.seal(PURPOSE, text.as_bytes())?))
    }

    /// Whether the application proves that its request is for this session, or for this user. Then the user need not
    /// confirm.
    ///
    /// # Errors
    /// If the subject of the user cannot be computed.
    pub fn is_for(
        &self,
        services: &Services,
        signed_in: &BrowserSession,
    ) -> Result<bool, InternalError> {
        let (Some(application), Some(hint)) = (&self.application, &self.hint) else {
            return Ok(false);
        };
        let same_session = hint.sid == Some(sid_of(services, application, &signed_in.session.sid)?);
        Ok(same_session || subject_of(services, application, &signed_in.user)? == hint.subject)
    }

    /// The session that the application's ID token names.
    pub fn sid(&self) -> Option<&str> {
        self.hint.as_ref()?.sid.as_deref()
    }

    /// The name of the application that proved its request.
    pub fn application(&self) -> Option<&str> {
        self.hint
            .as_ref()
            .and(self.application.as_ref())
            .map(|application| application.name.as_str())
    }

    /// The name of the application to which the browser returns, if the application did not prove its request.
    pub fn returns_to(&self) -> Option<&str> {
        let unproven = self.hint.is_none() && self.redirect.is_some();
        self.application
            .as_ref()
            .filter(|_| unproven)
            .map(|application| application.name.as_str())
    }

    /// The address to which the browser goes afterwards, with the application's `state`.
    pub fn continuation(&self) -> LogoutContinuation {
        match &self.redirect {
            Some(redirect) => LogoutContinuation::Redirect {
                redirect: redirect.clone(),
                state: self.state.clone(),
            },
            None => LogoutContinuation::Page,
        }
    }

    /// The source that the Content-Security-Policy of a form must name so that the form may end there.
    pub fn form_target(&self) -> Option<String> {
        self.redirect.as_ref()?.form_action_source()
    }
}
