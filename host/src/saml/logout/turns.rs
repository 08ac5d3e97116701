//! The turns of a logout: which service provider is told now, and what follows.

use std::sync::Arc;
use std::time::Duration;

use super::outgoing::{self, Outgoing, respond};
use crate::domain::{Broken, Host};
use crate::id::LogoutId;
use crate::model::saml::{Afterwards, Logout, LogoutAnswer, LogoutOutcome, LogoutTurn, Participation, ServiceProvider};
use crate::saml::message::Status;
use crate::saml::partner::message_id;

/// How long a logout can be gone on with.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// What a logout comes to whose session has ended.
#[derive(Debug)]
pub enum Begun {
    /// Service providers are to be told: the browser goes to the logout's page.
    Telling(LogoutId),
    /// There is nobody to be told.
    Finished(Finished),
}

/// What the browser does at the end.
#[derive(Debug)]
pub enum Finished {
    /// It is shown that the person is signed out.
    Page {
        /// The names of the service providers that could not be told.
        untold: Vec<String>,
    },
    /// It goes to this address of an OpenID Connect client, which was checked.
    Redirect(String),
    /// It brings the service provider that asked its answer.
    Message(Outgoing),
}

/// Begins to tell these service providers that the session has ended.
pub async fn begin(host: &Host, participants: Vec<Participation>, afterwards: Afterwards) -> Result<Begun, Broken> {
    let mut turns = Vec::with_capacity(participants.len());
    for Participation { sid, application, name_id, .. } in participants {
        let provider = host.store.service_provider(&application).await?;
        let takes_part = provider.is_some_and(|provider| provider.settings.single_logout.is_some());
        turns.push(LogoutTurn {
            request: message_id(host),
            application,
            session_index: sid,
            name_id,
            asked_at: None,
            outcome: (!takes_part).then_some(LogoutOutcome::Failed),
        });
    }
    if turns.iter().all(|turn| turn.outcome.is_some()) {
        return Ok(Begun::Finished(finished(host, afterwards, &turns).await?));
    }
    let now = host.now();
    let logout = Logout { id: LogoutId::new(now, &*host.entropy), afterwards, expires_at: now + LIFETIME };
    let id = logout.id;
    host.store.insert_saml_logout(logout, turns, now).await?;
    Ok(Begun::Telling(id))
}

/// How far a logout has come.
#[derive(Debug)]
pub enum View {
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
    Finished(Finished),
    /// There is no such logout, or it is finished.
    Unknown,
}

/// Looks at a logout, and passes over whoever did not answer in time. The time of the one whose turn it is begins when
/// that is seen first.
pub async fn view(host: &Host, id: LogoutId) -> Result<View, Broken> {
    let now = host.now();
    let Some(mut turns) = host.store.saml_logout(id, now).await? else { return Ok(View::Unknown) };
    let of = turns.len();
    for (place, turn) in turns.iter_mut().enumerate() {
        if turn.outcome.is_some() {
            continue;
        }
        let provider = host.store.service_provider(&turn.application).await?;
        let is_late = turn.asked_at.is_some_and(|asked| asked + host.settings.saml.logout() <= now);
        match provider {
            Some(provider) if !is_late => {
                host.store.ask_saml_logout(turn.request.clone(), now).await?;
                let name = provider.name.clone();
                return Ok(View::Telling { name, request: turn.request.clone(), turn: place + 1, of });
            }
            _ => {
                let (request, application) = (turn.request.clone(), turn.application.clone());
                tracing::warn!(%application, "a service provider did not answer a logout in time");
                host.store.settle_saml_logout(request, application, LogoutOutcome::Failed).await?;
                turn.outcome = Some(LogoutOutcome::Failed);
            }
        }
    }
    match host.store.finish_saml_logout(id, now).await? {
        Some(afterwards) => Ok(View::Finished(finished(host, afterwards, &turns).await?)),
        None => Ok(View::Unknown),
    }
}

/// The request to the service provider whose turn it is. `None` if it is not its turn.
pub async fn ask(host: &Host, id: LogoutId, request: &str) -> Result<Option<Outgoing>, Broken> {
    let now = host.now();
    let Some(turns) = host.store.saml_logout(id, now).await? else { return Ok(None) };
    let Some(turn) = turns.iter().find(|turn| turn.outcome.is_none()) else { return Ok(None) };
    if turn.request != request {
        return Ok(None);
    }
    let provider = host.store.service_provider(&turn.application).await?;
    let Some((provider, service)) = provider.as_ref().and_then(with_logout) else { return Ok(None) };
    outgoing::request(host, provider, service, turn).await.map(Some)
}

fn with_logout(provider: &Arc<ServiceProvider>) -> Option<(&ServiceProvider, &crate::model::saml::SingleLogout)> {
    Some((provider, provider.settings.single_logout.as_ref()?))
}

async fn finished(host: &Host, afterwards: Afterwards, turns: &[LogoutTurn]) -> Result<Finished, Broken> {
    let failed = turns.iter().filter(|turn| turn.outcome != Some(LogoutOutcome::Told));
    match afterwards {
        Afterwards::Page => {
            let mut untold = Vec::new();
            for turn in failed {
                let provider = host.store.service_provider(&turn.application).await?;
                untold.extend(provider.map(|provider| provider.name.clone()));
            }
            Ok(Finished::Page { untold })
        }
        Afterwards::Redirect { redirect, state } => Ok(Finished::Redirect(match state {
            Some(state) => redirect.with_query(&[("state", &state)]),
            None => redirect.as_str().to_owned(),
        })),
        Afterwards::Respond(answer) => {
            let status = if failed.count() == 0 { Status::success() } else { Status::partial_logout() };
            answer_with(host, answer, status).await
        }
    }
}

async fn answer_with(host: &Host, answer: LogoutAnswer, status: Status) -> Result<Finished, Broken> {
    match host.store.service_provider(&answer.application).await? {
        Some(provider) => Ok(Finished::Message(respond(host, &provider, answer, status).await?)),
        None => Ok(Finished::Page { untold: Vec::new() }),
    }
}
