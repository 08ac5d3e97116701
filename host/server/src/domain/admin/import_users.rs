//! The import of users. Each row is a new or existing user. A row needs the same permissions as an update of the single
//! user.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::import::{ImportReport, ImportRow, RowProblem, RowTarget, RowWrite, save_rows};
use super::list_cell::texts_of;
use super::users::{
    DeniedMember, VOUCHING, apply_to_user, check_new_name, creation, differences, user_with,
};
use super::{AdminError, Result, UserChange};
use crate::domain::Services;
use crate::domain::admin::user_table::{address_texts, texts};
use crate::domain::operations::wakeups::Wakeup;
use crate::keys::fresh_did;
use assent_model::administration::Permission;
use assent_model::audit::AuditContext;
use assent_model::caller::Caller;
use assent_model::group::GroupName;
use assent_model::id::{Did, UserId};
use assent_model::name::{LoginName, is_same_name};
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::UserWrite;

/// A checked row.
struct PlannedRow {
    line: u64,
    /// The existing user. `None` for a new one.
    before: Option<User>,
    user: User,
}

impl PlannedRow {
    /// Whether the row confirms the address that the user has.
    fn confirms_address(&self, before: &User) -> bool {
        before.email == self.user.email && !before.email_confirmed && self.user.email_confirmed
    }

    /// Whether the row creates a user whose name is another address, or changes an existing user to such a one.
    fn gets_other_address_as_name(&self) -> bool {
        let is_changed = self.before.as_ref().is_none_or(|before| {
            (&before.name, &before.email) != (&self.user.name, &self.user.email)
        });
        is_changed && self.user.is_named_by_other_address()
    }
}

/// The existing users that a file names.
struct ExistingRecords {
    by_login: HashMap<LoginName, User>,
    by_id: HashMap<UserId, User>,
    /// Empty if the file has no column for groups.
    groups: HashMap<UserId, Vec<GroupName>>,
}

impl ExistingRecords {
    async fn read(services: &Services, rows: &[ImportRow]) -> Result<Self> {
        let cells = |column: &'static str| rows.iter().filter_map(move |row| row.filled(column));
        let logins: Vec<LoginName> = cells("name")
            .chain(cells("email"))
            .filter_map(|text| text.parse().ok())
            .collect();
        let ids: Vec<UserId> = cells("id").filter_map(|text| text.parse().ok()).collect();
        let by_login = services.store.users_by_logins(&logins).await?;
        let by_id = services.store.users_by_ids(&ids).await?;
        let groups = if rows.iter().any(|row| row.cell("groups").is_some()) {
            let known = by_login.values().chain(by_id.values());
            let known: Vec<UserId> = known.map(|user| user.id).collect();
            services.store.group_names_of(&known).await?
        } else {
            HashMap::new()
        };
        Ok(Self {
            by_login,
            by_id,
            groups,
        })
    }

    /// Returns a name that no user and no row has, for the check of the other cells of a row whose name is wrong.
    fn unused_name(&self) -> String {
        let mut name = "x".to_owned();
        while name
            .parse()
            .is_ok_and(|name: LoginName| self.by_login.contains_key(&name))
        {
            name.push('x');
        }
        name
    }

    /// Returns the existing user of a row. `None` for a new user.
    fn user(&self, row: &ImportRow) -> std::result::Result<Option<&User>, RowProblem> {
        if let Some(id) = row.filled("id") {
            let known = id.parse().ok().and_then(|id: UserId| self.by_id.get(&id));
            return known.map(Some).ok_or_else(|| {
                RowProblem::in_column(
                    "id",
                    "there is no such user; leave the cell empty to create one",
                )
            });
        }
        let name = row
            .filled("name")
            .ok_or_else(|| RowProblem::in_column("name", "expected a name"))?;
        let name: LoginName = name
            .parse()
            .map_err(|error| RowProblem::in_column("name", format!("{error}")))?;
        match self.by_login.get(&name) {
            Some(user) if user.name != name => Err(RowProblem::in_column(
                "name",
                "it is the email address of another user",
            )),
            known => Ok(known),
        }
    }
}

/// Returns whether a cell has the names of these groups, in any order.
fn names_groups(cell: &str, groups: &[GroupName]) -> bool {
    let Some(mut named) = texts_of(cell) else {
        return false;
    };
    let mut groups: Vec<&str> = groups.iter().map(GroupName::as_str).collect();
    named.sort_unstable();
    groups.sort_unstable();
    named == groups
}

/// A table of users that was checked: its report, and the users to be saved.
pub struct PlannedUsers {
    /// The planned changes.
    pub report: ImportReport,
    rows: Vec<PlannedRow>,
}

impl PlannedUsers {
    /// Returns the users that are created and changed.
    pub(super) fn targets(&self) -> Vec<RowTarget> {
        let target = |row: &PlannedRow| RowTarget {
            line: row.line,
            user: row.before.as_ref().map(|before| before.id),
            account: None,
        };
        self.rows.iter().map(target).collect()
    }
}

/// Checks a table of users. If a row is wrong, no row is saved. Rows that cannot be imported are in the report.
pub async fn plan_users(
    services: &Services,
    caller: &Caller,
    rows: &[ImportRow],
) -> Result<PlannedUsers> {
    let known = ExistingRecords::read(services, rows).await?;
    let mut report = ImportReport {
        rows: rows.len() as u64,
        ..ImportReport::default()
    };
    let mut planned = Vec::new();
    let mut taken = InFile::default();
    for row in rows {
        // This lets concurrent sign-ins continue.
        tokio::task::yield_now().await;
        let check = |row: &ImportRow| {
            let plan = plan(services, caller, &known, row)?;
            match taken.conflict(&known, &plan) {
                Some(conflict) => Err(Stop::Row(conflict)),
                None => Ok(plan),
            }
        };
        let checked = check(row);
        let checked = match checked {
            Err(Stop::Row(first)) => {
                let placeholder = |column: &str| (column == "name").then(|| known.unused_name());
                let further = |row: &ImportRow| match check(row) {
                    Ok(_) => Ok(None),
                    Err(Stop::Row(problem)) => Ok(Some(problem)),
                    Err(Stop::All(refused)) => Err(refused),
                };
                Err(row.problems(first, placeholder, further)?)
            }
            Err(Stop::All(refused)) => return Err(refused),
            Ok(plan) => Ok(plan),
        };
        if let Ok(plan) = &checked {
            taken.add(plan);
        }
        match checked {
            Ok(plan) if plan.before.as_ref() == Some(&plan.user) => report.unchanged += 1,
            Ok(plan) => {
                report.named_by_other_address += u64::from(plan.gets_other_address_as_name());
                match &plan.before {
                    Some(before) => {
                        report.updated += 1;
                        report.readdressed += u64::from(before.email != plan.user.email);
                        report.renamed += u64::from(before.name != plan.user.name);
                        report.confirmed += u64::from(plan.confirms_address(before));
                    }
                    None => report.created += 1,
                }
                planned.push(plan);
            }
            Err(problems) => report.refuse(row.line, problems),
        }
    }
    if report.rejected > 0 {
        return Ok(PlannedUsers {
            report: report.nothing_done(),
            rows: Vec::new(),
        });
    }
    Ok(PlannedUsers {
        report,
        rows: planned,
    })
}

/// An error that ends the check of one row, or of the whole table.
enum Stop {
    Row(RowProblem),
    All(AdminError),
}

impl From<RowProblem> for Stop {
    fn from(problem: RowProblem) -> Self {
        Self::Row(problem)
    }
}

impl From<AdminError> for Stop {
    fn from(refused: AdminError) -> Self {
        RowProblem::try_from(refused).map_or_else(Self::All, Self::Row)
    }
}

/// The users and names of the previous rows. Two rows must not be about the same user or have the same name.
#[derive(Default)]
struct InFile {
    users: HashMap<UserId, u64>,
    names: HashMap<LoginName, u64>,
}

impl InFile {
    /// Returns the first conflict of a row with users and with previous rows.
    fn conflict(&self, known: &ExistingRecords, plan: &PlannedRow) -> Option<RowProblem> {
        let user = &plan.user;
        if let Some(before) = self.users.get(&user.id) {
            return Some(RowProblem::in_column(
                "name",
                format!("line {before} is about the same user"),
            ));
        }
        names_of(user).find_map(|(column, name)| {
            let owner = known.by_login.get(name);
            if owner.is_some_and(|owner| owner.id != user.id) {
                return Some(RowProblem::in_column(column, "it is taken"));
            }
            let before = self.names.get(name)?;
            Some(RowProblem::in_column(
                column,
                format!("line {before} has the same value; each value may occur once"),
            ))
        })
    }

    fn add(&mut self, plan: &PlannedRow) {
        let PlannedRow { line, user, .. } = plan;
        self.users.insert(user.id, *line);
        for (_, name) in names_of(user) {
            self.names.insert(name.clone(), *line);
        }
    }
}

/// Returns the names by which a user signs in, each with its column.
fn names_of(user: &User) -> impl Iterator<Item = (&'static str, &LoginName)> {
    let email = user.email.iter().filter(|email| **email != user.name);
    std::iter::once(("name", &user.name)).chain(email.map(|email| ("email", email)))
}

/// Returns a placeholder for the identifier of a new user until the user is stored. A real identifier needs a new key,
/// and most checked rows are never stored.
fn no_did() -> Did {
    Did::from_ed25519(&[0; 32])
}

fn plan(
    services: &Services,
    caller: &Caller,
    known: &ExistingRecords,
    row: &ImportRow,
) -> std::result::Result<PlannedRow, Stop> {
    let before = known.user(row)?.cloned();
    let mut user = match &before {
        Some(user) => user.clone(),
        None => {
            let name = row.filled("name").and_then(|name| name.parse().ok());
            let name = name.ok_or_else(|| RowProblem::in_column("name", "expected a name"))?;
            User {
                email_confirmed: caller.may(Permission::UsersManage),
                ..user_with(services, name, no_did())
            }
        }
    };
    let groups = known.groups.get(&user.id).map_or(&[][..], Vec::as_slice);
    if row
        .cell("groups")
        .is_some_and(|cell| !names_groups(cell, groups))
    {
        return Err(RowProblem::in_column(
            "groups",
            "an import of users cannot change groups; import the members of the group",
        )
        .into());
    }
    let change = change(row, &user)?;
    if let Some(DeniedMember { member, why }) = change.beyond(caller, before.as_ref()) {
        return Err(RowProblem::in_column(member, why).into());
    }
    let is_change = change.name.is_some()
        || change.email.is_some()
        || change.profile.is_some()
        || change.state.is_some();
    if is_change {
        apply_to_user(&mut user, change, caller)?;
    }
    let verified = [
        ("email_verified", &mut user.profile.email_verified),
        (
            "phone_number_verified",
            &mut user.profile.phone_number_verified,
        ),
    ];
    for (column, value) in verified {
        let Some(text) = row.filled(column) else {
            continue;
        };
        let wanted = match text.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(RowProblem::in_column(column, "expected true or false").into()),
        };
        if wanted != *value && !caller.may(Permission::UsersManage) {
            return Err(RowProblem::in_column(column, VOUCHING.0.why).into());
        }
        *value = wanted;
    }
    if user.profile.email_verified {
        user.confirm_email();
    }
    if before.is_none() {
        check_new_name(&user, caller)?;
    }
    if let Some(before) = before.as_ref().filter(|before| **before != user) {
        if before.state == LifecycleState::Terminated {
            return Err(AdminError::Conflict(
                "a terminated user cannot be updated; create a new one",
            )
            .into());
        }
        caller
            .authorize_user_access(before)
            .map_err(AdminError::from)?;
        user.updated_at = services.now();
    }
    Ok(PlannedRow {
        line: row.line,
        before,
        user,
    })
}

/// Returns the members with a cell that differs from the stored value. An empty cell removes the member.
fn other_texts(
    row: &ImportRow,
    texts: &[(&'static str, &'static str, Option<&String>)],
) -> Map<String, Value> {
    let mut others = Map::new();
    for (column, member, text) in texts {
        let Some(cell) = row.text(column) else {
            continue;
        };
        if cell != text.map_or("", String::as_str) {
            others.insert(
                (*member).to_owned(),
                if cell.is_empty() {
                    Value::Null
                } else {
                    json!(cell)
                },
            );
        }
    }
    others
}

/// Returns the difference between a row and the user.
fn change(row: &ImportRow, user: &User) -> std::result::Result<UserChange, RowProblem> {
    let name = row
        .cell("name")
        .filter(|name| !is_same_name(name, user.name.as_str()));
    let email = row
        .cell("email")
        .filter(|email| !is_same_name(email, user.email.as_ref().map_or("", LoginName::as_str)));
    let mut profile = other_texts(row, &texts(&user.profile));
    let address = other_texts(row, &address_texts(&user.profile));
    if !address.is_empty() {
        profile.insert("address".to_owned(), Value::Object(address));
    }
    let role = user
        .console_role
        .map(ConsoleRole::as_str)
        .unwrap_or_default();
    if row.cell("console_role").is_some_and(|cell| cell != role) {
        return Err(RowProblem::in_column(
            "console_role",
            "an import cannot change roles in the console; update the user separately",
        ));
    }
    let state = match row.filled("state") {
        None => None,
        Some(text) => {
            let state = LifecycleState::parse(text);
            let state = state.ok_or_else(|| {
                RowProblem::in_column("state", "expected invited, active or suspended")
            })?;
            if state == LifecycleState::Terminated && user.state != state {
                return Err(RowProblem::in_column(
                    "state",
                    "an import cannot terminate a user; update the user separately",
                ));
            }
            Some(state).filter(|state| *state != user.state)
        }
    };
    Ok(UserChange {
        name: name.map(str::to_owned),
        email: email.map(str::to_owned),
        email_confirmed: None,
        profile: (!profile.is_empty()).then_some(Some(profile)),
        console_role: None,
        state,
    })
}

/// Saves the users of a checked table. If a user changed since the check, only that row is rejected.
pub async fn save_users(
    services: &Services,
    by: &AuditContext,
    planned: PlannedUsers,
) -> Result<ImportReport> {
    let PlannedUsers { mut report, rows } = planned;
    let write = |row: PlannedRow| -> Result<RowWrite<UserWrite>> {
        let mut user = row.user;
        let entries = match &row.before {
            Some(before) => differences(services, before, &user, by),
            None => {
                user.did = fresh_did()?;
                vec![creation(services, &user, by)]
            }
        };
        Ok(RowWrite {
            line: row.line,
            is_new: row.before.is_none(),
            write: UserWrite {
                before: row.before.map(|before| before.state),
                user,
                entries,
            },
        })
    };
    save_rows(&mut report, rows.into_iter().map(write), |writes| {
        services.store.save_users(writes)
    })
    .await?;
    let (created, updated) = (report.created, report.updated);
    tracing::info!(created, updated, "users imported");
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(report)
}
