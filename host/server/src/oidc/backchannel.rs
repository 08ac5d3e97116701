//! Notifications to applications about ended sessions (OpenID Connect Back-Channel Logout 1.0).
//!
//! Pending deliveries are in the database, so they survive a restart, and several instances share the work. A lease
//! protects each attempt. Each attempt has a new logout token, because a token is valid for two minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::domain::claims::standard_claims::sid_of;
use crate::domain::keys::signing_keys;
use crate::domain::operations::telemetry::metrics::LogoutAttempt;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::Application;
use assent_model::id::{Did, TokenId};
use assent_model::logout::{LogoutDelivery, LogoutSettlement};
use assent_plugin_host::egress::EgressError;
use assent_telemetry::ROOT_SPANS;

/// The interval between queries of the database without a wake-up: another instance may have ended a session, or a
/// backoff has expired.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// The maximum number of simultaneous attempts.
const ATTEMPTS: usize = 256;
/// The maximum number of simultaneous attempts for one application.
const ATTEMPTS_EACH: usize = 32;
/// The lease of an attempt. It is longer than the timeout of a call.
const LEASE: Duration = Duration::from_secs(60);
/// The lifetime of a logout token, in seconds (section 4 of the specification: at most two minutes).
const LIFETIME: i64 = 120;
/// The member of `events` that identifies a logout token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AttemptOutcome {
    /// The application accepted the logout token.
    Done,
    /// There is no recipient: the application was deleted, or no longer has a logout URI.
    NoReceiver,
    /// The application rejected the token (section 2.8). It would reject another token as well.
    Refused(String),
    /// The egress rules forbid the address. This stays so until an operator or administrator changes it.
    OutOfReach(String),
    /// A retry may succeed.
    Failed(String),
}

/// The attempts of this instance, and the order of the next ones.
#[derive(Default)]
struct Work {
    /// The current attempts.
    under_way: JoinSet<Did>,
    /// The number of current attempts for each application.
    busy: HashMap<Did, usize>,
    /// The order of the next attempts. Each waiting application has one turn before any other has a second one. So
    /// applications that are slow, or have many pending logouts, delay others for one round at most.
    turns: VecDeque<Did>,
}

impl Work {
    fn release(&mut self, application: &Did) {
        if let Some(count) = self.busy.get_mut(application) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.busy.remove(application);
            }
        }
    }
}

/// Delivers logout tokens, until the task is dropped. Attempts in progress end with it, and are retried after their
/// lease.
pub async fn deliver(services: Arc<Services>) {
    let mut work = Work::default();
    loop {
        let begun = match begin(&services, &mut work).await {
            Ok(begun) => begun,
            Err(error) => {
                tracing::warn!(%error, "due logout deliveries not read");
                false
            }
        };
        // More deliveries may be due for the same applications.
        if begun {
            continue;
        }
        tokio::select! {
            () = services.wakeups.received(Wakeup::LoggedOut) => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            Some(ended) = work.under_way.join_next() => match ended {
                Ok(application) => work.release(&application),
                // A panic does not name its application. After all attempts have ended, no application has one.
                Err(_) if work.under_way.is_empty() => work.busy.clear(),
                Err(_) => {}
            },
        }
    }
}

/// Continues the round, or begins the next one, as far as there is capacity. Returns whether more work may be possible
/// at once.
async fn begin(services: &Arc<Services>, work: &mut Work) -> Result<bool, InternalError> {
    if work.under_way.len() >= ATTEMPTS {
        return Ok(false);
    }
    if work.turns.is_empty() {
        work.turns = services.store.due_logouts(services.now()).await?.into();
    }
    let mut begun = false;
    while work.under_way.len() < ATTEMPTS {
        let Some(application) = work.turns.pop_front() else {
            break;
        };
        let count = work.busy.get(&application).copied().unwrap_or_default();
        if count >= most_for_one(work.under_way.len()) {
            continue;
        }
        // If another instance was faster, more work may be possible, too.
        begun = true;
        let Some(delivery) = services
            .store
            .claim_logout(&application, LEASE, services.now())
            .await?
        else {
            continue;
        };
        work.busy.insert(application, count + 1);
        let sampler = &services.span_sampler;
        let span =
            sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "logout.delivery"));
        let attempt = attempt(Arc::clone(services), delivery).instrument(span);
        work.under_way.spawn(attempt);
    }
    Ok(begun)
}

/// The number of attempts up to which an application may have a further one. It is at most the number of free places.
/// So the last places are for applications with few attempts or none, and a few slow applications can never take all.
const fn most_for_one(under_way: usize) -> usize {
    let free = ATTEMPTS.saturating_sub(under_way);
    if free < ATTEMPTS_EACH {
        free
    } else {
        ATTEMPTS_EACH
    }
}

/// Makes one attempt, and stores its outcome. Returns the application.
async fn attempt(services: Arc<Services>, delivery: LogoutDelivery) -> Did {
    let LogoutDelivery {
        application,
        sid,
        attempts,
        ..
    } = &delivery;
    let outcome = send_logout_token(&services, &delivery)
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
    let (counted, settlement) = match (&outcome, again) {
        (AttemptOutcome::Done, _) => (LogoutAttempt::Delivered, LogoutSettlement::Delivered),
        (AttemptOutcome::NoReceiver, _) => (LogoutAttempt::Delivered, LogoutSettlement::Abandoned),
        (_, Some(again)) => (LogoutAttempt::Repeated, LogoutSettlement::RetryAt(again)),
        (_, None) => (LogoutAttempt::GivenUp, LogoutSettlement::Abandoned),
    };
    services.metrics.logouts.count(counted);
    let application = application.clone();
    if let Err(error) = services.store.settle_logout(delivery, settlement).await {
        tracing::warn!(%application, %error, "outcome of a logout delivery not stored, retrying later");
    }
    application
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
    let answer = match services
        .egress
        .post_form(&logout.uri, &[("logout_token", &token)])
        .await
    {
        Ok(answer) => answer,
        Err(EgressError::Refused(why)) => return Ok(AttemptOutcome::OutOfReach(why)),
        Err(failure) => return Ok(AttemptOutcome::Failed(failure.to_string())),
    };
    Ok(match answer.status {
        // Section 2.8 requires 200. Some frameworks send 204 for an empty response, so that is a success, too.
        200 | 204 => AttemptOutcome::Done,
        400 => AttemptOutcome::Refused(in_one_line(&answer.body)),
        status => AttemptOutcome::Failed(format!("it answered {status}")),
    })
}

/// Returns the application's text about a rejection, truncated for the log.
fn in_one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The attempts of applications that never respond, in the rounds of [`begin`].
    fn never_responding(applications: usize) -> Vec<usize> {
        let mut attempts = vec![0; applications];
        loop {
            let before = attempts.clone();
            for application in 0..applications {
                let under_way = attempts.iter().sum();
                if under_way < ATTEMPTS && attempts[application] < most_for_one(under_way) {
                    attempts[application] += 1;
                }
            }
            if before == attempts {
                return attempts;
            }
        }
    }

    #[test]
    fn slow_applications_leave_slots_for_others() {
        assert_eq!(never_responding(1), [ATTEMPTS_EACH]);
        assert_eq!(never_responding(4), [ATTEMPTS_EACH; 4]);
        for applications in [8, 20, 100] {
            let attempts = never_responding(applications);
            let under_way: usize = attempts.iter().sum();
            assert!(
                most_for_one(under_way) > 0,
                "{applications} applications used all slots"
            );
            let (least, most) = (attempts.iter().min(), attempts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{attempts:?}");
        }
    }
}
