//! The applications that may ask a user without a browser, the requests that they sent, and the user's choices.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use assent_model::application::{GrantType, RegisteredApplication};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::{BackchannelRequestId, Did, UserId};
use assent_model::user::User;
use assent_store::{BackchannelChoice, PastBackchannelRequest, PauseEvents};

/// The largest number of applications that are read.
const MOST: u32 = 200;

/// An application that may ask the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The identifier of the application.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// Whether its requests reach the user's devices.
    pub standing: RequesterStanding,
}

/// Whether the requests of an application reach the devices of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequesterStanding {
    /// They do.
    Permitted,
    /// They do not until this time.
    PausedUntil(Timestamp, PauseReason),
    /// The user stopped them at this time.
    StoppedSince(Timestamp),
}

/// Why an application is paused for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The user denied or reported a request.
    Refused,
    /// The user left several requests without an answer.
    Unanswered,
}

/// Returns the applications that may ask the user, in the order of their names: the enabled ones with the grant type of
/// CIBA to which the user has access.
pub async fn requesters(services: &Services, user: &User) -> Result<Vec<Requester>, InternalError> {
    let store = &services.store;
    let found = store.applications_of(user.id, MOST).await?;
    let choices = store.backchannel_choices_of(user.id).await?;
    let choices: HashMap<Did, BackchannelChoice> = choices
        .into_iter()
        .map(|choice| (choice.application.clone(), choice))
        .collect();
    let pause = services.settings.oidc.backchannel.denial_pause.get();
    let pauses = store
        .backchannel_pauses_of(user.id, services.now() - pause)
        .await?;
    let standing = |id: &Did| match choices.get(id) {
        Some(choice) if choice.is_stopped => RequesterStanding::StoppedSince(choice.chosen_at),
        choice => {
            let chosen_at = choice.map(|choice| choice.chosen_at);
            let found = pauses.get(id);
            found.map_or(RequesterStanding::Permitted, |events| {
                standing_after(events, chosen_at, pause)
            })
        }
    };
    let requesters = found
        .into_iter()
        .filter(may_ask)
        .map(|application| Requester {
            id: application.id().clone(),
            name: application.name().to_owned(),
            standing: standing(application.id()),
        });
    Ok(requesters.collect())
}

/// Returns the standing of an application after these requests. The longest pause counts.
fn standing_after(
    events: &PauseEvents,
    chosen_at: Option<Timestamp>,
    pause: Duration,
) -> RequesterStanding {
    let refused = events.last_refusal(chosen_at);
    let unanswered = events.oldest_unanswered(chosen_at);
    match (refused, unanswered) {
        (Some(refused), unanswered) if unanswered.is_none_or(|oldest| oldest <= refused) => {
            RequesterStanding::PausedUntil(refused + pause, PauseReason::Refused)
        }
        (_, Some(oldest)) => {
            RequesterStanding::PausedUntil(oldest + pause, PauseReason::Unanswered)
        }
        (_, None) => RequesterStanding::Permitted,
    }
}

/// Whether the application may ask users without a browser.
fn may_ask(application: &RegisteredApplication) -> bool {
    let RegisteredApplication::Client(client) = application else {
        return false;
    };
    let settings = &client.settings;
    settings.enabled
        && settings.application_type.is_confidential()
        && settings.grant_types.contains(&GrantType::Ciba)
}

/// Returns up to `limit` requests of applications for the user before `before`, the latest first.
pub async fn past_requests(
    services: &Services,
    user: &User,
    before: Option<BackchannelRequestId>,
    limit: u32,
) -> Result<Vec<PastBackchannelRequest>, InternalError> {
    let store = &services.store;
    Ok(store
        .backchannel_requests_of_user(user.id, before, limit, services.now())
        .await?)
}

/// Stops the requests of an application, or permits them again, which also lifts its pause. Returns
/// `false` if the application may not ask this user.
///
/// The application does not learn of it: its requests are accepted, and expire.
pub async fn choose(
    services: &Arc<Services>,
    user: &User,
    application: &Did,
    is_stopped: bool,
    from: Origin,
) -> Result<bool, InternalError> {
    let requesters = requesters(services, user).await?;
    if !requesters.iter().any(|known| known.id == *application) {
        return Ok(false);
    }
    let event = match is_stopped {
        true => Event::BackchannelStopped,
        false => Event::BackchannelPermitted,
    };
    let by = AuditContext::new(Actor::User(user.id), from);
    let entry = audit::entry(services, event, &by)
        .about(user.id)
        .in_application(application.clone());
    let choice = BackchannelChoice {
        application: application.clone(),
        is_stopped,
        chosen_at: services.now(),
    };
    let changed = services
        .store
        .choose_backchannel(user.id, choice, entry)
        .await?;
    tracing::info!(user = %user.id, application = %application, is_stopped, changed, "back-channel requests chosen");
    Ok(true)
}

/// Returns the end of the pause of all requests, which began with denials or a report.
pub async fn paused_until(
    services: &Services,
    user: UserId,
) -> Result<Option<Timestamp>, InternalError> {
    Ok(services.store.cooldown_until(user, services.now()).await?)
}

/// Ends the pause of all requests, and sends the requests that it held. Returns whether there was a pause.
pub async fn lift_pause(
    services: &Services,
    user: UserId,
    from: Origin,
) -> Result<bool, InternalError> {
    let by = AuditContext::new(Actor::User(user), from);
    let entry = audit::entry(services, Event::CooldownLifted, &by).about(user);
    let lifted = services
        .store
        .lift_cooldown(user, entry, services.now())
        .await?;
    if lifted {
        services.wakeups.send(Wakeup::Carried);
    }
    Ok(lifted)
}
