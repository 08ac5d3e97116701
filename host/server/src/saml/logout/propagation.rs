//! The turns of a logout: the service provider that is notified now, the frames of the clients, and the following
//! steps.

use std::collections::BTreeSet;
use std::time::Duration;

use super::end::{LogoutEnd, LogoutReport, logout_end, report, with_logout};
use super::outgoing::{self, Outgoing};
use crate::domain::sessions::signed_out_clients::{LogoutFrame, SignedOutClient, clients_of};
use crate::domain::{InternalError, Services};
use crate::saml::peer::message_id;
use assent_model::clock::Timestamp;
use assent_model::id::LogoutId;
use assent_model::login::GivenAnswer;
use assent_model::logout::ClientLogoutOutcome;
use assent_model::saml::{
    Logout, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation, SessionBrowser,
    SessionEnd,
};
use assent_model::secret::Digest;
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
    /// Applications must be notified: the browser goes to the logout's page.
    Notifying(LogoutId),
    /// There is no application to notify.
    Finished(LogoutEnd),
}

/// Begins to notify the applications of an ended session. `browser` is the browser that signed out, and `id` that
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
    let is_finished =
        turns.iter().all(|turn| turn.outcome.is_some()) && ended.frontchannel.is_empty() && !names;
    let now = services.now();
    let begun = id.unwrap_or_else(|| LogoutId::new(now, &*services.entropy));
    let lifetime = match is_finished {
        false => Some(LIFETIME),
        true => id.map(|_| GivenAnswer::REPEATABLE),
    };
    // It is stored before the end is created, which may wait, so that a repeated request finds it.
    if let Some(lifetime) = lifetime {
        let logout = Logout {
            id: begun,
            browsers: ended.browsers.clone(),
            browser,
            continuation: continuation.clone(),
            frames_until: None,
            expires_at: now + lifetime,
        };
        services
            .store
            .insert_saml_logout(logout, turns.clone(), now)
            .await?;
    }
    if !is_finished {
        return Ok(LogoutStart::Notifying(begun));
    }
    let (sids, report) = (sids_of(&ended.browsers), LogoutReport::default());
    let end = logout_end(services, continuation, &turns, &sids, report).await?;
    Ok(LogoutStart::Finished(end))
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
    /// All service providers had their turn. The browser loads the sign-out pages of the clients now.
    Frames {
        /// The frames.
        frames: Vec<LogoutFrame>,
        /// What is known of the other applications.
        report: LogoutReport,
    },
    /// All applications had their turn.
    Finished(LogoutEnd),
    /// The logout does not exist, or is finished.
    Unknown,
}

/// Returns the state of a logout for a browser with these cookies, and skips service providers that did not respond in
/// time. The time of a service provider begins when a browser first loads its turn. `loaded` has the keys of the
/// frames that the browser has loaded, if it reports the end of the frames.
///
/// Only the browser that held a session notifies the other service providers of its end, and sees their names. If
/// another browser comes first, for example because a service provider sends the request itself, no notice is sent. If
/// another browser comes later, it sees nothing. The page at the end names only applications of sessions that the
/// browser held.
pub async fn view(
    services: &Services,
    id: LogoutId,
    cookies: &[Digest],
    loaded: Option<&BTreeSet<String>>,
) -> Result<LogoutView, InternalError> {
    let now = services.now();
    let Some((logout, mut turns)) = services.store.saml_logout(id, now).await? else {
        return Ok(LogoutView::Unknown);
    };
    let held = sessions_held(&logout, cookies);
    let has_begun =
        logout.frames_until.is_some() || turns.iter().any(|turn| turn.requested_at.is_some());
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
                    return Box::pin(view(services, id, cookies, loaded)).await;
                }
                turn.outcome = Some(LogoutOutcome::Failed);
            }
        }
    }
    let sids = sids_of(&logout.browsers);
    let mut clients = clients_of(services, sids.clone()).await?;
    let frames = open_frames(services, &logout, &mut clients, &held, loaded).await?;
    if !frames.is_empty() {
        // The page lists the framed clients separately.
        clients.retain(|client| {
            let key = client.key();
            frames.iter().all(|frame| frame.key != key)
        });
        let report = report(services, &turns, &clients, &held).await?;
        return Ok(LogoutView::Frames { frames, report });
    }
    // The end is created before it is claimed, so that no failure can come between the two.
    let report = report(services, &turns, &clients, &held).await?;
    let finished = logout_end(services, logout.continuation.clone(), &turns, &sids, report).await?;
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

/// Returns the frames that a browser with these sessions must load now. Their time begins when it first loads the page
/// with them. It ends with the browser's report, whose result is also set in `clients`. The report of a browser whose
/// time has expired counts, too, because its clock may be behind.
async fn open_frames(
    services: &Services,
    logout: &Logout,
    clients: &mut [SignedOutClient],
    held: &[&str],
    loaded: Option<&BTreeSet<String>>,
) -> Result<Vec<LogoutFrame>, InternalError> {
    let now: Timestamp = services.now();
    let is_over = |until| until == Logout::REPORTED || (until <= now && loaded.is_none());
    if logout.frames_until.is_some_and(is_over) {
        return Ok(Vec::new());
    }
    let (mut frames, mut reported) = (Vec::new(), Vec::new());
    for client in clients
        .iter_mut()
        .filter(|client| held.contains(&client.sid.as_str()))
    {
        let Some(frame) = client.frame(services)? else {
            continue;
        };
        if loaded.is_some_and(|loaded| loaded.contains(&frame.key)) {
            client.outcome = client.outcome.or(Some(ClientLogoutOutcome::Loaded));
            reported.push((client.sid.clone(), frame.application.clone()));
        }
        frames.push(frame);
    }
    if frames.is_empty() {
        return Ok(frames);
    }
    if loaded.is_some() && logout.frames_until.is_some() {
        services
            .store
            .settle_logout_frames(logout.id, reported)
            .await?;
        return Ok(Vec::new());
    }
    let until = now + services.settings.saml.logout_timeout.get();
    services.store.start_logout_frames(logout.id, until).await?;
    Ok(frames)
}

fn sids_of(browsers: &[SessionBrowser]) -> BTreeSet<&str> {
    browsers.iter().map(|one| one.sid.as_str()).collect()
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
