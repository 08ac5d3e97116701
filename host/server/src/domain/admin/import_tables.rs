//! Commands that import tables of users and of accounts.

use std::sync::Arc;

use super::command::{AdminCommand, AdminContext, Execution, Planned};
use super::{ImportReport, ImportRow, Result, import_accounts, import_users};
use crate::domain::protected_actions::{ImportedTable, ProtectedAction};
use crate::domain::{Host, InternalError};
use assent_model::administration::Permission;
use assent_model::audit::AuditContext;
use assent_model::caller::Caller;
use assent_model::id::Did;

/// Imports a table of users, or of the accounts of an application.
#[derive(Clone, Debug)]
pub struct ImportTable {
    /// The application; users without one.
    pub application: Option<Did>,
    /// The rows.
    pub rows: Arc<[ImportRow]>,
    /// Whether the table is only checked.
    pub dry_run: bool,
}

/// What is to be done with a table.
#[derive(Clone, Debug)]
pub enum TablePlan {
    /// Nothing: it was only checked, a row is wrong, or everything is as the table says.
    Report(ImportReport),
    /// Its import.
    Import(ImportTable),
}

impl ImportTable {
    async fn run(&self, host: &Host, caller: &Caller, dry_run: bool) -> Result<ImportReport> {
        match &self.application {
            Some(id) => import_accounts(host, caller, id, &self.rows, dry_run).await,
            None => import_users(host, caller, &self.rows, dry_run).await,
        }
    }
}

impl AdminCommand for ImportTable {
    type Plan = TablePlan;
    type Outcome = ImportReport;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<TablePlan>> {
        let (host, caller) = (&context.host, &context.caller);
        let permission = match self.application {
            Some(_) => Permission::AccountsWrite,
            None => Permission::UsersWrite,
        };
        // What each row says is authorized as it would be alone.
        let authorization = caller.authorize(permission, "you may not import tables")?;
        // Without a console nobody is asked, and the import checks all rows before it begins.
        if !self.dry_run && context.console().is_none() {
            let plan = TablePlan::Import(self.clone());
            return Ok(Planned::harmless(authorization, plan));
        }
        let report = self.run(host, caller, true).await?;
        if self.dry_run || report.created + report.changed == 0 {
            let plan = TablePlan::Report(report);
            return Ok(Planned::harmless(authorization, plan));
        }
        let table = ImportedTable {
            digest: ImportRow::digest(&self.rows).map_err(InternalError::from)?,
            rows: report.rows,
            created: report.created,
            changed: report.changed,
            renamed: report.renamed,
            readdressed: report.readdressed,
        };
        let action = ProtectedAction::ImportTable {
            application: self.application.clone(),
            table,
        };
        let plan = TablePlan::Import(self.clone());
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(
        context: &AdminContext,
        plan: TablePlan,
        by: &AuditContext,
    ) -> Result<Execution<ImportReport>> {
        let table = match plan {
            TablePlan::Report(report) => return Ok(Execution::Done(report)),
            TablePlan::Import(table) => table,
        };
        let caller = Caller {
            by: by.clone(),
            principal: context.caller.principal.clone(),
        };
        let report = table.run(&context.host, &caller, false).await?;
        Ok(Execution::Done(report))
    }
}
