//! Commands that import tables of users and of accounts.

use std::sync::Arc;

use serde::Serializer;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::import_accounts::{plan_accounts, save_accounts};
use super::import_users::{plan_users, save_users};
use super::{ImportReport, ImportRow, PlannedAccounts, PlannedUsers, Result};
use crate::domain::admin::execution::Execution;
use crate::domain::protected_actions::{ImportedTable, ProtectedAction};
use crate::domain::{InternalError, Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::id::Did;
use assent_model::secret::Digest;

assent_model::admin_command! {
    /// Imports a table of users, or of the accounts of an application.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct ImportTable {
        /// The application. `None`: a table of users.
        target application: Option<Did>,
        /// The rows. The serialized form identifies them by their digest, because there may be many.
        #[serde(serialize_with = "serialize_digest")]
        protected rows: Arc<[ImportRow]>,
        /// Whether the table is only checked.
        protected dry_run: bool,
    }
}

pub(super) fn serialize_digest<S: Serializer>(
    rows: &[ImportRow],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let digest = ImportRow::digest(rows).map_err(serde::ser::Error::custom)?;
    serializer.serialize_str(&digest)
}

/// The plan for a table.
pub enum TablePlan {
    /// No change: the table is only checked, a row is wrong, or all objects match the table already.
    Report(ImportReport),
    /// The users to save.
    Users(PlannedUsers),
    /// The accounts to save.
    Accounts(PlannedAccounts),
}

impl TablePlan {
    /// Returns the digest of the users or accounts that are created and changed.
    fn targets(&self) -> serde_json::Result<String> {
        let targets = match self {
            Self::Report(_) => Vec::new(),
            Self::Users(users) => users.targets(),
            Self::Accounts(accounts) => accounts.targets(),
        };
        Ok(Digest::sha256(&serde_json::to_vec(&targets)?).to_text())
    }

    /// Returns the entry of the audit log about the whole table. `None` if nothing is saved.
    fn entry(&self, services: &Services, by: &AuditContext) -> Option<Entry> {
        let entry = match self {
            Self::Report(_) => return None,
            Self::Users(_) => audit::entry(services, Event::UsersImported, by),
            Self::Accounts(accounts) => audit::entry(services, Event::AccountsImported, by)
                .in_application(accounts.application.clone()),
        };
        let report = self.report();
        Some(
            entry
                .with("rows", report.rows)
                .with("created", report.created)
                .with("updated", report.updated),
        )
    }

    const fn report(&self) -> &ImportReport {
        match self {
            Self::Report(report) => report,
            Self::Users(users) => &users.report,
            Self::Accounts(accounts) => &accounts.report,
        }
    }

    fn into_report(self) -> ImportReport {
        match self {
            Self::Report(report) => report,
            Self::Users(users) => users.report,
            Self::Accounts(accounts) => accounts.report,
        }
    }
}

impl AdminCommand for ImportTable {
    type Plan = TablePlan;
    type Outcome = ImportReport;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<TablePlan>> {
        let (services, caller) = (&context.services, &context.caller);
        let permission = match self.application {
            Some(_) => Permission::AccountsWrite,
            None => Permission::UsersWrite,
        };
        // Each row is authorized like a single change.
        let authorization = caller.authorize(permission, "you may not import tables")?;
        let plan = match &self.application {
            Some(id) => TablePlan::Accounts(plan_accounts(services, caller, id, &self.rows).await?),
            None => TablePlan::Users(plan_users(services, caller, &self.rows).await?),
        };
        let report = plan.report();
        if self.dry_run || report.created + report.updated == 0 {
            let plan = TablePlan::Report(plan.into_report());
            return Ok(Planned::harmless(authorization, plan));
        }
        let table = ImportedTable {
            digest: ImportRow::digest(&self.rows).map_err(InternalError::from)?,
            targets: plan.targets().map_err(InternalError::from)?,
            rows: report.rows,
            created: report.created,
            changed: report.updated,
            renamed: report.renamed,
            readdressed: report.readdressed,
            confirmed: report.confirmed,
            named_by_other_address: report.named_by_other_address,
        };
        let action = ProtectedAction::ImportTable {
            application: self.application.clone(),
            table,
        };
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, TablePlan>) -> Result<Execution<ImportReport>> {
        let (plan, recorder) = approved.into_parts();
        let services = recorder.services;
        if let Some(entry) = plan.entry(services, recorder.by) {
            // The entry comes first, so that no import lacks it.
            services
                .store
                .append_audit(vec![entry])
                .await
                .map_err(InternalError::from)?;
        }
        let report = match plan {
            TablePlan::Report(report) => report,
            TablePlan::Users(users) => save_users(services, recorder.by, users).await?,
            TablePlan::Accounts(accounts) => save_accounts(services, recorder.by, accounts).await?,
        };
        Ok(Execution::Done(report))
    }
}
