//! Users' reports that an approval request was not theirs, and the running cooldowns.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{AdminError, Result, invalid, user};
use crate::domain::Services;
use crate::domain::admin::execution::{Execution, Recorder};
use crate::domain::devices::{account_notifications, device};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::ProtectedAction;
use assent_model::administration::Permission;
use assent_model::audit::{Actor, Entry, Event};
use assent_model::caller::Caller;
use assent_model::device::Device;
use assent_model::id::{ReportId, UserId};
use assent_model::name::display_text;
use assent_model::report::{Report, ReportSettlement};
use assent_model::user::User;
use assent_store::{
    CooldownCursor, ReportFilter, ReportWrite, RunningCooldown, UserAction, UserGuard,
};

/// The maximum length of a note, in characters.
const LONGEST_NOTE: usize = 500;

/// Returns up to `limit` reports before `before`, the latest first.
pub async fn reports(
    services: &Services,
    filter: ReportFilter,
    before: Option<ReportId>,
    limit: u32,
) -> Result<Vec<Report>> {
    Ok(services.store.reports(filter, before, limit).await?)
}

/// Returns up to `limit` running cooldowns after `after`, in the order of their ends.
pub async fn running_cooldowns(
    services: &Services,
    after: Option<CooldownCursor>,
    limit: u32,
) -> Result<Vec<RunningCooldown>> {
    let now = services.now();
    Ok(services.store.running_cooldowns(after, now, limit).await?)
}

assent_model::admin_command! {
    /// How an administrator settles a report.
    #[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Settlement, protected ProtectedSettlementMembers {
        /// What the administrator found out and did, for the audit log.
        harmless note: String,
        /// Whether to end the user's cooldown. Requests that it held are sent to the devices.
        protected end_cooldown: Option<bool>,
        /// Whether to end all sessions of the user.
        harmless end_sessions: Option<bool>,
        /// The id of a device of the user to revoke.
        protected revoke_device: Option<String>,
    }
}

assent_model::admin_command! {
    /// Settles a report, with the chosen effects.
    #[derive(Clone, Debug, Serialize)]
    pub struct SettleReport {
        /// The report.
        target report: ReportId,
        /// The settlement.
        classified settlement: Settlement,
    }
}

/// The plan of a settlement.
#[derive(Clone, Debug)]
pub struct PlannedSettlement {
    user: User,
    report: ReportId,
    note: String,
    end_cooldown: bool,
    end_sessions: bool,
    device: Option<Device>,
}

impl AdminCommand for SettleReport {
    type Plan = PlannedSettlement;
    type Outcome = Report;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<PlannedSettlement>> {
        let (services, caller) = (&context.services, &context.caller);
        let report = report(services, self.report).await?;
        let user = user(services, report.user).await?;
        let authorization = caller
            .authorize(Permission::UsersManage, "you may not settle reports")?
            .and(caller.authorize_user_access(&user)?);
        if report.settlement.is_some() {
            return Err(AdminError::Conflict("the report was settled already"));
        }
        let Settlement {
            note, end_sessions, ..
        } = &self.settlement;
        let ProtectedSettlementMembers {
            end_cooldown,
            revoke_device,
        } = self.settlement.protected();
        let end_cooldown = end_cooldown.unwrap_or_default();
        let note = display_text(note, LONGEST_NOTE)
            .ok_or_else(|| invalid("note", "use 1 to 500 characters without control characters"))?;
        let device = match revoke_device {
            Some(id) => Some(device_of(services, user.id, id).await?),
            None => None,
        };
        let removes_administrator = device.is_some() && user.console_role.is_some();
        let is_protected = removes_administrator || is_own(&report, caller);
        let action = is_protected.then(|| ProtectedAction::SettleReport {
            user: user.id,
            reported_at: report.reported_at,
            end_cooldown,
            device: device.as_ref().map(|device| device.id),
        });
        let plan = PlannedSettlement {
            user,
            report: self.report,
            note,
            end_cooldown,
            end_sessions: end_sessions.unwrap_or_default(),
            device,
        };
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, PlannedSettlement>) -> Result<Execution<Report>> {
        let (plan, recorder) = approved.into_parts();
        let services = recorder.services;
        let (settlement, entry) = write_of(&recorder, &plan);
        let Execution::Done(()) = recorder.write_user(settlement, vec![entry]).await? else {
            return Ok(Execution::Overtaken);
        };
        tracing::info!(report = %plan.report, user = %plan.user.id, "report settled");
        if plan.end_cooldown {
            services.wakeups.send(Wakeup::Carried);
        }
        if plan.end_sessions || plan.device.is_some() {
            services.wakeups.send(Wakeup::LoggedOut);
        }
        if let Some(device) = plan.device {
            account_notifications::notify(services, device.user_id, Some(device.id));
        }
        Ok(Execution::Done(report(services, plan.report).await?))
    }
}

/// Whether the caller reported the request. The attacker with the caller's session, whom the report is about, must not
/// settle it. So it needs an approval on the device on which it was reported.
fn is_own(report: &Report, caller: &Caller) -> bool {
    matches!(&caller.by.actor, Actor::User(user) if *user == report.user)
}

async fn report(services: &Services, id: ReportId) -> Result<Report> {
    let found = services.store.report(id).await?;
    found.ok_or(AdminError::NotFound("report"))
}

async fn device_of(services: &Services, user: UserId, id: &str) -> Result<Device> {
    let expected = || invalid("revoke_device", "expected the id of a device of the user");
    let id = id.parse().map_err(|_| expected())?;
    let devices = device::all_of(services, user).await?;
    let found = devices.into_iter().find(|own| own.device.id == id);
    found.map(|own| own.device).ok_or_else(expected)
}

/// Returns the settlement, and the entry of the audit log about it. Each effect has an entry of its own.
fn write_of(recorder: &Recorder<'_>, plan: &PlannedSettlement) -> (UserAction, Entry) {
    let (services, by) = (recorder.services, recorder.by);
    let entry = |event| recorder.entry(event).about(plan.user.id);
    let device = plan.device.as_ref();
    let write = ReportWrite {
        report: plan.report,
        settlement: ReportSettlement {
            settled_at: services.now(),
            settled_by: by.actor.clone(),
            note: plan.note.clone(),
        },
        end_cooldown: plan.end_cooldown.then(|| entry(Event::CooldownLifted)),
        end_sessions: plan.end_sessions.then(|| entry(Event::SessionEnded)),
        revoke_device: device
            .map(|device| (device.id, device::revocation_entry(services, device, by))),
    };
    let settled = entry(Event::ReportSettled)
        .with("report", plan.report.to_string())
        .with("end_cooldown", plan.end_cooldown)
        .with("end_sessions", plan.end_sessions)
        .with("revoke_device", device.map(|device| device.id.to_string()))
        .personal("note", plan.note.as_str());
    let guard = UserGuard::from(&plan.user);
    (UserAction::SettleReport(guard, Box::new(write)), settled)
}
