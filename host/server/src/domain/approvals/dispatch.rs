//! The delivery of approval requests through the channels, from the outbox.
//!
//! The instance that stored a request sends it at once. A request that a cooldown held is sent by any instance after
//! the cooldown. If the sending instance stops, another one sends the request after the lease expired or was returned.
//! A request may therefore be sent twice. Push messages about one request replace each other on the device.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use crate::domain::approvals::{channel, send};
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage, ApprovalSubject};
use assent_model::id::{ApprovalId, UserId};
use assent_model::login::Login;
use assent_plugin_host::Trust;

/// The interval at which the lease is extended while a request is sent.
const EXTENSION: Duration = Duration::from_secs(2);
/// The largest number of requests of other instances that this instance sends at the same time.
const AT_ONCE: usize = 64;

/// Sends a request that this instance stored, in the background.
pub(super) fn begin(
    services: &Arc<Services>,
    user: UserId,
    approval: Approval,
    login: Option<&Login>,
) {
    let trusted = trusted(&approval, login);
    let id = approval.id;
    let held = Arc::clone(services);
    spawn(services, id, async move {
        send::carry_request(&held, user, &approval, trusted).await
    });
}

/// Returns the kinds of channels that may carry a request.
fn trusted(approval: &Approval, login: Option<&Login>) -> &'static [Trust] {
    match (approval.scanned_by, login) {
        (None, Some(login)) => channel::trusted(&login.request),
        // The user's device began the sign-in, and the user answers there. A vendor's question would name no browser.
        (Some(_), _) | (_, None) => &[Trust::Verified],
    }
}

/// Sends requests with an expired lease: requests that another instance did not send, and requests that a cooldown
/// held.
///
/// # Errors
/// If the database fails.
pub(super) async fn take_over(services: &Arc<Services>) -> Result<(), InternalError> {
    services.store.release_held_requests(services.now()).await?;
    let busy = services.leased_work.leases().dispatches.len();
    let room = AT_ONCE.saturating_sub(busy);
    if room == 0 {
        return Ok(());
    }
    let claimed = services
        .store
        .claim_dispatches(room, services.now())
        .await?;
    for id in claimed {
        tracing::info!(approval = %id, "sending an approval request from the outbox");
        let held = Arc::clone(services);
        spawn(services, id, async move { carry_stored(&held, id).await });
    }
    Ok(())
}

async fn carry_stored(services: &Services, id: ApprovalId) -> Result<(), InternalError> {
    let Some(approval) = services.store.approval(id).await? else {
        return Ok(());
    };
    let (Some(user), ApprovalStage::Requested) =
        (approval.user_id, approval.stage_at(services.now()))
    else {
        return Ok(());
    };
    let login = match approval.subject {
        ApprovalSubject::SignIn(login) => {
            let Some(login) = services.store.login(login, services.now()).await? else {
                return Ok(());
            };
            Some(login)
        }
        ApprovalSubject::ProtectedAction { .. } => None,
    };
    let trusted = trusted(&approval, login.as_ref());
    send::carry_request(services, user, &approval, trusted).await
}

/// Sends a request under its lease, and then removes it from the outbox.
fn spawn(
    services: &Arc<Services>,
    id: ApprovalId,
    carrying: impl Future<Output = Result<(), InternalError>> + Send + 'static,
) {
    let held = Arc::clone(services);
    let sending = async move {
        let services = held;
        let extending = async {
            loop {
                tokio::time::sleep(EXTENSION).await;
                if let Err(error) = services.store.extend_dispatch(id, services.now()).await {
                    tracing::warn!(approval = %id, %error, "lease on an approval request not extended");
                }
            }
        };
        let sent = tokio::select! {
            sent = carrying => sent,
            () = extending => return,
        };
        let ended = match sent {
            Ok(()) => services.store.end_dispatch(id).await.map_err(Into::into),
            // The row remains, so an instance tries again after the lease.
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(approval = %id, %error, "approval request not sent, retrying later");
        }
        services.leased_work.leases().dispatches.remove(&id);
    };
    let mut leases = services.leased_work.leases();
    leases.dispatches.insert(id);
    while leases.senders.try_join_next().is_some() {}
    leases.senders.spawn(sending.in_current_span());
}
