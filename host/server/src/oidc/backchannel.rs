//! Telling applications that a session ended (OpenID Connect Back-Channel Logout 1.0).
//!
//! What is to be told waits in the database, so it outlives the server, and several hosts share the work. Each attempt
//! is claimed by a lease; a logout token is made anew for each, since it is good for two minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::domain::claims::standard_claims::sid_of;
use crate::domain::operations::metrics::LogoutAttempt;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::Application;
use assent_model::id::{Did, TokenId};
use assent_model::logout::LogoutDelivery;
use assent_plugin_host::egress::EgressError;
use assent_telemetry::ROOT_SPANS;

/// How often the database is looked at without a signal: another instance may have ended a session, or a pause is over.
const LOOK: Duration = Duration::from_secs(3);
/// How many attempts are made at the same moment.
const ATTEMPTS: usize = 256;
/// How many of them one application gets.
const ATTEMPTS_EACH: usize = 32;
/// How long an attempt is this server's: longer than a call may take.
const LEASE: Duration = Duration::from_secs(60);
/// How long a logout token is good, in seconds (section 4 of the specification: at most two minutes).
const LIFETIME: i64 = 120;
/// The member of `events` that makes a token a logout token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AttemptOutcome {
    /// The application knows.
    Done,
    /// There is nobody to tell: the application is gone, or wants it no more.
    Nobody,
    /// The application refused the token (section 2.8): it would refuse another as well.
    Refused(String),
    /// The application is where this server does not call: that stays so until somebody changes it.
    OutOfReach(String),
    /// It may work another time.
    Failed(String),
}

/// What this server is at, and what comes next.
#[derive(Default)]
struct Work {
    /// The attempts.
    under_way: JoinSet<Did>,
    /// How many of them each application has.
    busy: HashMap<Did, usize>,
    /// Whose turn it is. Each application that waits has one turn before any has another, so those that are slow, or
    /// have many logouts waiting, keep nobody waiting for more than a round.
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

/// Tells applications, until the task is dropped. Attempts under way end with it, and are made again after their lease.
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
        // There may be more for the same applications.
        if begun {
            continue;
        }
        tokio::select! {
            () = services.wakeups.received(Wakeup::LoggedOut) => {}
            () = tokio::time::sleep(LOOK) => {}
            Some(ended) = work.under_way.join_next() => match ended {
                Ok(application) => work.release(&application),
                // One that panicked does not say whose it was: once all have ended, nobody is busy.
                Err(_) if work.under_way.is_empty() => work.busy.clear(),
                Err(_) => {}
            },
        }
    }
}

/// Goes on with the round, or begins the next one, as far as there is room. Whether there may be more to do at once.
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
        // Where another instance was quicker there may be more, too.
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

/// How many attempts an application may have before it gets a further one: no more than there are free places. So the
/// last places are for applications that have few attempts or none, and a few slow applications never take all.
const fn most_for_one(under_way: usize) -> usize {
    let free = ATTEMPTS.saturating_sub(under_way);
    if free < ATTEMPTS_EACH {
        free
    } else {
        ATTEMPTS_EACH
    }
}

/// Makes one attempt, and keeps what came of it. The application that was told, or not.
async fn attempt(services: Arc<Services>, delivery: LogoutDelivery) -> Did {
    let LogoutDelivery {
        application,
        sid,
        attempts,
        ..
    } = &delivery;
    let told = tell(&services, &delivery)
        .await
        .unwrap_or_else(|error| AttemptOutcome::Failed(error.to_string()));
    let again = match &told {
        AttemptOutcome::Failed(_) => delivery.again_after(services.now()),
        AttemptOutcome::Done
        | AttemptOutcome::Nobody
        | AttemptOutcome::Refused(_)
        | AttemptOutcome::OutOfReach(_) => None,
    };
    match (&told, again) {
        (AttemptOutcome::Done, _) => {
            tracing::info!(%application, sid, attempts, "logout token delivered");
        }
        (AttemptOutcome::Nobody, _) => {
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
            tracing::warn!(%application, sid, attempts, reason = why, "logout token not delivered within a day, not \
                retried");
        }
    }
    let counted = match (&told, again) {
        (AttemptOutcome::Done | AttemptOutcome::Nobody, _) => LogoutAttempt::Delivered,
        (_, Some(_)) => LogoutAttempt::Repeated,
        (_, None) => LogoutAttempt::GivenUp,
    };
    services.metrics.logouts.count(counted);
    let application = application.clone();
    if let Err(error) = services.store.settle_logout(delivery, again).await {
        tracing::warn!(%application, %error, "outcome of a logout delivery not stored, retrying later");
    }
    application
}

async fn tell(
    services: &Services,
    delivery: &LogoutDelivery,
) -> Result<AttemptOutcome, InternalError> {
    let Some(application) = services.store.application(&delivery.application).await? else {
        return Ok(AttemptOutcome::Nobody);
    };
    let Some(logout) = &application.settings.backchannel_logout else {
        return Ok(AttemptOutcome::Nobody);
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
        // Section 2.8: 200, and 204 from applications whose framework sends that for an empty answer.
        200 | 204 => AttemptOutcome::Done,
        400 => AttemptOutcome::Refused(in_one_line(&answer.body)),
        status => AttemptOutcome::Failed(format!("it answered {status}")),
    })
}

/// What an application says of its refusal, as far as it fits in the log.
fn in_one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}

/// A logout token (section 2.4). It never has a `nonce`, so that it can't pass for an ID token.
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
    let key = services
        .key_ring
        .signer(application.settings.id_token_algorithm, now);
    Ok(key.sign(claims, TokenType::LogoutToken)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attempts of applications that never respond, in rounds as [`begin`] makes them.
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
    fn slow_applications_leave_places_for_others() {
        assert_eq!(never_responding(1), [ATTEMPTS_EACH]);
        assert_eq!(never_responding(4), [ATTEMPTS_EACH; 4]);
        for applications in [8, 20, 100] {
            let attempts = never_responding(applications);
            let under_way: usize = attempts.iter().sum();
            assert!(most_for_one(under_way) > 0, "{applications} took all");
            let (least, most) = (attempts.iter().min(), attempts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{attempts:?}");
        }
    }
}
