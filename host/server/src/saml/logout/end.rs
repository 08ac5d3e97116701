//! The end of a logout: the report about its applications, and the last step of the browser.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::outgoing::{Outgoing, respond};
use crate::domain::sessions::signed_out_clients::{SignedOutClient, clients_of};
use crate::domain::{InternalError, Services};
use assent_model::logout::ClientLogoutOutcome;
use assent_model::saml::{
    LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, ServiceProvider, SingleLogout,
};
use assent_saml_core::message::Status;

/// The time between two looks for the confirmations of clients.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// How often a response looks for them: for two seconds.
const LOOKS: u32 = 11;

/// The last step of the browser.
#[derive(Debug)]
pub enum LogoutEnd {
    /// A page confirms the sign-out.
    Page(LogoutReport),
    /// The browser goes to this address of an OpenID Connect client, which was checked.
    Redirect(String),
    /// The browser takes the response to the requesting service provider.
    Message(Outgoing),
}

/// What is known of the applications of an ended session, for the browser that held it.
#[derive(Clone, Debug, Default)]
pub struct LogoutReport {
    /// The names of the applications that confirmed the sign-out: service providers, and clients by back channel.
    pub confirmed: Vec<String>,
    /// The names of the clients whose sign-out pages the browser loaded. That is no confirmation.
    pub loaded: Vec<String>,
    /// The names of the applications without a confirmation.
    pub unconfirmed: Vec<String>,
    /// Whether there are others without a confirmation, from sessions that this browser did not hold.
    pub others: bool,
}

impl LogoutReport {
    /// Whether each application confirmed the sign-out.
    pub const fn is_complete(&self) -> bool {
        self.loaded.is_empty() && self.unconfirmed.is_empty() && !self.others
    }
}

/// Returns the report about these applications, for a browser that held these sessions.
pub(super) async fn report(
    services: &Services,
    turns: &[LogoutTurn],
    clients: &[SignedOutClient],
    held: &[&str],
) -> Result<LogoutReport, InternalError> {
    let mut report = LogoutReport::default();
    for turn in turns {
        let has_ended = turn.outcome == Some(LogoutOutcome::Ended);
        if !held.contains(&turn.sid.as_str()) {
            report.others |= !has_ended;
            continue;
        }
        let provider = services.store.service_provider(&turn.application).await?;
        let list = match has_ended {
            true => &mut report.confirmed,
            false => &mut report.unconfirmed,
        };
        list.extend(provider.map(|provider| provider.name.clone()));
    }
    for client in clients {
        if !held.contains(&client.sid.as_str()) {
            report.others |= client.outcome != Some(ClientLogoutOutcome::Notified);
            continue;
        }
        let list = match client.outcome {
            Some(ClientLogoutOutcome::Notified) => &mut report.confirmed,
            Some(ClientLogoutOutcome::Loaded) => &mut report.loaded,
            None => &mut report.unconfirmed,
        };
        list.push(client.application.name.clone());
    }
    Ok(report)
}

/// Whether all other applications of these sessions confirmed the sign-out. Clients count as session participants,
/// because the status must not say more than the page: a loaded frame is no confirmation. Logout tokens are sent after
/// the end of the session, so this waits a moment if only their confirmations are missing.
async fn is_confirmed(
    services: &Services,
    turns: &[LogoutTurn],
    sids: &BTreeSet<&str>,
) -> Result<bool, InternalError> {
    if turns
        .iter()
        .any(|turn| turn.outcome != Some(LogoutOutcome::Ended))
    {
        return Ok(false);
    }
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        let mut clients = clients_of(services, sids.clone()).await?;
        clients.retain(|client| client.outcome != Some(ClientLogoutOutcome::Notified));
        if clients.is_empty() {
            return Ok(true);
        }
        let has_backchannel = |client: &SignedOutClient| {
            let settings = &client.application.settings;
            settings.backchannel_logout.is_some()
        };
        if !clients.iter().all(has_backchannel) {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Returns the end of a logout of these sessions. `report` is for its page.
///
/// The top-level status of a response is about the session here. `PartialLogout` says that another application did not
/// confirm its end (SAML core section 3.7.3.2).
pub(super) async fn logout_end(
    services: &Services,
    continuation: LogoutContinuation,
    turns: &[LogoutTurn],
    sids: &BTreeSet<&str>,
    report: LogoutReport,
) -> Result<LogoutEnd, InternalError> {
    match continuation {
        LogoutContinuation::Page => Ok(LogoutEnd::Page(report)),
        LogoutContinuation::Redirect { redirect, state } => Ok(LogoutEnd::Redirect(match state {
            Some(state) => redirect.with_query(&[("state", &state)]),
            None => redirect.as_str().to_owned(),
        })),
        LogoutContinuation::Respond(answer) => {
            let status = if is_confirmed(services, turns, sids).await? {
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
        None => Ok(LogoutEnd::Page(LogoutReport::default())),
    }
}

/// Returns the provider with its logout address. Returns `None` without an address, and for a disabled provider,
/// because no browser is sent there.
pub(super) fn with_logout(
    provider: &Arc<ServiceProvider>,
) -> Option<(&ServiceProvider, &SingleLogout)> {
    let service = provider.settings.single_logout.as_ref();
    let service = service.filter(|_| provider.settings.enabled)?;
    Some((provider, service))
}
