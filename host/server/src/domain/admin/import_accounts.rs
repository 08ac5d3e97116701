//! The import of an application's accounts. Each row is an account of a user. A row needs the same permissions as an
//! update of the single account.

use std::borrow::Cow;
use std::collections::HashMap;

use super::accounts::{apply_to_account, creation, differences};
use super::import::{ImportReport, ImportRow, RowProblem, RowTarget, RowWrite, save_rows};
use super::list_cell::{list_cell, texts_of};
use super::users::user_with;
use super::{AccountChange, AdminError, Result, registered_application};
use crate::domain::Services;
use crate::domain::accounts::new_account;
use crate::domain::operations::wakeups::Wakeup;
use assent_model::account::Account;
use assent_model::audit::AuditContext;
use assent_model::caller::Caller;
use assent_model::id::{Did, UserId};
use assent_model::name::{LoginName, composed};
use assent_model::user::{LifecycleState, User};
use assent_store::{AccountWrite, UserGuard};

/// The columns of a file of accounts, as an export writes them.
pub const ACCOUNT_COLUMNS: [&str; 4] = ["user", "name", "roles", "state"];

/// Returns an account as a row of a file, in the order of [`ACCOUNT_COLUMNS`].
pub fn account_cells(account: &Account, user: Option<&User>) -> Vec<String> {
    // An erased user has no user name.
    let named = user.filter(|user| user.state != LifecycleState::Terminated);
    vec![
        named.map_or_else(|| account.user_id.to_string(), |user| user.name.to_string()),
        account.name.clone(),
        list_cell(account.roles.iter().map(String::as_str)),
        account.state.as_str().to_owned(),
    ]
}

/// Parses the roles of a cell.
fn roles_of(cell: &str) -> std::result::Result<Vec<String>, RowProblem> {
    let expected = "expected roles with ; or blanks between them, or a list of texts in JSON";
    let roles = texts_of(cell).ok_or_else(|| RowProblem::in_column("roles", expected))?;
    Ok(roles.into_iter().map(Cow::into_owned).collect())
}

/// A checked row.
struct PlannedRow {
    line: u64,
    /// The user, in the version that was checked.
    guard: UserGuard,
    before: Option<Account>,
    account: Account,
    /// Whether the account receives a new name or, if it is new, a name other than the user's.
    is_renamed: bool,
}

/// The existing objects that a file names.
struct ExistingRecords {
    by_login: HashMap<LoginName, User>,
    by_id: HashMap<UserId, User>,
    accounts: HashMap<UserId, Account>,
    names: HashMap<String, Account>,
}

impl ExistingRecords {
    async fn read(services: &Services, application: &Did, rows: &[ImportRow]) -> Result<Self> {
        let user_cells = || rows.iter().filter_map(|row| row.filled("user"));
        let logins: Vec<LoginName> = user_cells().filter_map(|text| text.parse().ok()).collect();
        let ids: Vec<UserId> = user_cells().filter_map(|text| text.parse().ok()).collect();
        let by_login = services.store.users_by_logins(&logins).await?;
        let by_id = services.store.users_by_ids(&ids).await?;
        let users: Vec<&User> = by_login.values().chain(by_id.values()).collect();
        let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
        let named = rows
            .iter()
            .filter_map(|row| row.filled("name"))
            .map(composed);
        let names: Vec<String> = named
            .chain(users.iter().map(|user| user.name.to_string()))
            .collect();
        let accounts = services.store.accounts_of_users(application, &ids).await?;
        let names = services
            .store
            .accounts_by_names(application, &names)
            .await?;
        Ok(Self {
            by_login,
            by_id,
            accounts,
            names,
        })
    }

    fn user(&self, row: &ImportRow) -> std::result::Result<&User, RowProblem> {
        let text = row
            .filled("user")
            .ok_or_else(|| RowProblem::in_column("user", "expected a name, address or id"))?;
        let by_id = text.parse().ok().and_then(|id: UserId| self.by_id.get(&id));
        let by_login = || {
            text.parse()
                .ok()
                .and_then(|name: LoginName| self.by_login.get(&name))
        };
        by_id
            .or_else(by_login)
            .ok_or_else(|| RowProblem::in_column("user", "there is no such user"))
    }
}

/// A table of accounts that was checked: its report, and the accounts to be saved.
pub struct PlannedAccounts {
    /// The planned changes.
    pub report: ImportReport,
    /// The application of the accounts.
    pub(super) application: Did,
    rows: Vec<PlannedRow>,
}

impl PlannedAccounts {
    /// Returns the accounts that are created and changed, with their users.
    pub(super) fn targets(&self) -> Vec<RowTarget> {
        let target = |row: &PlannedRow| RowTarget {
            line: row.line,
            user: Some(row.account.user_id),
            account: row.before.as_ref().map(|before| before.id),
        };
        self.rows.iter().map(target).collect()
    }
}

/// Checks a table of an application's accounts. If a row is wrong, no row is saved. Rows that cannot be imported are in
/// the report.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn plan_accounts(
    services: &Services,
    caller: &Caller,
    application: &Did,
    rows: &[ImportRow],
) -> Result<PlannedAccounts> {
    registered_application(services, application).await?;
    let known = ExistingRecords::read(services, application, rows).await?;
    let mut report = ImportReport {
        rows: rows.len() as u64,
        ..ImportReport::default()
    };
    let mut planned: Vec<PlannedRow> = Vec::new();
    let mut users: HashMap<UserId, u64> = HashMap::new();
    let mut names: HashMap<String, u64> = HashMap::new();
    for row in rows {
        tokio::task::yield_now().await;
        let check = |user: &User, row: &ImportRow| -> CheckedRow {
            let plan = plan(services, caller, application, &known, user, row)?;
            let Account { user_id, name, .. } = &plan.account;
            if let Some(before) = users.get(user_id) {
                return Err(Ok(RowProblem::in_column(
                    "user",
                    format!("line {before} has the same user"),
                )));
            }
            if known
                .names
                .get(name)
                .is_some_and(|owner| owner.user_id != *user_id)
            {
                return Err(Ok(RowProblem::in_column("name", "it is taken")));
            }
            match names.get(name) {
                Some(before) => Err(Ok(RowProblem::in_column(
                    "name",
                    format!("line {before} has the same value; each value may occur once"),
                ))),
                None => Ok(plan),
            }
        };
        let checked = match known.user(row) {
            Ok(user) => check(user, row),
            Err(problem) => Err(Ok(problem)),
        };
        let checked = match checked {
            Err(Ok(first)) => {
                // The other cells of a row without a user are checked as if they were about a new user.
                let name = "x".parse::<LoginName>().ok();
                let no_did = Did::from_ed25519(&[0; 32]);
                let nobody = name.map(|name| user_with(services, name, no_did));
                let further = |row: &ImportRow| {
                    let Some(user) = known.user(row).ok().or(nobody.as_ref()) else {
                        return Ok(None);
                    };
                    match check(user, row) {
                        Ok(_) => Ok(None),
                        Err(Ok(problem)) => Ok(Some(problem)),
                        Err(Err(refused)) => Err(refused),
                    }
                };
                Err(row.problems(first, |_| None, further)?)
            }
            Err(Err(refused)) => return Err(refused),
            Ok(plan) => Ok(plan),
        };
        if let Ok(plan) = &checked {
            users.insert(plan.account.user_id, plan.line);
            names.insert(plan.account.name.clone(), plan.line);
        }
        match checked {
            Ok(plan) if plan.before.as_ref() == Some(&plan.account) => report.unchanged += 1,
            Ok(plan) => {
                if plan.before.is_some() {
                    report.updated += 1;
                } else {
                    report.created += 1;
                }
                report.renamed += u64::from(plan.is_renamed);
                planned.push(plan);
            }
            Err(problems) => report.refuse(row.line, problems),
        }
    }
    if report.rejected > 0 {
        return Ok(PlannedAccounts {
            report: report.nothing_done(),
            application: application.clone(),
            rows: Vec::new(),
        });
    }
    Ok(PlannedAccounts {
        report,
        application: application.clone(),
        rows: planned,
    })
}

/// A planned row, the reason for a rejected row, or an internal error.
type CheckedRow = std::result::Result<PlannedRow, std::result::Result<RowProblem, AdminError>>;

/// Plans a row.
fn plan(
    services: &Services,
    caller: &Caller,
    application: &Did,
    known: &ExistingRecords,
    user: &User,
    row: &ImportRow,
) -> CheckedRow {
    let before = known.accounts.get(&user.id).cloned();
    let mut account = before
        .clone()
        .unwrap_or_else(|| new_account(services, user, application.clone()));
    let state = match row.filled("state") {
        None => None,
        Some(text) => {
            let state = LifecycleState::parse(text);
            let state = state.ok_or_else(|| {
                Ok(RowProblem::in_column(
                    "state",
                    "expected invited, active or suspended",
                ))
            })?;
            if state == LifecycleState::Terminated && account.state != state {
                return Err(Ok(RowProblem::in_column(
                    "state",
                    "an import cannot terminate an account; update the account separately",
                )));
            }
            if before.is_none() {
                if !state.is_open() {
                    return Err(Ok(RowProblem::in_column(
                        "state",
                        "a new account is invited or active",
                    )));
                }
                account.state = state;
            }
            Some(state)
        }
    };
    let roles = row.cell("roles").map(roles_of).transpose().map_err(Ok)?;
    let change = AccountChange {
        name: row.filled("name").map(str::to_owned),
        roles,
        state,
        individual: None,
    };
    let problem = |refused: AdminError| match RowProblem::try_from(refused) {
        Ok(problem) => Ok(problem),
        Err(refused) => Err(refused),
    };
    apply_to_account(&mut account, change).map_err(problem)?;
    if before.as_ref() != Some(&account) {
        caller
            .authorize_user_access(user)
            .map_err(|refused| problem(refused.into()))?;
    }
    let known_as = before
        .as_ref()
        .map_or(user.name.as_str(), |before| &before.name);
    let is_renamed = known_as != account.name;
    Ok(PlannedRow {
        line: row.line,
        guard: user.into(),
        before,
        account,
        is_renamed,
    })
}

/// Saves the accounts of a checked table. If an account or its user changed since the check, only that row is rejected.
pub async fn save_accounts(
    services: &Services,
    by: &AuditContext,
    planned: PlannedAccounts,
) -> Result<ImportReport> {
    let PlannedAccounts {
        mut report, rows, ..
    } = planned;
    let write = |row: PlannedRow| {
        let entries = match &row.before {
            Some(before) => differences(services, before, &row.account, by),
            None => vec![creation(services, &row.account, by)],
        };
        Ok(RowWrite {
            line: row.line,
            is_new: row.before.is_none(),
            write: AccountWrite {
                before: row.before.map(|before| before.state),
                account: row.account,
                guard: row.guard,
                entries,
            },
        })
    };
    save_rows(&mut report, rows.into_iter().map(write), |writes| {
        services.store.save_accounts(writes, services.now())
    })
    .await?;
    let (created, updated) = (report.created, report.updated);
    tracing::info!(created, updated, "accounts imported");
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(report)
}
