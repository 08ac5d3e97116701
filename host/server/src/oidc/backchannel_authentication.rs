//! The back-channel authentication endpoint (OpenID Client-Initiated Backchannel Authentication Core 1.0 sections 7 and
//! 13). An application asks for a user without a browser. The user's device shows the request, and the application
//! polls the token endpoint for the result, or the server sends it.
//!
//! The responses do not reveal which names exist: each name without access to the application is unknown, with the same
//! queries. A user with access who cannot answer, for example without a device, gets a request that expires.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::backchannel_results;
use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::id_token_hint;
use super::parameters::Parameters;
use crate::domain::approvals::purpose::BackchannelQuestion;
use crate::domain::approvals::request;
use crate::domain::claims::standard_claims;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sign_in::access::account_in;
use crate::domain::{InternalError, Services};
use assent_model::application::{Application, GrantType, SubjectType};
use assent_model::audit::Origin;
use assent_model::backchannel::{BackchannelRequest, BindingMessage};
use assent_model::backchannel_delivery::{BackchannelDelivery, DeliveryMode, NotificationToken};
use assent_model::id::{BackchannelRequestId, UserId};
use assent_model::name::LoginName;
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_model::user::{LifecycleState, User};
use assent_store::RequestOutcome;
use assent_telemetry::SPANS;

/// The bounds of `requested_expiry`, in seconds.
const SHORTEST: u64 = 10;
const LONGEST: u64 = 600;
/// The hints of which a request has one.
const HINTS: [&str; 3] = ["login_hint", "id_token_hint", "login_hint_token"];
/// Parameters that this endpoint does not support, with the reason.
const UNSUPPORTED: [(&str, &str); 4] = [
    (
        "authorization_details",
        "authorization_details are not supported at this endpoint: send them to the authorization endpoint",
    ),
    (
        "login_hint_token",
        "login_hint_token is not supported: send login_hint or id_token_hint",
    ),
    (
        "request",
        "signed requests are not supported at this endpoint: send the parameters in the body",
    ),
    (
        "request_uri",
        "request_uri is not supported at this endpoint: send the parameters in the body",
    ),
];

/// The response to a request (OpenID CIBA Core 1.0 section 7.3).
#[derive(Debug, Serialize)]
pub struct BackchannelResponse {
    auth_req_id: String,
    /// The lifetime, in seconds.
    expires_in: u64,
    /// The shortest time between two polls, in seconds. A client in the mode push does not poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<u64>,
}

/// Accepts a request, and sends it to the devices of its user.
///
/// # Errors
/// [`TokenError`] if a check or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.backchannel_request")]
pub async fn accept(
    services: &Arc<Services>,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    from: Origin,
) -> Result<BackchannelResponse, TokenError> {
    let application = &client.application;
    let settings = &application.settings;
    if !settings.application_type.is_confidential()
        || !settings.grant_types.contains(&GrantType::Ciba)
    {
        return Err(TokenError::UnauthorizedClient);
    }
    let delivery = &settings.backchannel_delivery;
    let is_push = delivery.mode() == DeliveryMode::Push;
    if is_push && !services.settings.oidc.backchannel.push {
        return Err(TokenError::UnauthorizedClient);
    }
    let limit = &services.rate_limits.backchannel_per_client;
    limit
        .count_call(&application.id, services.now())
        .map_err(TokenError::TooMany)?;
    for (name, why) in UNSUPPORTED {
        if parameters.has(name) {
            return Err(TokenError::InvalidRequest(why.to_owned()));
        }
    }
    let scopes = scopes(application, parameters)?;
    let message = parameters.get("binding_message");
    let message = message
        .map(BindingMessage::parse)
        .transpose()
        .map_err(|error| TokenError::InvalidBindingMessage(error.to_string()))?;
    let lifetime = lifetime(services, parameters)?;
    let notification_token = notification_token(delivery, parameters)?;
    let hinted = hinted_user(services, application, parameters).await?;
    let (user, is_open) = served_user(services, application, hinted)
        .await?
        .ok_or(TokenError::UnknownUser)?;
    let now = services.now();
    let id = BackchannelRequestId::new(now, &*services.entropy);
    let token = Token::new(
        prefix::BACKCHANNEL_REQUEST,
        id.as_bytes(),
        &*services.entropy,
    );
    let request = BackchannelRequest {
        id,
        digest: token.digest(),
        application: application.id.clone(),
        user_id: user.id,
        scopes,
        message,
        requested_at: now,
        expires_at: now + lifetime,
        is_claimed: false,
    };
    let delivery = notification_token
        .map(|secret| backchannel_results::new_delivery(services, &request, token.expose(), secret))
        .transpose()
        .map_err(InternalError::from)?;
    let question = BackchannelQuestion {
        request,
        delivery,
        application_name: application.name.clone(),
    };
    let interval = services.settings.oidc.backchannel.interval.get();
    let outcome = request::ask_by_backchannel(services, &question, (&user, is_open), from).await?;
    match outcome {
        RequestOutcome::Prompted(_) | RequestOutcome::NotPrompted => Ok(BackchannelResponse {
            auth_req_id: token.expose().to_owned(),
            expires_in: lifetime.as_secs(),
            interval: (!is_push).then_some(interval.as_secs()),
        }),
        RequestOutcome::TooMany | RequestOutcome::NotOpen => {
            Err(TokenError::TooMany(RateLimitError::within(interval)))
        }
    }
}

/// Returns the requested scopes that the application may have. Others are ignored, as at the authorization endpoint.
fn scopes(application: &Application, parameters: &Parameters) -> Result<Scopes, TokenError> {
    let settings = &application.settings;
    let requested = Scopes::parse_known(parameters.required("scope")?);
    let mut scopes = requested.both(&settings.scopes);
    if !settings.grant_types.contains(&GrantType::RefreshToken) {
        scopes = scopes.without(Scope::OfflineAccess);
    }
    match scopes.has(Scope::OpenId) {
        true => Ok(scopes),
        false => Err(TokenError::InvalidScope("scope must include openid")),
    }
}

/// Returns the token with which the server authenticates itself at the application; `None` if the application polls.
fn notification_token(
    delivery: &BackchannelDelivery,
    parameters: &Parameters,
) -> Result<Option<NotificationToken>, TokenError> {
    if delivery.is_poll() {
        return Ok(None);
    }
    NotificationToken::parse(parameters.required("client_notification_token")?)
        .map(Some)
        .map_err(|error| TokenError::InvalidRequest(error.to_string()))
}

/// Returns the lifetime of a request: `requested_expiry`, or else that of the settings.
fn lifetime(services: &Services, parameters: &Parameters) -> Result<Duration, TokenError> {
    let Some(text) = parameters.get("requested_expiry") else {
        return Ok(services.settings.oidc.backchannel.lifetime.get());
    };
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds| (SHORTEST..=LONGEST).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let expected = format!("requested_expiry must be {SHORTEST} to {LONGEST} seconds");
        TokenError::InvalidRequest(expected)
    })
}

/// Returns the user that the hint of the request names, whether or not the user has access to the application. `None`
/// if there is no such user.
async fn hinted_user(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Option<User>, TokenError> {
    let given = HINTS
        .into_iter()
        .filter(|name| parameters.get(name).is_some());
    if given.count() != 1 {
        let expected = "expected exactly one of login_hint and id_token_hint".to_owned();
        return Err(TokenError::InvalidRequest(expected));
    }
    if let Some(jwt) = parameters.get("id_token_hint") {
        let subject = id_token_hint::subject(services, application, jwt)
            .await
            .map_err(TokenError::InvalidRequest)?;
        return Ok(user_of_subject(services, application, &subject).await?);
    }
    let name = parameters.required("login_hint")?.parse::<LoginName>();
    Ok(match name {
        Ok(name) => services
            .store
            .user_by_login(&name)
            .await
            .map_err(InternalError::from)?,
        Err(_) => None,
    })
}

/// Returns the user with this `sub` for the application. A `sub` that differs by application cannot be computed back,
/// so the user must have signed in to it in an open session.
async fn user_of_subject(
    services: &Services,
    application: &Application,
    subject: &str,
) -> Result<Option<User>, InternalError> {
    let store = &services.store;
    let found = match &application.settings.subject_type {
        SubjectType::Public => store.user_by_subject(subject).await?,
        SubjectType::Pairwise { .. } => {
            match store.user_of_subject(&application.id, subject).await? {
                Some(user) => store.user(user).await?,
                None => None,
            }
        }
    };
    let Some(user) = found else {
        return Ok(None);
    };
    let is_same = standard_claims::subject_of(services, application, &user)? == subject;
    Ok(is_same.then_some(user))
}

/// Returns the user with whether devices receive the request: the user may sign in now, and is below the rate limit.
/// `None` if the user has no access to the application. The queries are the same for any user and for none, so that
/// their time does not reveal which names exist.
async fn served_user(
    services: &Services,
    application: &Application,
    hinted: Option<User>,
) -> Result<Option<(User, bool)>, InternalError> {
    let Some(user) = hinted else {
        let unknown = UserId::new(services.now(), &*services.entropy);
        services.store.access_of(unknown, &application.id).await?;
        return Ok(None);
    };
    let account = account_in(services, &user, &application.id).await?;
    let Some(account) = account.filter(|account| account.gives_access()) else {
        return Ok(None);
    };
    let is_terminated = [user.state, account.state].contains(&LifecycleState::Terminated);
    if is_terminated {
        return Ok(None);
    }
    let limit = &services.rate_limits.backchannel_per_user;
    let is_open = user.state == LifecycleState::Active
        && account.state.is_open()
        && limit.count_call(&user.id, services.now()).is_ok();
    Ok(Some((user, is_open)))
}
