//! The approvals of protected actions in the console: each counts for one request, in the session that made it.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::approvals::approval::{self, RequestedAction};
use crate::domain::approvals::prompts::prompt_of;
use crate::domain::protected_actions::{ProtectedAction, Summary};
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::action_approval::{ActionApproval, ActionProposal};
use assent_model::approval::{Approval, ApprovalStage, Approver};
use assent_model::audit::Origin;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{ActionApprovalId, ApprovalId};
use assent_model::language::Language;
use assent_model::login::BrowserContext;
use assent_model::secret::Digest;
use assent_store::{ClaimedAction, RequestOutcome, UserGuard};

type Result<T> = std::result::Result<T, InternalError>;

/// For how long an approval can be used: the console uses it at once.
const FRESH: Duration = Duration::from_secs(120);

/// The console in one browser.
#[derive(Clone, Debug)]
pub struct Console {
    /// The administrator and the session.
    pub signed_in: BrowserSession,
    /// The digest of the browser's cookie.
    pub browser: Digest,
    /// The location and the name of the browser.
    pub context: BrowserContext,
    /// The IP address and the browser, for the audit log.
    pub origin: Origin,
}

/// An action whose approval was requested.
#[derive(Clone, Debug)]
pub struct PendingAction {
    /// The id of the approval.
    pub id: ActionApprovalId,
    /// The number to type on the device.
    pub number: String,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
}

/// The state of an action's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionState {
    /// The devices received the request.
    Pending,
    /// The action can be executed, once.
    Approved,
    /// The administrator denied it.
    Denied,
    /// It expired, was used or cancelled, the number was wrong too often, or the summary changed.
    Ended,
}

/// Requests the approval of an action from the administrator's devices. `digest` is that of the action in its command.
/// `None` if no device can be asked: the one that approved the session was revoked, or received too many requests in
/// the last minute; or the user whom the action concerns was changed at this moment.
///
/// # Errors
/// If the store fails.
pub async fn ask(
    services: &Arc<Services>,
    console: &Console,
    (action, digest): (&ProtectedAction, Digest),
    summary: &Summary,
) -> Result<Option<PendingAction>> {
    let Console {
        signed_in,
        browser,
        context,
        origin,
    } = console;
    let session = signed_in.session.id;
    let Some(device) = services.store.device_of_session(session).await? else {
        return Ok(None);
    };
    let now = services.now();
    if services
        .rate_limits
        .actions_per_device
        .count_call(&device, now)
        .is_err()
    {
        return Ok(None);
    }
    let requested = RequestedAction {
        approval: ActionApproval {
            id: ActionApprovalId::new(now, &*services.entropy),
            actor: signed_in.user.id,
            session,
            browser: *browser,
            action_digest: digest,
            outline: summary.outline(action),
            proposal: Some(ActionProposal {
                action: serde_json::to_string(action)?,
                summary_digest: summary.digest(),
                names: action
                    .login_names()
                    .into_iter()
                    .map(|name| Digest::sha256(name.as_str().as_bytes()))
                    .collect(),
            }),
            requested_at: now,
            expires_at: now + services.settings.lifetimes.approval.get() + FRESH,
            claimed_at: None,
        },
        target: summary.user.as_ref().map(UserGuard::from),
    };
    let id = requested.approval.id;
    let asked = approval::ask_about_action(
        services,
        &requested,
        (device, &signed_in.user),
        context.clone(),
        origin.clone(),
    )
    .await?;
    let RequestOutcome::Prompted(_) = asked else {
        return Ok(None);
    };
    // The store chose the number. A report of another request may have ended this one already.
    let stored = services.store.approval_of_action(id).await?;
    Ok(stored
        .filter(|stored| stored.stage_at(services.now()).is_waiting())
        .and_then(|stored| {
            Some(PendingAction {
                id,
                number: stored.number?.to_string(),
                expires_at: stored.expires_at,
            })
        }))
}

/// The state of an approval that this console requested; `None` if it requested none with this id.
///
/// # Errors
/// If the store fails.
pub async fn state(
    services: &Services,
    console: &Console,
    id: ActionApprovalId,
) -> Result<Option<ActionState>> {
    let Some((action, approval)) = find(services, console, id).await? else {
        return Ok(None);
    };
    if action.claimed_at.is_some() {
        return Ok(Some(ActionState::Ended));
    }
    Ok(Some(match approval.stage_at(services.now()) {
        ApprovalStage::Requested => match prompt_of(services, approval, Language::English).await? {
            Some(_) => ActionState::Pending,
            None => ActionState::Ended,
        },
        // The console session ends with a report.
        ApprovalStage::Reported => ActionState::Pending,
        ApprovalStage::Approved {
            by: Approver::Device { .. },
            ..
        } => ActionState::Approved,
        ApprovalStage::Denied => ActionState::Denied,
        _ => ActionState::Ended,
    }))
}

/// A pending request of this console, with its number; `None` if it is not pending any more.
///
/// # Errors
/// If the store fails.
pub async fn pending(
    services: &Services,
    console: &Console,
    id: ActionApprovalId,
) -> Result<Option<PendingAction>> {
    let found = find(services, console, id).await?;
    Ok(found
        .filter(|(_, approval)| approval.stage_at(services.now()).is_waiting())
        .and_then(|(_, approval)| {
            Some(PendingAction {
                id,
                number: approval.number?.to_string(),
                expires_at: approval.expires_at,
            })
        }))
}

/// Cancels a pending request of this console. Returns whether there is one with this id.
///
/// # Errors
/// If the store fails.
pub async fn cancel_pending(
    services: &Services,
    console: &Console,
    id: ActionApprovalId,
) -> Result<bool> {
    let Some((_, approval)) = find(services, console, id).await? else {
        return Ok(false);
    };
    approval::cancel(services, approval.id).await?;
    Ok(true)
}

/// Returns when an approval is no longer pending.
///
/// # Errors
/// If the store fails.
pub async fn decided(services: &Services, console: &Console, id: ActionApprovalId) -> Result<()> {
    let Some((_, approval)) = find(services, console, id).await? else {
        return Ok(());
    };
    let mut listener = services.store.listen([Change::Approval(approval.id)]);
    while let Some((_, approval)) = find(services, console, id).await? {
        let stage = approval.stage_at(services.now());
        if !matches!(stage, ApprovalStage::Requested | ApprovalStage::Reported) {
            break;
        }
        listener.changed(Some(approval.expires_at)).await;
    }
    Ok(())
}

/// Uses the approval of an action. `None` if this console has no such approval, if it is for another action or showed
/// another summary, or if it was used, is too old, or was not given.
///
/// # Errors
/// If the store fails.
pub async fn claim(
    services: &Services,
    console: &Console,
    id: ActionApprovalId,
    claimed: ClaimedAction,
) -> Result<Option<ApprovalId>> {
    if find(services, console, id).await?.is_none() {
        return Ok(None);
    }
    Ok(services
        .store
        .claim_action_approval(id, claimed, FRESH, services.now())
        .await?)
}

/// The approval with this id and its request, if this console requested it.
async fn find(
    services: &Services,
    console: &Console,
    id: ActionApprovalId,
) -> Result<Option<(ActionApproval, Approval)>> {
    let signed_in = &console.signed_in;
    let found = services.store.action_approval(id, services.now()).await?;
    let is_own = |action: &ActionApproval| {
        action.session == signed_in.session.id
            && action.actor == signed_in.user.id
            && action.browser == console.browser
    };
    let Some(action) = found.filter(is_own) else {
        return Ok(None);
    };
    let approval = services.store.approval_of_action(id).await?;
    Ok(approval.map(|approval| (action, approval)))
}
