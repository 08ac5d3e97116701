//! The turns of a logout: the service provider that is notified now, and the following steps.

use std::sync::Arc;
use std::time::Duration;

use super::outgoing::{self, Outgoing, respond};
use crate::domain::{InternalError, Services};
use crate::saml::peer::message_id;
use assent_model::id::LogoutId;
use assent_model::login::GivenAnswer;
use assent_model::saml::{
    Logout, LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation,
    ServiceProvider, SessionEnd,
};
use assent_model::secret::Digest;
use assent_saml_core::message::Status;
use assent_store::Transition;

/// The time between two looks for the logout that a concurrent request stores after it ended the session.
const SOON: Duration = Duration::from_millis(200);
/// How often a repeated request looks for that logout.
const LOOKS: u32 = 4;
/// The lifetime of a logout.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The continuation of a logout after the end of the session.
#[derive(Debug)]
pub enum LogoutStart {
    /// Service providers must be notified: the browser goes to the logout's page.
    Notifying(LogoutId),
    /// There is no service provider to notify.
    Finished(LogoutEnd),
}

/// The last step of the browser.
#[derive(Debug)]
pub enum LogoutEnd {
    /// A page confirms the sign-out.
    Page {
        /// The names of the service providers that were not notified of the end of a session that this browser held.
        not_notified: Vec<String>,
        /// Whether there are others, from sessions that this browser did not hold.
        others: bool,
    },
    /// The browser goes to this address of an OpenID Connect client, which was checked.
    Redirect(String),
    /// The browser takes the response to the requesting service provider.
    Message(Outgoing),
}

/// Begins to notify the service providers of an ended session. `browser` is the browser that signed out, and `id` that
/// of the logout if a repeated request must lead to the same one, which is then stored even if no one is notified.
pub async fn begin(
    services: &Services,
    ended: SessionEnd,
    continuation: LogoutContinuation,
    browser: Option<Digest>,
    id: Option<LogoutId>,
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
    // This server's page may name applications, so the browser must first send a request with its cookies.
    let names = matches!(continuation, LogoutContinuation::Page) && !turns.is_empty();
    let end = match turns.iter().all(|turn| turn.outcome.is_some()) && !names {
        true => Some(logout_end(services, continuation.clone(), &turns, &[]).await?),
        false => None,
    };
    let now = services.now();
    let begun = id.unwrap_or_else(|| LogoutId::new(now, &*services.entropy));
    let lifetime = match &end {
        None => Some(LIFETIME),
        Some(_) => id.map(|_| GivenAnswer::REPEATABLE),
    };
    if let Some(lifetime) = lifetime {
        let logout = Logout {
            id: begun,
            browsers: ended.browsers,
            browser,
            continuation,
            expires_at: now + lifetime,
        };
        services
            .store
            .insert_saml_logout(logout, turns, now)
            .await?;
    }
    Ok(end.map_or(LogoutStart::Notifying(begun), LogoutStart::Finished))
}

/// Whether the logout of a repeated message is stored. Another request may store it at this moment.
pub(super) async fn has_begun(services: &Services, id: LogoutId) -> Result<bool, InternalError> {
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(SOON).await;
        }
        let begun = services.store.saml_logout(id, services.now()).await?;
        if begun.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the logout that this browser has just begun and after which it continues there, for a repeated sign-out. A
/// sign-out for another application is not a repeated one, and continues elsewhere. `waits` is whether another request
/// may begin it at this moment.
pub async fn recent(
    services: &Services,
    browser: Digest,
    continuation: &LogoutContinuation,
    waits: bool,
) -> Result<Option<LogoutId>, InternalError> {
    let since = services.now() - GivenAnswer::REPEATABLE;
    let looks = if waits { LOOKS } else { 1 };
    for look in 0..looks {
        if look > 0 {
            tokio::time::sleep(SOON).await;
        }
        let found = services
            .store
            .recent_saml_logout(browser, continuation, since)
            .await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The state of a logout.
#[derive(Debug)]
pub enum LogoutView {
    /// This service provider is notified now.
    Notifying {
        /// The name of the service provider.
        name: String,
        /// The `ID` of its request, which is part of the frame's address.
        request: String,
        /// The number of its turn, from 1.
        turn: usize,
        /// The number of turns.
        of: usize,
    },
    /// All service providers had their turn.
    Finished(LogoutEnd),
    /// The logout does not exist, or is finished.
    Unknown,
}

/// Returns the state of a logout for a browser with these cookies, and skips service providers that did not respond in
/// time. The time of a service provider begins when a browser first loads its turn.
///
/// Only the browser that held a session notifies the other service providers of its end, and sees their names. If
/// another browser comes first, for example because a service provider sends the request itself, no notice is sent. If
/// another browser comes later, it sees nothing. The page at the end names only applications of sessions that the
/// browser held.
pub async fn view(
    services: &Services,
    id: LogoutId,
    cookies: &[Digest],
) -> Result<LogoutView, InternalError> {
    let now = services.now();
    let Some((logout, mut turns)) = services.store.saml_logout(id, now).await? else {
        return Ok(LogoutView::Unknown);
    };
    let held = sessions_held(&logout, cookies);
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
        // The application may have been disabled or lost its address since the logout began.
        let provider = provider.filter(|provider| with_logout(provider).is_some());
        match provider.filter(|_| held.contains(&turn.sid.as_str()) && !is_late) {
            Some(provider) => {
                services
                    .store
                    .start_saml_logout_turn(turn.request.clone(), now)
                    .await?;
                let name = provider.name.clone();
                return Ok(LogoutView::Notifying {
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
                    // Its response came at the same time, and determines its outcome.
                    return Box::pin(view(services, id, cookies)).await;
                }
                turn.outcome = Some(LogoutOutcome::Failed);
            }
        }
    }
    // The end is created before it is claimed, so that no failure can come between the two.
    let finished = logout_end(services, logout.continuation.clone(), &turns, &held).await?;
    Ok(match services.store.finish_saml_logout(id, now).await? {
        Transition::Done => LogoutView::Finished(finished),
        // Another request of this browser finished it. Its response may have been lost. If no browser held a session,
        // the end names none.
        Transition::NotOpen if !held.is_empty() || logout.browsers.is_empty() => {
            LogoutView::Finished(finished)
        }
        Transition::NotOpen => LogoutView::Unknown,
    })
}

/// Returns the sessions that a browser with these cookies held.
fn sessions_held<'l>(logout: &'l Logout, cookies: &[Digest]) -> Vec<&'l str> {
    let cookies: Vec<String> = cookies.iter().map(|cookie| cookie.to_text()).collect();
    let held = logout
        .browsers
        .iter()
        .filter(|holder| cookies.contains(&holder.cookie));
    held.map(|holder| holder.sid.as_str()).collect()
}

/// Returns the request to the service provider of the current turn. Returns `None` if it is not its turn, or if this
/// browser must not notify it.
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
    if turn.request != request || !sessions_held(&logout, cookies).contains(&turn.sid.as_str()) {
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

/// Returns the provider with its logout address. Returns `None` without an address, and for a disabled provider,
/// because no browser is sent there.
fn with_logout(
    provider: &Arc<ServiceProvider>,
) -> Option<(&ServiceProvider, &assent_model::saml::SingleLogout)> {
    let service = provider.settings.single_logout.as_ref();
    let service = service.filter(|_| provider.settings.enabled)?;
    Some((provider, service))
}

/// Returns the end, for a browser that held these sessions.
async fn logout_end(
    services: &Services,
    continuation: LogoutContinuation,
    turns: &[LogoutTurn],
    held: &[&str],
) -> Result<LogoutEnd, InternalError> {
    let mut failed = turns
        .iter()
        .filter(|turn| turn.outcome != Some(LogoutOutcome::Ended));
    match continuation {
        LogoutContinuation::Page => {
            let (mut not_notified, mut others) = (Vec::new(), false);
            for turn in failed {
                if !held.contains(&turn.sid.as_str()) {
                    others = true;
                    continue;
                }
                let provider = services.store.service_provider(&turn.application).await?;
                not_notified.extend(provider.map(|provider| provider.name.clone()));
            }
            Ok(LogoutEnd::Page {
                not_notified,
                others,
            })
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
        LogoutContinuation::Reject {
            answer,
            code,
            second,
        } => answer_with(services, answer, Status::new(&code, second.as_deref())).await,
    }
}

async fn answer_with(
    services: &Services,
    answer: LogoutAnswer,
    status: Status,
) -> Result<LogoutEnd, InternalError> {
    // An address that was removed in the meantime receives nothing.
    let is_registered = |provider: &Arc<ServiceProvider>| {
        with_logout(provider)
            .is_some_and(|(_, service)| service.responses().to_checked() == answer.destination)
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
            not_notified: Vec::new(),
            others: false,
        }),
    }
}
