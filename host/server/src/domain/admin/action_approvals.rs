//! The approvals of protected actions. Each is valid for one request, of the console session or the caller that
//! requested it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::approvals::prompt::prompt_of;
use crate::domain::approvals::purpose::RequestedAction;
use crate::domain::approvals::request;
use crate::domain::protected_actions::{ProtectedAction, Summary};
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::action_approval::{ActionApproval, ActionProposal, ActionRequester};
use assent_model::approval::{Approval, ApprovalStage, Approver};
use assent_model::audit::{Actor, Origin};
use assent_model::caller::Caller;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{ActionApprovalId, ApprovalId, DeviceId};
use assent_model::language::Language;
use assent_model::login::BrowserContext;
use assent_model::secret::Digest;
use assent_model::user::User;
use assent_store::{ClaimedAction, RequestOutcome, UserGuard};

type Result<T> = std::result::Result<T, InternalError>;

/// The time for which an approval can be used. It is short, because the console uses an approval at once.
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

/// A caller with a token, and the administrator whose devices receive the request.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// The administrator, named by the caller.
    pub administrator: User,
    /// The caller.
    pub caller: Caller,
    /// The location and the program of the caller.
    pub context: BrowserContext,
}

/// The holder of an approval, who may use it and read its state.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'a> {
    /// The administrator, in the console.
    Console(&'a Console),
    /// The caller with a token who requested it.
    Token(&'a Caller),
}

impl<'a> From<&'a Console> for Holder<'a> {
    fn from(console: &'a Console) -> Self {
        Self::Console(console)
    }
}

/// Returns a digest that identifies the caller, in place of the digest of a browser's cookie.
fn caller_digest(caller: &Caller) -> Digest {
    let actor = &caller.by.actor;
    let (kind, id) = (actor.kind(), actor.id().unwrap_or_default());
    Digest::sha256(format!("admin-api caller {kind} {id}").as_bytes())
}

/// An action with a requested approval.
#[derive(Clone, Debug)]
pub struct PendingAction {
    /// The identifier of the approval.
    pub id: ActionApprovalId,
    /// The number to type on the device.
    pub number: String,
    /// The time at which the request expires.
    pub expires_at: Timestamp,
}

/// The state of an action approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ActionApprovalState)]
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

/// Requests the approval of an action from the administrator's devices. `digest` is the digest of the action in its
/// command.
///
/// Returns `None` if no device can receive the request. This is so if the device that approved the session was revoked,
/// or received too many requests in the last minute. It is also so if the user to whom the action applies changed at
/// this moment.
pub async fn ask(
    services: &Arc<Services>,
    console: &Console,
    action: &ProtectedAction,
    digest: Digest,
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
    let party = Party {
        user: &signed_in.user,
        device,
        requester: ActionRequester::Session(session),
        browser: *browser,
        context,
        origin,
        by: Actor::Device(device),
    };
    request(services, party, action, digest, summary).await
}

/// Requests the approval of an action from the devices of a named administrator. During a cooldown of the administrator
/// the request is held, like sign-ins that other users begin.
pub async fn ask_administrator(
    services: &Arc<Services>,
    token: &TokenRequest,
    action: &ProtectedAction,
    digest: Digest,
    summary: &Summary,
) -> Result<Option<PendingAction>> {
    let TokenRequest {
        administrator,
        caller,
        context,
    } = token;
    let devices = services.store.devices_of(administrator.id).await?;
    let Some(device) = devices.first() else {
        return Ok(None);
    };
    let party = Party {
        user: administrator,
        device: device.id,
        requester: ActionRequester::Token,
        browser: caller_digest(caller),
        context,
        origin: &caller.by.origin,
        by: caller.by.actor.clone(),
    };
    request(services, party, action, digest, summary).await
}

/// The user whose devices receive a request, and the requester.
struct Party<'a> {
    user: &'a User,
    /// The device to which the rate limit applies.
    device: DeviceId,
    requester: ActionRequester,
    browser: Digest,
    context: &'a BrowserContext,
    origin: &'a Origin,
    /// The actor in the audit log.
    by: Actor,
}

async fn request(
    services: &Arc<Services>,
    party: Party<'_>,
    action: &ProtectedAction,
    digest: Digest,
    summary: &Summary,
) -> Result<Option<PendingAction>> {
    let now = services.now();
    let limits = &services.rate_limits;
    // Callers that name an administrator do not use up the administrator's own requests.
    let counted = match party.requester {
        ActionRequester::Session(_) => limits.actions_per_device.count_call(&party.device, now),
        ActionRequester::Token => limits.named_approvals.count_call(&party.user.id, now),
    };
    if counted.is_err() {
        return Ok(None);
    }
    let requested = RequestedAction {
        approval: ActionApproval {
            id: ActionApprovalId::new(now, &*services.entropy),
            actor: party.user.id,
            requester: party.requester,
            browser: party.browser,
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
        by: party.by,
    };
    let id = requested.approval.id;
    let outcome = request::ask_about_action(
        services,
        &requested,
        (party.device, party.user),
        party.context.clone(),
        party.origin.clone(),
    )
    .await?;
    let RequestOutcome::Prompted(_) = outcome else {
        return Ok(None);
    };
    // The store chose the number. The request may have ended already, because the user reported another request.
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

/// Returns the state of an approval that the holder requested. `None` if the holder requested no approval with this
/// identifier.
pub async fn state(
    services: &Services,
    holder: impl Into<Holder<'_>>,
    id: ActionApprovalId,
) -> Result<Option<ActionState>> {
    let Some((action, approval)) = find(services, holder.into(), id).await? else {
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
        // A report ends the console session.
        ApprovalStage::Reported => ActionState::Pending,
        ApprovalStage::Approved {
            by: Approver::Device { .. },
            ..
        } => ActionState::Approved,
        ApprovalStage::Denied => ActionState::Denied,
        _ => ActionState::Ended,
    }))
}

/// Returns a pending request of the holder, with its number. `None` if it is no longer pending.
pub async fn pending_action(
    services: &Services,
    holder: impl Into<Holder<'_>>,
    id: ActionApprovalId,
) -> Result<Option<PendingAction>> {
    let found = find(services, holder.into(), id).await?;
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

/// Cancels a pending request of the holder. Returns whether the holder requested an approval with this identifier.
pub async fn cancel_pending(
    services: &Services,
    holder: impl Into<Holder<'_>>,
    id: ActionApprovalId,
) -> Result<bool> {
    let Some((_, approval)) = find(services, holder.into(), id).await? else {
        return Ok(false);
    };
    request::cancel(services, approval.id).await?;
    Ok(true)
}

/// Waits until an approval is no longer pending.
pub async fn wait_for_decision(
    services: &Services,
    holder: impl Into<Holder<'_>>,
    id: ActionApprovalId,
) -> Result<()> {
    let holder = holder.into();
    let Some((_, approval)) = find(services, holder, id).await? else {
        return Ok(());
    };
    let mut listener = services.store.listen([Change::Approval(approval.id)]);
    while let Some((_, approval)) = find(services, holder, id).await? {
        let stage = approval.stage_at(services.now());
        if !matches!(stage, ApprovalStage::Requested | ApprovalStage::Reported) {
            break;
        }
        listener.changed(Some(approval.expires_at)).await;
    }
    Ok(())
}

/// Uses the approval of an action. Returns `None` in these cases:
///
/// - The holder has no such approval.
/// - It is for another action, or showed another summary.
/// - It was used, has expired, or was not granted.
pub async fn claim(
    services: &Services,
    holder: impl Into<Holder<'_>>,
    id: ActionApprovalId,
    claimed: ClaimedAction,
) -> Result<Option<ApprovalId>> {
    if find(services, holder.into(), id).await?.is_none() {
        return Ok(None);
    }
    use_approval(services, id, claimed).await
}

/// Uses the approval of an action that a caller with a token requested from this administrator. Returns `None` in the
/// same cases as [`claim`].
pub async fn claim_of_administrator(
    services: &Services,
    token: &TokenRequest,
    id: ActionApprovalId,
    claimed: ClaimedAction,
) -> Result<Option<ApprovalId>> {
    let found = find(services, Holder::Token(&token.caller), id).await?;
    if found.is_none_or(|(action, _)| action.actor != token.administrator.id) {
        return Ok(None);
    }
    use_approval(services, id, claimed).await
}

async fn use_approval(
    services: &Services,
    id: ActionApprovalId,
    claimed: ClaimedAction,
) -> Result<Option<ApprovalId>> {
    Ok(services
        .store
        .claim_action_approval(id, claimed, FRESH, services.now())
        .await?)
}

/// Returns the approval with this identifier and its request, if the holder requested it.
async fn find(
    services: &Services,
    holder: Holder<'_>,
    id: ActionApprovalId,
) -> Result<Option<(ActionApproval, Approval)>> {
    let found = services.store.action_approval(id, services.now()).await?;
    let is_own = |action: &ActionApproval| match holder {
        Holder::Console(Console {
            signed_in, browser, ..
        }) => {
            action.requester == ActionRequester::Session(signed_in.session.id)
                && action.actor == signed_in.user.id
                && action.browser == *browser
        }
        Holder::Token(caller) => {
            action.requester == ActionRequester::Token && action.browser == caller_digest(caller)
        }
    };
    let Some(action) = found.filter(is_own) else {
        return Ok(None);
    };
    let approval = services.store.approval_of_action(id).await?;
    Ok(approval.map(|approval| (action, approval)))
}
