//! Checks of callers: an administrator asks the devices of a user whether the user is on the phone. The check grants
//! nothing to the administrator: its approval belongs to no sign-in, and the administrator receives only the answer.

use serde::Serialize;
use utoipa::ToSchema;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{AdminError, Result, user};
use crate::domain::Services;
use crate::domain::admin::execution::Execution;
use crate::domain::approvals::request;
use assent_model::administration::Permission;
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::audit::Actor;
use assent_model::caller_check::CallerCheck;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{CallerCheckId, UserId};
use assent_model::user::{LifecycleState, User};
use assent_store::RequestOutcome;

const NOT_ACTIVE: &str = "the user may not sign in, so no device can answer";
const NO_DEVICE: &str = "the user has no device that could answer";
const PAUSED: &str =
    "the requests of the user are paused after denials or a report; wait until the pause ends";
const TOO_MANY: &str =
    "another check of this user is waiting, or there were too many; wait until it ends";

assent_model::admin_command! {
    /// Asks the devices of a user whether the user is on the phone.
    #[derive(Clone, Debug, Serialize)]
    pub struct AskCaller(target UserId);
}

/// The state of a check of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerCheckState {
    /// The user has not answered.
    Waiting,
    /// The user approved with the number: the user of this account is on the phone.
    Approved,
    /// The user denied.
    Denied,
    /// The user reported the request: another caller uses the name of the user.
    Reported,
    /// The user typed a wrong number too often.
    NumberMismatch,
    /// The user did not answer in time.
    Expired,
    /// It was cancelled, or the user may not answer any more.
    Ended,
}

/// A check of a caller, as its administrator sees it.
#[derive(Clone, Debug)]
pub struct ShownCallerCheck {
    /// The check.
    pub check: CallerCheck,
    /// Its state.
    pub state: CallerCheckState,
    /// The number that the administrator reads aloud, while the check waits.
    pub number: Option<String>,
    /// When the user approved.
    pub approved_at: Option<Timestamp>,
}

impl AdminCommand for AskCaller {
    type Plan = User;
    type Outcome = ShownCallerCheck;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let services = &context.services;
        let authorization = context
            .caller
            .authorize(Permission::UsersVerify, "you may not verify callers")?;
        let user = user(services, self.0).await?;
        if user.state != LifecycleState::Active {
            return Err(AdminError::Conflict(NOT_ACTIVE));
        }
        if services.store.devices_of(user.id).await?.is_empty() {
            return Err(AdminError::Conflict(NO_DEVICE));
        }
        let paused = services
            .store
            .cooldown_until(user.id, services.now())
            .await?;
        if paused.is_some() {
            return Err(AdminError::Conflict(PAUSED));
        }
        Ok(Planned::harmless(authorization, user))
    }

    async fn execute(approved: ApprovedPlan<'_, User>) -> Result<Execution<ShownCallerCheck>> {
        let (user, recorder) = approved.into_parts();
        let services = recorder.services;
        let now = services.now();
        let limit = &services.rate_limits.caller_checks_per_user;
        if limit.count_call(&user.id, now).is_err() {
            return Err(AdminError::TooMany(TOO_MANY));
        }
        let asked_by = recorder.by.actor.clone();
        let check = CallerCheck {
            id: CallerCheckId::new(now, &*services.entropy),
            user: user.id,
            administrator: name_of(services, &asked_by).await?,
            asked_by,
            requested_at: now,
            expires_at: now + services.settings.lifetimes.approval.get(),
        };
        let origin = recorder.by.origin.clone();
        match Box::pin(request::ask_caller(services, &check, &user, origin)).await? {
            RequestOutcome::Prompted(_) => {}
            RequestOutcome::NotPrompted => return Err(AdminError::Conflict(PAUSED)),
            RequestOutcome::TooMany | RequestOutcome::NumberTaken | RequestOutcome::NotOpen => {
                return Err(AdminError::TooMany(TOO_MANY));
            }
        }
        // The store chose the number.
        let stored = services.store.approval_of_caller_check(check.id).await?;
        let stored = stored.ok_or(AdminError::NotFound("caller check"))?;
        Ok(Execution::Done(shown(check, &stored, now)))
    }
}

/// Returns the name that the device shows: of the administrator, of the service account, or of the operator.
async fn name_of(services: &Services, actor: &Actor) -> Result<String> {
    let store = &services.store;
    let found = match actor {
        Actor::User(id) => {
            let user = store.user(*id).await?;
            user.map(|user| user.display_name().to_owned())
        }
        Actor::Application(id) => {
            let found = store.registered(id).await?;
            found.map(|application| application.name().to_owned())
        }
        Actor::Server | Actor::AdminToken(_) | Actor::Device(_) | Actor::Channel(_) => None,
    };
    Ok(found.unwrap_or_else(|| services.settings.operator.clone()))
}

/// Returns a check with its state. Only its administrator may see it.
fn shown(check: CallerCheck, approval: &Approval, now: Timestamp) -> ShownCallerCheck {
    let mut approved_at = None;
    // A report shows at once, also after the expiry: the administrator must learn of it.
    let state = match (&approval.stage, approval.stage_at(now)) {
        (ApprovalStage::Reported, _) => CallerCheckState::Reported,
        (_, ApprovalStage::Requested) => CallerCheckState::Waiting,
        (_, ApprovalStage::Approved { at, .. }) => {
            approved_at = Some(at);
            CallerCheckState::Approved
        }
        (_, ApprovalStage::Denied) => CallerCheckState::Denied,
        (_, ApprovalStage::Failed(_)) => CallerCheckState::NumberMismatch,
        (_, ApprovalStage::Expired) => CallerCheckState::Expired,
        (
            _,
            ApprovalStage::Cancelled
            | ApprovalStage::Conflicted
            | ApprovalStage::Replaced
            | ApprovalStage::Withdrawn
            | ApprovalStage::Reported,
        ) => CallerCheckState::Ended,
    };
    let number = approval
        .number
        .filter(|_| state == CallerCheckState::Waiting);
    ShownCallerCheck {
        check,
        state,
        number: number.map(|number| number.to_string()),
        approved_at,
    }
}

/// Returns the check with its approval, if this actor asked.
async fn find(
    services: &Services,
    by: &Actor,
    id: CallerCheckId,
) -> Result<Option<(CallerCheck, Approval)>> {
    let check = services.store.caller_check(id).await?;
    let Some(check) = check.filter(|check| check.asked_by == *by) else {
        return Ok(None);
    };
    let approval = services.store.approval_of_caller_check(id).await?;
    Ok(approval.map(|approval| (check, approval)))
}

/// Returns a check that this actor began. `None` for a check of another one.
///
/// # Errors
/// If the database fails.
pub async fn caller_check(
    services: &Services,
    by: &Actor,
    id: CallerCheckId,
) -> Result<Option<ShownCallerCheck>> {
    let found = find(services, by, id).await?;
    let now = services.now();
    Ok(found.map(|(check, approval)| shown(check, &approval, now)))
}

/// Waits until a check that this actor began has an answer, or expired.
///
/// # Errors
/// If the database fails.
pub async fn wait_for_caller(services: &Services, by: &Actor, id: CallerCheckId) -> Result<()> {
    let Some((_, approval)) = find(services, by, id).await? else {
        return Ok(());
    };
    let mut listener = services.store.listen([Change::Approval(approval.id)]);
    while let Some((_, approval)) = find(services, by, id).await? {
        if approval.stage_at(services.now()) != ApprovalStage::Requested {
            break;
        }
        listener.changed(Some(approval.expires_at)).await;
    }
    Ok(())
}

/// Cancels a check that this actor began and that waits. Returns whether there is such a check.
///
/// # Errors
/// If the database fails.
pub async fn cancel_caller_check(
    services: &Services,
    by: &Actor,
    id: CallerCheckId,
) -> Result<bool> {
    let Some((_, approval)) = find(services, by, id).await? else {
        return Ok(false);
    };
    if approval.stage_at(services.now()) == ApprovalStage::Requested {
        request::cancel(services, approval.id).await?;
    }
    Ok(true)
}
