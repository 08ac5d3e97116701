//! Approval requests: the pending ones, the user's decision, and the end of a cooldown.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::Services;
use crate::domain::approvals::answer::{AnswerContext, AnswerError, DecisionProof};
use crate::domain::approvals::{answer, request};
use crate::domain::devices::device::DeviceInbox;
use crate::domain::devices::{device, passkey};
use crate::http::devices::device_api_error::{DeviceApiError, parse};
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::own_devices::{AccountNotification, notification};
use crate::http::devices::passkeys::PasskeyState;
use crate::http::devices::request_view::{ApprovalRequest, approval_request, other_request};
use crate::http::devices::signed_call::SignedCall;
use crate::http::texts::PageLanguage;
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, AuditId};
use assent_model::statement::Outcome;
use assent_model::user::LifecycleState;

/// The longest time that a call waits for a change, in seconds.
const LONGEST_WAIT: u32 = 30;

/// The state that the app shows, and the time to wait for a change.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PendingQuery {
    /// The time to wait for a change, in seconds; 30 at most.
    #[serde(default)]
    #[param(required = false)]
    wait: u32,
    /// The id of the last of the notifications that the app shows.
    #[param(value_type = String, required = false)]
    last_notification: Option<AuditId>,
    /// The ids of the requests that the app shows, with commas between them.
    #[serde(default)]
    #[param(required = false)]
    shown_requests: String,
}

/// The user of the device.
#[derive(Serialize, ToSchema)]
pub(super) struct UserView {
    /// The user's name.
    name: String,
    /// The user's display name.
    display_name: String,
    state: LifecycleState,
}

/// The pending requests and unread notifications.
#[derive(Serialize, ToSchema)]
pub(super) struct Pending {
    /// The server's time, in seconds since the epoch.
    now: i64,
    #[schema(inline)]
    account: UserView,
    /// The current name of the device that calls.
    device_name: String,
    /// Until then requests with a typed name are held, in seconds since the epoch; `null` without a cooldown.
    #[schema(required)]
    cooldown_until: Option<i64>,
    passkey: PasskeyState,
    /// All pending requests, the oldest first.
    requests: Vec<ApprovalRequest>,
    /// The unread notifications, the oldest first.
    notifications: Vec<AccountNotification>,
}

/// List the pending requests and unread notifications.
///
/// While the pending requests are those in `shown_requests` and no notification follows `last_notification`, the call
/// waits for a change.
#[utoipa::path(get, path = "/requests", operation_id = "requests.list", params(PendingQuery),
    responses((status = 200, description = "The pending requests and unread notifications.", body = Pending)))]
pub(super) async fn list(
    query: Result<Query<PendingQuery>, QueryRejection>,
    PageLanguage(language): PageLanguage,
    call: SignedCall,
) -> Result<Json<Pending>, DeviceApiError> {
    let Query(query) = query.map_err(|_| ErrorCode::InvalidRequest)?;
    let SignedCall {
        services,
        device,
        browser,
        ..
    } = call;
    let patience = query.wait.min(LONGEST_WAIT);
    let shown = query
        .shown_requests
        .split(',')
        .filter_map(|id| id.parse().ok())
        .collect();
    let waiting = device::request(
        &services,
        &device,
        patience,
        &shown,
        query.last_notification,
        language,
    )
    .await?;
    let DeviceInbox {
        user,
        device_name,
        pending,
        notifications,
        cooldown_until,
    } = waiting.ok_or(ErrorCode::DeviceNotEnrolled)?;
    Ok(Json(Pending {
        now: services.now().seconds(),
        account: UserView {
            name: user.name.to_string(),
            display_name: user.display_name().to_owned(),
            state: user.state,
        },
        device_name,
        cooldown_until: cooldown_until.map(Timestamp::seconds),
        passkey: passkey::passkey_status(&services, &device).await?.into(),
        requests: pending
            .iter()
            .map(|(prompt, logo)| approval_request(&services, prompt, logo.as_deref(), browser))
            .collect(),
        notifications: notifications.iter().map(notification).collect(),
    }))
}

/// End the cooldown that a denial or a report began, if there is one. The requests that it holds become pending.
#[utoipa::path(delete, path = "/cooldown", operation_id = "cooldown.lift",
    responses((status = 204, description = "There is no cooldown.")))]
pub(super) async fn lift_cooldown(call: SignedCall) -> Result<StatusCode, DeviceApiError> {
    let SignedCall {
        services,
        device,
        origin,
        ..
    } = call;
    request::lift_cooldown(&services, &device, origin).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The outcome of a decision.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionOutcome {
    pub(crate) outcome: Outcome,
}

/// Approve, deny or report a request.
#[utoipa::path(post, path = "/requests/{id}", operation_id = "requests.decide", request_body = DecisionProof,
    params(("id" = String, Path, description = "The id of the approval request.")),
    responses((status = 200, description = "The outcome.", body = DecisionOutcome)))]
pub(super) async fn decide(
    Path(id): Path<String>,
    PageLanguage(language): PageLanguage,
    call: SignedCall,
) -> Result<Json<DecisionOutcome>, DeviceApiError> {
    let SignedCall {
        services,
        device,
        body,
        origin,
        browser,
    } = call;
    let proof: DecisionProof = parse(&body)?;
    if proof.same_browser && browser.is_none() {
        return Err(ErrorCode::OtherBrowser.into());
    }
    let id: ApprovalId = id.parse().map_err(|_| ErrorCode::RequestNotFound)?;
    let context = AnswerContext {
        origin,
        language,
        browser,
    };
    let decision = answer::answer(&services, &device, id, &proof, context)
        .await
        .map_err(|error| rejected_answer(&services, error))?;
    Ok(Json(DecisionOutcome {
        outcome: decision.outcome(),
    }))
}

fn rejected_answer(services: &Services, error: AnswerError) -> DeviceApiError {
    match error {
        AnswerError::NumberMismatch {
            attempts_left,
            other,
        } => {
            let other = other.map(|other| other_request(services, &other));
            DeviceApiError::number_mismatch(attempts_left, other)
        }
        AnswerError::OtherBrowser => ErrorCode::OtherBrowser.into(),
        AnswerError::BadProof => ErrorCode::InvalidProof.into(),
        AnswerError::PasskeyRequired(options) => DeviceApiError::passkey_required(options),
        AnswerError::PasskeyRefused => ErrorCode::InvalidPasskey.into(),
        AnswerError::PasskeyMissing => ErrorCode::PasskeyMissing.into(),
        AnswerError::AlreadyDecided => ErrorCode::AlreadyDecided.into(),
        AnswerError::Expired => ErrorCode::Expired.into(),
        AnswerError::Unknown => ErrorCode::RequestNotFound.into(),
        AnswerError::Internal(error) => error.into(),
    }
}
