//! The turns of a logout: which service provider is told now, and what follows.

use std::sync::Arc;
use std::time::Duration;

use super::outgoing::{self, Outgoing, respond};
use crate::domain::{InternalError, Services};
use crate::saml::peer::message_id;
use assent_model::id::LogoutId;
use assent_model::saml::{
    Logout, LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation,
    ServiceProvider, SessionEnd,
};
use assent_model::secret::Digest;
use assent_saml_core::message::Status;
use assent_store::Transition;

/// How long a logout can be gone on with.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// What a logout comes to whose session has ended.
#[derive(Debug)]
pub enum LogoutStart {
    /// Service providers are to be told: the browser goes to the logout's page.
    Telling(LogoutId),
    /// There is nobody to be told.
    Finished(LogoutEnd),
}

/// What the browser does at the end.
#[derive(Debug)]
pub enum LogoutEnd {
    /// It is shown that the person is signed out.
    Page {
        /// The names of the service providers that got no notice of the end of a session that this browser held.
        untold: Vec<String>,
        /// Whether there are others, of sessions that it did not hold.
        others: bool,
    },
    /// It goes to this address of an OpenID Connect client, which was checked.
    Redirect(String),
    /// It brings the service provider that asked its answer.
    Message(Outgoing),
}

/// Begins to tell the service providers that took part in a session which has ended.
pub async fn begin(
    services: &Services,
    ended: SessionEnd,
    continuation: LogoutContinuation,
) -> Result<LogoutStart, InternalError> {
    let mut turns = Vec::with_capacity(ended.participants.len());
    for Participation {
        sid,
        application,
        name_id,
        ..
    } in ended.participants
    {
        let provider = services.store.service_provider(&application).await?;
        let takes_part = provider.as_ref().and_then(with_logout).is_some();
        turns.push(LogoutTurn {
            request: message_id(services),
            application,
            sid,
            name_id,
            requested_at: None,
            outcome: (!takes_part).then_some(LogoutOutcome::Failed),
        });
    }
    // Our own page may name applications, so the browser first comes to where it brings its cookies.
    let names = matches!(continuation, LogoutContinuation::Page) && !turns.is_empty();
    if turns.iter().all(|turn| turn.outcome.is_some()) && !names {
        return Ok(LogoutStart::Finished(
            finished(services, continuation, &turns, &[]).await?,
        ));
    }
    let now = services.now();
    let id = LogoutId::new(now, &*services.entropy);
    let logout = Logout {
        id,
        browsers: ended.browsers,
        continuation,
        expires_at: now + LIFETIME,
    };
    services
        .store
        .insert_saml_logout(logout, turns, now)
        .await?;
    Ok(LogoutStart::Telling(id))
}

/// How far a logout has come.
#[derive(Debug)]
pub enum LogoutView {
    /// This service provider is told now.
    Telling {
        /// Its name.
        name: String,
        /// The `ID` of its request, which stands in the address of the frame.
        request: String,
        /// Its turn, from 1 on.
        turn: usize,
        /// How many turns there are.
        of: usize,
    },
    /// All were told.
    Finished(LogoutEnd),
    /// There is no such logout, or it is finished.
    Unknown,
}

/// Looks at a logout with these cookies, and passes over whoever did not answer in time. The time of the one whose turn
/// it is begins when that is seen first.
///
/// Only the browser that held a session notifies the other service providers of its end, and sees their names. If
/// another comes first, as where a service provider asks by itself, no notice is sent; if it comes later, it is shown
/// nothing. The page at the end names only applications of sessions that the browser held.
pub async fn view(
    services: &Services,
    id: LogoutId,
    cookies: &[Digest],
) -> Result<LogoutView, InternalError> {
    let now = services.now();
    let Some((logout, mut turns)) = services.store.saml_logout(id, now).await? else {
        return Ok(LogoutView::Unknown);
    };
    let held = held(&logout, cookies);
    let has_begun = turns.iter().any(|turn| turn.requested_at.is_some());
    if held.is_empty() && has_begun {
        return Ok(LogoutView::Unknown);
    }
    let of = turns.len();
    for (place, turn) in turns.iter_mut().enumerate() {
        if turn.outcome.is_some() {
            continue;
        }
        let is_late = turn
            .requested_at
            .is_some_and(|asked| asked + services.settings.saml.logout_timeout.get() <= now);
        let provider = services.store.service_provider(&turn.application).await?;
        // It may have been disabled or lost its address since the logout began.
        let provider = provider.filter(|provider| with_logout(provider).is_some());
        match provider.filter(|_| held.contains(&turn.sid.as_str()) && !is_late) {
            Some(provider) => {
                services
                    .store
                    .start_saml_logout_turn(turn.request.clone(), now)
                    .await?;
                let name = provider.name.clone();
                return Ok(LogoutView::Telling {
                    name,
                    request: turn.request.clone(),
                    turn: place + 1,
                    of,
                });
            }
            None => {
                let (request, application) = (turn.request.clone(), turn.application.clone());
                tracing::warn!(%application, "service provider not notified of a logout in time");
                let settled = services
                    .store
                    .settle_saml_logout(request, application, LogoutOutcome::Failed)
                    .await?;
                if settled.is_none() {
                    // Its answer came at this moment, and says itself whether it was told.
                    return Box::pin(view(services, id, cookies)).await;
                }
                turn.outcome = Some(LogoutOutcome::Failed);
            }
        }
    }
    // It is made before the end is claimed, so that nothing can go wrong between the two.
    let finished = finished(services, logout.continuation.clone(), &turns, &held).await?;
    Ok(match services.store.finish_saml_logout(id, now).await? {
        Transition::Done => LogoutView::Finished(finished),
        Transition::NotOpen => LogoutView::Unknown,
    })
}

/// The sessions that a browser with these cookies held.
fn held<'l>(logout: &'l Logout, cookies: &[Digest]) -> Vec<&'l str> {
    let cookies: Vec<String> = cookies.iter().map(|cookie| cookie.to_text()).collect();
    let held = logout
        .browsers
        .iter()
        .filter(|holder| cookies.contains(&holder.cookie));
    held.map(|holder| holder.sid.as_str()).collect()
}

/// The request to the service provider whose turn it is. `None` if it is not its turn, or not this browser's to tell
/// it.
pub async fn ask(
    services: &Services,
    id: LogoutId,
    request: &str,
    cookies: &[Digest],
) -> Result<Option<Outgoing>, InternalError> {
    let Some((logout, turns)) = services.store.saml_logout(id, services.now()).await? else {
        return Ok(None);
    };
    let Some(turn) = turns.iter().find(|turn| turn.outcome.is_none()) else {
        return Ok(None);
    };
    if turn.request != request || !held(&logout, cookies).contains(&turn.sid.as_str()) {
        return Ok(None);
    }
    let provider = services.store.service_provider(&turn.application).await?;
    let Some((provider, service)) = provider.as_ref().and_then(with_logout) else {
        return Ok(None);
    };
    outgoing::request(services, provider, service, turn)
        .await
        .map(Some)
}

/// The provider with its logout address. `None` without one, and for a disabled provider: no browser is sent there.
fn with_logout(
    provider: &Arc<ServiceProvider>,
) -> Option<(&ServiceProvider, &assent_model::saml::SingleLogout)> {
    let service = provider.settings.single_logout.as_ref();
    let service = service.filter(|_| provider.settings.enabled)?;
    Some((provider, service))
}

/// The end, for a browser that held these sessions.
async fn finished(
    services: &Services,
    continuation: LogoutContinuation,
    turns: &[LogoutTurn],
    held: &[&str],
) -> Result<LogoutEnd, InternalError> {
    let mut failed = turns
        .iter()
        .filter(|turn| turn.outcome != Some(LogoutOutcome::Told));
    match continuation {
        LogoutContinuation::Page => {
            let (mut untold, mut others) = (Vec::new(), false);
            for turn in failed {
                if !held.contains(&turn.sid.as_str()) {
                    others = true;
                    continue;
                }
                let provider = services.store.service_provider(&turn.application).await?;
                untold.extend(provider.map(|provider| provider.name.clone()));
            }
            Ok(LogoutEnd::Page { untold, others })
        }
        LogoutContinuation::Redirect { redirect, state } => Ok(LogoutEnd::Redirect(match state {
            Some(state) => redirect.with_query(&[("state", &state)]),
            None => redirect.as_str().to_owned(),
        })),
        LogoutContinuation::Respond(answer) => {
            let status = if failed.next().is_none() {
                Status::success()
            } else {
                Status::partial_logout()
            };
            answer_with(services, answer, status).await
        }
    }
}

pub(super) async fn answer_with(
    services: &Services,
    answer: LogoutAnswer,
    status: Status,
) -> Result<LogoutEnd, InternalError> {
    // An address that was removed meanwhile gets nothing.
    let is_registered = |provider: &Arc<ServiceProvider>| {
        with_logout(provider)
            .is_some_and(|(_, service)| service.responses().checked() == answer.destination)
    };
    match services
        .store
        .service_provider(&answer.application)
        .await?
        .filter(is_registered)
    {
        Some(provider) => Ok(LogoutEnd::Message(
            respond(services, &provider, answer, status).await?,
        )),
        None => Ok(LogoutEnd::Page {
            untold: Vec::new(),
            others: false,
        }),
    }
}
