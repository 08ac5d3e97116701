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
use super::backchannel_user::{hinted_user, served_user};
use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use super::requested_details;
use super::requested_details::CheckedDetails;
use super::signed_backchannel_request;
use crate::domain::approvals::purpose::BackchannelQuestion;
use crate::domain::approvals::{request, second_approval};
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::{InternalError, Services};
use assent_model::application::{Application, GrantType};
use assent_model::approval::MatchingNumber;
use assent_model::audit::Origin;
use assent_model::backchannel::{
    BackchannelBinding, BackchannelRequest, BindingMessage, FirstApprover, LongestExpiry,
    SecondApprovers,
};
use assent_model::backchannel_delivery::{BackchannelDelivery, DeliveryMode, NotificationToken};
use assent_model::id::{BackchannelRequestId, GroupId};
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_store::RequestOutcome;
use assent_telemetry::SPANS;

/// The response to a request (OpenID CIBA Core 1.0 section 7.3).
#[derive(Debug, Serialize)]
pub struct BackchannelResponse {
    auth_req_id: String,
    /// The lifetime, in seconds.
    expires_in: u64,
    /// The shortest time between two polls, in seconds. A client in the mode push does not poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<u64>,
    /// The digits that the application shows and the user types, if the server chose them. The member is not part of
    /// the standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    binding_number: Option<String>,
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
    may_ask(services, application)?;
    let parameters =
        signed_backchannel_request::effective(services, application, parameters).await?;
    let parameters = &*parameters;
    if parameters.has("request_uri") {
        return Err(TokenError::InvalidRequest(
            "request_uri is not supported at this endpoint: send request, or the parameters in the body"
                .to_owned(),
        ));
    }
    let scopes = scopes(application, parameters)?;
    let BoundMessage {
        message,
        chosen_number,
    } = bound_message(application, parameters)?;
    let lifetime = lifetime(services, application, parameters)?;
    let delivery = &application.settings.backchannel_delivery;
    let notification_token = notification_token(delivery, parameters)?;
    let checked = requested_details::read(services, application, parameters)
        .await?
        .map_err(|error| TokenError::InvalidAuthorizationDetails(error.to_string()))?;
    let second_group = second_group(application, &checked)?;
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
        details: checked.details,
        message,
        binding: application.settings.backchannel_binding,
        entered_code: None,
        second: second_group.map(|group| SecondApprovers {
            group,
            first: FirstApprover {
                user: user.id,
                account: user.name.to_string(),
            },
        }),
        requested_at: now,
        expires_at: now + lifetime,
        is_claimed: false,
    };
    let result = notification_token
        .map(|secret| backchannel_results::new_delivery(services, &request, token.expose(), secret))
        .transpose()
        .map_err(InternalError::from)?;
    let seconds = second_approval::requests_for(services, &request, &application.name).await?;
    let question = BackchannelQuestion {
        request,
        delivery: result,
        application_name: application.name.clone(),
        chosen_number,
        seconds,
    };
    let interval = services.settings.oidc.backchannel.interval.get();
    let outcome = request::ask_by_backchannel(services, &question, (&user, is_open), from).await;
    if is_open && !matches!(outcome, Ok(RequestOutcome::Prompted(_))) {
        // Only requests that reach the user count. Otherwise one application could use up the limit of all others.
        services
            .rate_limits
            .backchannel_per_user
            .take_back(&user.id);
    }
    let outcome = outcome?;
    match outcome {
        RequestOutcome::Prompted(_) | RequestOutcome::NotPrompted => {}
        RequestOutcome::NumberTaken if chosen_number.is_some() => {
            return Err(TokenError::InvalidBindingMessage(
                "another request of the user has these digits: choose others".to_owned(),
            ));
        }
        RequestOutcome::NumberTaken | RequestOutcome::TooMany | RequestOutcome::NotOpen => {
            return Err(TokenError::TooMany(RateLimitError::within(interval)));
        }
    }
    Ok(BackchannelResponse {
        auth_req_id: token.expose().to_owned(),
        expires_in: lifetime.as_secs(),
        interval: (delivery.mode() != DeliveryMode::Push).then_some(interval.as_secs()),
        binding_number: number_of_server(services, &question).await?,
    })
}

/// Checks that the application may use the endpoint, and counts the call.
fn may_ask(services: &Services, application: &Application) -> Result<(), TokenError> {
    let settings = &application.settings;
    if !settings.application_type.is_confidential()
        || !settings.grant_types.contains(&GrantType::Ciba)
    {
        return Err(TokenError::UnauthorizedClient);
    }
    let is_push = settings.backchannel_delivery.mode() == DeliveryMode::Push;
    if is_push && !services.settings.oidc.backchannel.push {
        return Err(TokenError::UnauthorizedClient);
    }
    let limit = &services.rate_limits.backchannel_per_client;
    limit
        .count_call(&application.id, services.now())
        .map_err(TokenError::TooMany)
}

/// Returns the group of which a member must approve too; `None` if neither the application nor a type of authorization
/// details names one. One member approves all of a request, so there must not be two groups.
fn second_group(
    application: &Application,
    checked: &CheckedDetails,
) -> Result<Option<GroupId>, TokenError> {
    let of_application = application.settings.second_approver_group;
    let mut groups = of_application
        .into_iter()
        .chain(checked.second.iter().map(|demand| demand.group));
    let first = groups.next();
    match groups.all(|group| Some(group) == first) {
        true => Ok(first),
        false => Err(TokenError::InvalidAuthorizationDetails(
            "members of different groups must approve the types (second_approver_group): send a request for each of \
             them"
                .to_owned(),
        )),
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

/// What the user connects with the application: a text to compare, or digits to type.
struct BoundMessage {
    /// The text that the device shows.
    message: Option<BindingMessage>,
    /// The digits that the application shows and the device does not, if the application chose them.
    chosen_number: Option<MatchingNumber>,
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

/// Returns the message of a request. If users type digits, a message of digits is what they type, and the device must
/// not show it.
fn bound_message(
    application: &Application,
    parameters: &Parameters,
) -> Result<BoundMessage, TokenError> {
    let message = parameters
        .get("binding_message")
        .map(BindingMessage::parse)
        .transpose()
        .map_err(|error| TokenError::InvalidBindingMessage(error.to_string()))?;
    let is_typed = application.settings.backchannel_binding == BackchannelBinding::Typed;
    match message {
        Some(message) if is_typed && message.is_number() => {
            let chosen = MatchingNumber::parse(message.as_str()).ok_or_else(|| {
                let expected = "binding_message must have two to four digits, or another text";
                TokenError::InvalidBindingMessage(expected.to_owned())
            })?;
            Ok(BoundMessage {
                message: None,
                chosen_number: Some(chosen),
            })
        }
        message => Ok(BoundMessage {
            message,
            chosen_number: None,
        }),
    }
}

/// Returns the digits that the server chose for a request.
async fn number_of_server(
    services: &Services,
    question: &BackchannelQuestion,
) -> Result<Option<String>, InternalError> {
    let request = &question.request;
    if request.binding != BackchannelBinding::Typed || question.chosen_number.is_some() {
        return Ok(None);
    }
    let approval = services.store.approval_of_backchannel(request.id).await?;
    let number = approval.and_then(|approval| approval.number);
    Ok(number.map(|number| number.to_string()))
}

/// Returns the lifetime of a request: `requested_expiry`, or else that of the settings.
fn lifetime(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Duration, TokenError> {
    let longest = application.settings.backchannel_longest_expiry;
    let Some(text) = parameters.get("requested_expiry") else {
        let usual = services.settings.oidc.backchannel.lifetime.get();
        return Ok(usual.min(Duration::from_secs(longest.seconds().into())));
    };
    let permitted = text
        .parse()
        .ok()
        .and_then(|seconds| longest.permitted(seconds));
    permitted.ok_or_else(|| {
        let (shortest, longest) = (LongestExpiry::SHORTEST, longest.seconds());
        let expected = format!("requested_expiry must be {shortest} to {longest} seconds");
        TokenError::InvalidRequest(expected)
    })
}
