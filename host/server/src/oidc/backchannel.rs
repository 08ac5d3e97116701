//! Notifications to applications about ended sessions (OpenID Connect Back-Channel Logout 1.0).
//!
//! Each attempt has a new logout token, because a token is valid for two minutes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tracing::Span;

use super::deliveries;
use super::deliveries::{AttemptOutcome, Outbox, in_one_line};
use crate::domain::claims::standard_claims::sid_of;
use crate::domain::keys::signing_keys;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::Application;
use assent_model::id::{Did, TokenId};
use assent_model::logout::LogoutDelivery;
use assent_store::StoreError;
use assent_telemetry::ROOT_SPANS;

/// The lease of an attempt. It is longer than the timeout of a call.
const LEASE: Duration = Duration::from_secs(60);
/// The lifetime of a logout token, in seconds (section 4 of the specification: at most two minutes).
const LIFETIME: i64 = 120;
/// The member of `events` that identifies a logout token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The outbox of logout tokens.
struct Logouts;

impl Outbox for Logouts {
    type Delivery = LogoutDelivery;
    const NAME: &'static str = "logouts";
    const WAKEUP: Wakeup = Wakeup::LoggedOut;

    async fn due(services: &Services) -> Result<Vec<Did>, StoreError> {
        services.store.due_logouts(services.now()).await
    }

    async fn claim(
        services: &Services,
        application: &Did,
    ) -> Result<Option<LogoutDelivery>, StoreError> {
        let now = services.now();
        services.store.claim_logout(application, LEASE, now).await
    }

    async fn attempt(services: Arc<Services>, delivery: LogoutDelivery) {
        attempt(&services, delivery).await;
    }

    fn span(services: &Services) -> Span {
        let sampler = &services.span_sampler;
        sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "logout.delivery"))
    }
}

/// Delivers logout tokens, until the task is dropped. Attempts in progress end with it, and are retried after their
/// lease.
pub async fn deliver(services: Arc<Services>) {
    deliveries::run::<Logouts>(services).await;
}

/// Makes one attempt, and stores its outcome.
async fn attempt(services: &Services, delivery: LogoutDelivery) {
    let LogoutDelivery {
        application,
        sid,
        attempts,
        ..
    } = &delivery;
    let outcome = send_logout_token(services, &delivery)
        .await
        .unwrap_or_else(|error| AttemptOutcome::Failed(error.to_string()));
    let again = match &outcome {
        AttemptOutcome::Failed(_) => delivery.again_after(services.now()),
        AttemptOutcome::Done
        | AttemptOutcome::NoReceiver
        | AttemptOutcome::Refused(_)
        | AttemptOutcome::OutOfReach(_) => None,
    };
    match (&outcome, again) {
        (AttemptOutcome::Done, _) => {
            tracing::info!(%application, sid, attempts, "logout token delivered");
        }
        (AttemptOutcome::NoReceiver, _) => {
            tracing::debug!(%application, sid, "logout token not needed any more");
        }
        (AttemptOutcome::Refused(why), _) => {
            tracing::warn!(%application, sid, reason = why, "logout token rejected by the application, not retried");
        }
        (AttemptOutcome::OutOfReach(why), _) => {
            tracing::warn!(
                %application, sid, reason = why,
                "logout token not sent: [egress] forbids the backchannel_logout_uri, not retried"
            );
        }
        (AttemptOutcome::Failed(why), Some(_)) => {
            tracing::info!(%application, sid, attempts, reason = why, "logout token not delivered, retrying later");
        }
        (AttemptOutcome::Failed(why), None) => {
            tracing::warn!(
                %application, sid, attempts, reason = why,
                "logout token not delivered within a day, not retried"
            );
        }
    }
    let (counted, settlement) = outcome.settlement(again);
    services.metrics.logouts.count(counted);
    let application = application.clone();
    if let Err(error) = services.store.settle_logout(delivery, settlement).await {
        tracing::warn!(%application, %error, "outcome of a logout delivery not stored, retrying later");
    }
}

async fn send_logout_token(
    services: &Services,
    delivery: &LogoutDelivery,
) -> Result<AttemptOutcome, InternalError> {
    let Some(application) = services.store.application(&delivery.application).await? else {
        return Ok(AttemptOutcome::NoReceiver);
    };
    let Some(logout) = &application.settings.backchannel_logout else {
        return Ok(AttemptOutcome::NoReceiver);
    };
    let token = logout_token(services, &application, delivery).await?;
    let form = [("logout_token", &*token)];
    let sent = services.egress.post_form(&logout.uri, &form).await;
    let answer = match AttemptOutcome::response_of(sent) {
        Ok(answer) => answer,
        Err(outcome) => return Ok(outcome),
    };
    Ok(match answer.status {
        // Section 2.8 requires 200. Some frameworks send 204 for an empty response, so that is a success, too.
        200 | 204 => AttemptOutcome::Done,
        400 => AttemptOutcome::Refused(in_one_line(&answer.body)),
        status => AttemptOutcome::Failed(format!("it answered {status}")),
    })
}

/// Creates a logout token (section 2.4). It never has a `nonce`, so that it cannot be used as an ID token.
async fn logout_token(
    services: &Services,
    application: &Application,
    delivery: &LogoutDelivery,
) -> Result<String, InternalError> {
    let now = services.now();
    let claims: Map<String, Value> = [
        ("iss", json!(services.issuer)),
        ("sub", json!(delivery.subject)),
        ("aud", json!(application.id)),
        ("iat", json!(now.seconds())),
        ("exp", json!(now.seconds() + LIFETIME)),
        (
            "jti",
            json!(TokenId::new(now, &*services.entropy).to_string()),
        ),
        ("events", json!({EVENT: {}})),
        ("sid", json!(sid_of(services, application, &delivery.sid)?)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    let key = signing_keys::signer(services, application.settings.id_token_algorithm).await?;
    Ok(key.sign(claims, TokenType::LogoutToken)?)
}
