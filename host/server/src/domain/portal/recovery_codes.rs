//! New recovery codes in the portal. A browser session must never be sufficient to obtain a key. The user's device must
//! therefore approve the codes first, with a summary of the action. The earlier codes remain valid until the user
//! confirms that the new ones are saved.

use std::sync::Arc;

use crate::domain::admin::action_approvals::{self, ActionState, Console, PendingAction};
use crate::domain::devices::recovery;
use crate::domain::protected_actions::{ProtectedAction, SummaryError, summarize};
use crate::domain::{InternalError, Services};
use assent_model::approval::{ApprovalStage, Approver};
use assent_model::audit::{Actor, AuditContext};
use assent_model::id::{ActionApprovalId, DeviceId, RecoveryBatchId, UserId};
use assent_model::recovery::RecoveryCode;
use assent_model::secret::{Digest, Secret};
use assent_store::{ClaimedAction, DeviceWrite};

/// Requests the approval of new codes from the user's device. Returns `None` if no device can receive the request: the
/// device that approved the session was removed, belongs to a vendor, or received too many requests.
pub async fn ask_for_codes(
    services: &Arc<Services>,
    portal: &Console,
) -> Result<Option<PendingAction>, InternalError> {
    let (action, digest) = action_of(portal.signed_in.user.id)?;
    match summarize(&services.store, &action).await {
        Ok(summary) => action_approvals::ask(services, portal, &action, digest, &summary).await,
        Err(SummaryError::Gone(_)) => Ok(None),
        Err(SummaryError::Store(error)) => Err(error.into()),
    }
}

/// A request for new codes.
#[derive(Clone, Debug)]
pub enum CodesRequest {
    /// The device received the request.
    Pending(PendingAction),
    /// The codes can be created, once.
    Approved,
    /// The user denied the request.
    Denied,
    /// The request expired, or the codes were created.
    Ended,
}

/// Returns the state of a request of this browser. `None` if there is no such request.
pub async fn codes_request(
    services: &Services,
    portal: &Console,
    id: ActionApprovalId,
) -> Result<Option<CodesRequest>, InternalError> {
    let state = action_approvals::state(services, portal, id).await?;
    Ok(match state {
        None => None,
        Some(ActionState::Approved) => Some(CodesRequest::Approved),
        Some(ActionState::Denied) => Some(CodesRequest::Denied),
        Some(ActionState::Ended) => Some(CodesRequest::Ended),
        Some(ActionState::Pending) => {
            let pending = action_approvals::pending_action(services, portal, id).await?;
            Some(pending.map_or(CodesRequest::Ended, CodesRequest::Pending))
        }
    })
}

/// Creates the codes that the device approved. They become valid when the user confirms them. Until then a repeated
/// request of the same session gets the same codes, because the response may have been lost. Returns `None` if there is
/// no approval, or if it expired.
pub async fn create_codes(
    services: &Services,
    portal: &Console,
    browser: &Secret,
    id: ActionApprovalId,
) -> Result<Option<Vec<RecoveryCode>>, InternalError> {
    let user = portal.signed_in.user.id;
    let (action, digest) = action_of(user)?;
    let summary = match summarize(&services.store, &action).await {
        Ok(summary) => summary.digest(),
        Err(SummaryError::Gone(_)) => return Ok(None),
        Err(SummaryError::Store(error)) => return Err(error.into()),
    };
    let claimed = ClaimedAction {
        action: digest,
        summary,
    };
    let now = services.now();
    let (codes, digests) = recovery::derived_codes(services, user, batch_of(id), browser, now)?;
    if action_approvals::claim(services, portal, id, claimed)
        .await?
        .is_none()
    {
        let is_pending = are_pending(services, portal, id).await?;
        return Ok(is_pending.then_some(codes));
    }
    // The codes are revoked with the device that approved them.
    let Some(device) = approving_device(services, id).await? else {
        return Ok(None);
    };
    let written = services
        .store
        .add_pending_recovery_codes((user, device), batch_of(id), digests, now)
        .await?;
    Ok((written == DeviceWrite::Done).then_some(codes))
}

/// Whether this session created codes by a request, and they wait for their confirmation.
async fn are_pending(
    services: &Services,
    portal: &Console,
    id: ActionApprovalId,
) -> Result<bool, InternalError> {
    let state = action_approvals::state(services, portal, id).await?;
    if !matches!(state, Some(ActionState::Ended)) {
        return Ok(false);
    }
    let since = services.now() - recovery::CONFIRMATION;
    Ok(services
        .store
        .has_pending_codes(portal.signed_in.user.id, batch_of(id), since)
        .await?)
}

/// Confirms that the codes of a request are saved. They become valid, and the earlier ones invalid. Returns whether
/// they are valid.
pub async fn confirm_codes(
    services: &Arc<Services>,
    portal: &Console,
    id: ActionApprovalId,
) -> Result<bool, InternalError> {
    let user = portal.signed_in.user.id;
    let by = AuditContext::new(Actor::User(user), portal.origin.clone());
    recovery::confirm(services, user, None, batch_of(id), &by).await
}

/// Returns the batch of codes that an approval permits.
const fn batch_of(id: ActionApprovalId) -> RecoveryBatchId {
    RecoveryBatchId::from_bytes(*id.as_bytes())
}

/// Returns the action and its digest. An approval is valid only for this action.
fn action_of(user: UserId) -> Result<(ProtectedAction, Digest), InternalError> {
    let action = ProtectedAction::CreateRecoveryCodes(user);
    let digest = action.digest_in(Digest::sha256(b"recovery codes in the portal"))?;
    Ok((action, digest))
}

async fn approving_device(
    services: &Services,
    id: ActionApprovalId,
) -> Result<Option<DeviceId>, InternalError> {
    let approval = services.store.approval_of_action(id).await?;
    Ok(
        match approval.map(|approval| approval.stage_at(services.now())) {
            Some(ApprovalStage::Approved {
                by: Approver::Device { id, .. },
                ..
            }) => Some(id),
            _ => None,
        },
    )
}
