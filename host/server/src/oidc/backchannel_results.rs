//! The results of back-channel requests that the server sends to applications (OpenID CIBA Core 1.0 sections 10.2, 10.3
//! and 12): a notification in the mode ping, and the tokens or the error in the mode push.
//!
//! The row of a delivery has the `auth_req_id` and the notification token, sealed for the request, because the database
//! has only the digest of the `auth_req_id` elsewhere. The row is deleted after the delivery. The address and the mode
//! are those of the application at the time of the delivery.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::Span;
use zeroize::Zeroizing;

use super::client_auth::AuthenticatedClient;
use super::deliveries;
use super::deliveries::{AttemptOutcome, Outbox, in_one_line};
use super::error::TokenError;
use super::grant::ciba;
use super::grant::ciba::TokenRecipient;
use super::grant::new_tokens::TokenResponse;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use crate::keys::KeyError;
use assent_model::application::Application;
use assent_model::approval::Approval;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::backchannel::BackchannelRequest;
use assent_model::backchannel_delivery::{
    BackchannelDelivery, DeliveryMode, NewResultDelivery, NotificationToken, ResultDelivery,
};
use assent_model::clock::Timestamp;
use assent_model::id::{BackchannelRequestId, Did};
use assent_model::outbox::DeliverySettlement;
use assent_store::StoreError;
use assent_telemetry::ROOT_SPANS;

/// The lease of an attempt. It is longer than the timeout of a call. A request may be valid for seconds only.
const LEASE: Duration = Duration::from_secs(30);

/// What a delivery needs beside the row.
#[derive(Serialize, Deserialize)]
struct DeliverySecrets {
    auth_req_id: String,
    client_notification_token: NotificationToken,
}

/// Returns the purpose for which the secrets are sealed, so that those of one request cannot replace those of another.
fn purpose(request: BackchannelRequestId) -> String {
    format!("backchannel delivery {request}")
}

/// Returns the row of the delivery of a new request.
///
/// # Errors
/// If the sealing key fails.
pub(super) fn new_delivery(
    services: &Services,
    request: &BackchannelRequest,
    auth_req_id: &str,
    client_notification_token: NotificationToken,
) -> Result<NewResultDelivery, KeyError> {
    let secrets = DeliverySecrets {
        auth_req_id: auth_req_id.to_owned(),
        client_notification_token,
    };
    let text = Zeroizing::new(json!(secrets).to_string());
    Ok(NewResultDelivery {
        sealed: services.seal(&purpose(request.id), text.as_bytes())?,
        // A client that polls learns of the result as long.
        give_up_at: request.expires_at + ciba::LATE,
    })
}

/// The outbox of results.
struct Results;

impl Outbox for Results {
    type Delivery = ResultDelivery;
    const NAME: &'static str = "backchannel_results";
    const WAKEUP: Wakeup = Wakeup::BackchannelDecided;

    async fn due(services: &Services) -> Result<Vec<Did>, StoreError> {
        services.store.due_results(services.now()).await
    }

    async fn claim(
        services: &Services,
        application: &Did,
    ) -> Result<Option<ResultDelivery>, StoreError> {
        let now = services.now();
        services.store.claim_result(application, LEASE, now).await
    }

    async fn attempt(services: Arc<Services>, delivery: ResultDelivery) {
        Box::pin(attempt(&services, delivery)).await;
    }

    fn span(services: &Services) -> Span {
        let sampler = &services.span_sampler;
        sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "backchannel.delivery"))
    }
}

/// Delivers results, until the task is dropped. Attempts in progress end with it, and are retried after their lease.
pub async fn deliver(services: Arc<Services>) {
    deliveries::run::<Results>(services).await;
}

/// The outcome of an attempt, or the time at which the result is due.
enum ResultOutcome {
    Attempted(AttemptOutcome),
    /// The request is pending: the row was due because clocks differ.
    DueAt(Timestamp),
}

impl From<AttemptOutcome> for ResultOutcome {
    fn from(outcome: AttemptOutcome) -> Self {
        Self::Attempted(outcome)
    }
}

/// Makes one attempt, and stores its outcome.
async fn attempt(services: &Services, delivery: ResultDelivery) {
    let ResultDelivery {
        request,
        application,
        attempts,
        ..
    } = &delivery;
    let outcome = send_result(services, &delivery).await;
    let outcome = outcome.unwrap_or_else(|error| AttemptOutcome::Failed(error.to_string()).into());
    let settlement = match &outcome {
        ResultOutcome::DueAt(at) => DeliverySettlement::RetryAt(*at),
        ResultOutcome::Attempted(outcome) => {
            let again = match outcome {
                AttemptOutcome::Failed(_) => delivery.again_after(services.now()),
                _ => None,
            };
            match (outcome, again) {
                (AttemptOutcome::Done, _) => {
                    tracing::info!(%application, %request, attempts, "back-channel result delivered");
                }
                (AttemptOutcome::NoReceiver, _) => {
                    tracing::debug!(%application, %request, "back-channel result not needed any more");
                }
                (AttemptOutcome::Refused(why), _) => {
                    tracing::warn!(
                        %application, %request, reason = why,
                        "back-channel result rejected by the application, not retried"
                    );
                }
                (AttemptOutcome::OutOfReach(why), _) => {
                    tracing::warn!(
                        %application, %request, reason = why,
                        "back-channel result not sent: [egress] forbids the \
                         backchannel_client_notification_endpoint, not retried"
                    );
                }
                (AttemptOutcome::Failed(why), Some(_)) => {
                    tracing::info!(
                        %application, %request, attempts, reason = why,
                        "back-channel result not delivered, retrying later"
                    );
                }
                (AttemptOutcome::Failed(why), None) => {
                    tracing::warn!(
                        %application, %request, attempts, reason = why,
                        "back-channel result not delivered until its expiry, not retried"
                    );
                }
            }
            let (counted, settlement) = outcome.settlement(again);
            services.metrics.results.count(counted);
            settlement
        }
    };
    let entry = match &outcome {
        ResultOutcome::Attempted(outcome) => abandonment(services, &delivery, outcome, settlement),
        ResultOutcome::DueAt(_) => None,
    };
    let application = application.clone();
    let settled = services.store.settle_result(delivery, settlement, entry);
    if let Err(error) = settled.await {
        tracing::warn!(%application, %error, "outcome of a back-channel result not stored, retrying later");
    }
}

/// Returns the audit entry about a result that the application does not receive.
fn abandonment(
    services: &Services,
    delivery: &ResultDelivery,
    outcome: &AttemptOutcome,
    settlement: DeliverySettlement,
) -> Option<Entry> {
    let why = match outcome {
        AttemptOutcome::Done | AttemptOutcome::NoReceiver => return None,
        AttemptOutcome::Refused(_) => "rejected",
        AttemptOutcome::OutOfReach(_) => "forbidden",
        AttemptOutcome::Failed(_) => "failed",
    };
    (settlement == DeliverySettlement::Abandoned).then(|| {
        let event = Event::BackchannelResultAbandoned;
        audit::entry(services, event, &AuditContext::SERVER)
            .in_application(delivery.application.clone())
            .with("backchannel_request", delivery.request.to_string())
            .with("attempts", i64::from(delivery.attempts))
            .with("outcome", why)
    })
}

async fn send_result(
    services: &Services,
    delivery: &ResultDelivery,
) -> Result<ResultOutcome, InternalError> {
    let store = &services.store;
    let application = store.application(&delivery.application).await?;
    let Some(application) = application.filter(|application| application.settings.enabled) else {
        return Ok(AttemptOutcome::NoReceiver.into());
    };
    let Some(request) = store.backchannel_request(delivery.request).await? else {
        return Ok(AttemptOutcome::NoReceiver.into());
    };
    let Some(approval) = store.approval_of_request(&request).await? else {
        return Ok(AttemptOutcome::NoReceiver.into());
    };
    // The application has the result already, or withdrew the request.
    if request.is_claimed && delivery.family.is_none() {
        return Ok(AttemptOutcome::NoReceiver.into());
    }
    let now = services.now();
    if approval.stage_at(now).is_waiting() {
        return Ok(ResultOutcome::DueAt(request.expires_at));
    }
    if now > delivery.give_up_at {
        let why = "no attempt was possible before".to_owned();
        return Ok(AttemptOutcome::Failed(why).into());
    }
    let (endpoint, mode) = match &application.settings.backchannel_delivery {
        BackchannelDelivery::Poll => return Ok(AttemptOutcome::NoReceiver.into()),
        BackchannelDelivery::Ping(endpoint) => (endpoint.clone(), DeliveryMode::Ping),
        BackchannelDelivery::Push(endpoint) => (endpoint.clone(), DeliveryMode::Push),
    };
    let opened = services
        .sealing_keys
        .open(&purpose(delivery.request), &delivery.sealed)?;
    let secrets: DeliverySecrets =
        serde_json::from_slice(&opened).map_err(|_| InternalError::from(KeyError::NotOpened))?;
    let auth_req_id = &*secrets.auth_req_id;
    let document = match mode {
        DeliveryMode::Push => {
            let pushed = Pushed {
                application,
                request: &request,
                approval: &approval,
                delivery,
            };
            match Box::pin(pushed.document(services, auth_req_id)).await? {
                Ok(document) => document,
                Err(outcome) => return Ok(outcome.into()),
            }
        }
        DeliveryMode::Ping | DeliveryMode::Poll => json!({"auth_req_id": auth_req_id}),
    };
    let document = Zeroizing::new(document.to_string());
    let token = secrets.client_notification_token.expose();
    let sent = services
        .egress
        .post_json(&endpoint, token, document.to_string())
        .await;
    let answer = match AttemptOutcome::response_of(sent) {
        Ok(answer) => answer,
        Err(outcome) => return Ok(outcome.into()),
    };
    Ok(match answer.status {
        // Sections 10.2 and 10.3: 204, or 200, whose body is ignored.
        200 | 204 => AttemptOutcome::Done,
        // The application is overloaded, or not ready.
        408 | 425 | 429 | 500..=599 => {
            AttemptOutcome::Failed(format!("it answered {}", answer.status))
        }
        // A redirect is not followed. A token that it rejected once it would reject again.
        status => AttemptOutcome::Refused(format!(
            "it answered {status}: {}",
            in_one_line(&answer.body)
        )),
    }
    .into())
}

/// A result that is pushed.
struct Pushed<'a> {
    application: Arc<Application>,
    request: &'a BackchannelRequest,
    approval: &'a Approval,
    delivery: &'a ResultDelivery,
}

impl Pushed<'_> {
    /// Returns the tokens (section 10.3.1), or the error (section 12). The first attempt claims the request and begins
    /// the grant, and others issue tokens of the same grant. So the application receives one grant, however often the
    /// server sends it.
    async fn document(
        self,
        services: &Services,
        auth_req_id: &str,
    ) -> Result<Result<Value, AttemptOutcome>, InternalError> {
        match self.tokens(services, auth_req_id).await {
            Ok(Some(tokens)) => {
                let mut document = json!(tokens);
                if let Some(members) = document.as_object_mut() {
                    members.insert("auth_req_id".to_owned(), json!(auth_req_id));
                }
                Ok(Ok(document))
            }
            Ok(None) => Ok(Err(AttemptOutcome::Done)),
            Err(denied @ (TokenError::AccessDenied(_) | TokenError::ExpiredToken)) => {
                let (code, description) = (denied.code(), denied.to_string());
                Ok(Ok(json!({
                    "auth_req_id": auth_req_id, "error": code, "error_description": description,
                })))
            }
            Err(TokenError::UnauthorizedClient) => Ok(Err(AttemptOutcome::Refused(
                "the application or this server does not permit pushed tokens any more".to_owned(),
            ))),
            Err(TokenError::Internal(error)) => Err(error),
            Err(other) => Ok(Err(AttemptOutcome::Failed(other.to_string()))),
        }
    }

    /// Returns the tokens; `None` if the application has used them.
    async fn tokens(
        self,
        services: &Services,
        auth_req_id: &str,
    ) -> Result<Option<TokenResponse>, TokenError> {
        let authentication = ciba::decision(self.request, self.approval, services.now())?;
        let client = AuthenticatedClient {
            application: self.application,
            certificate: None,
            proof: None,
            epoch: None,
        };
        // Settings may have changed since the request.
        if !services.settings.oidc.backchannel.push || client.check_possession().is_err() {
            return Err(TokenError::UnauthorizedClient);
        }
        if let Some(family) = self.delivery.family {
            let approved = (self.request, self.approval.id);
            return ciba::issue_again(services, &client, approved, family, auth_req_id).await;
        }
        let approved = (self.approval.id, authentication);
        let recipient = TokenRecipient::Push(auth_req_id);
        ciba::grant(services, &client, self.request, approved, recipient)
            .await
            .map(Some)
    }
}
