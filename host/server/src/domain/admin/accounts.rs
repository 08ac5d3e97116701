//! Accounts: the users of applications.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::execution::{Execution, Recorder, Writes, version_of};
use super::users::{differing_members, user};
use super::{AdminError, Names, Result, invalid, registered_application};
use crate::domain::accounts::new_account;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::{ProtectedAccountChange, ProtectedAction};
use crate::domain::{Services, audit};
use assent_model::account::Account;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::group::AssignedGroup;
use assent_model::id::{AccountId, Did, UserId};
use assent_model::name::{composed, display_text};
use assent_model::user::{LifecycleState, User};
use assent_store::{AdminWrite, UserAccount};

assent_model::admin_command! {
    /// A new account.
    #[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct NewAccount, protected ProtectedNewAccountMembers {
        /// The user.
        harmless user_id: String,
        /// The user's name in the application; by default the user's name at sign-in.
        protected name: Option<String>,
        /// The user's roles in the application.
        harmless roles: Option<Vec<String>>,
        /// The lifecycle state; by default active. An invited account becomes active at the first sign-in.
        harmless state: Option<LifecycleState>,
    }
}

assent_model::resource! {
    /// A user's membership in an application.
    #[derive(Serialize, ToSchema)]
    #[schema(as = Account)]
    pub struct AccountDocument;

    /// An update of an account. A missing member leaves its value unchanged.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct AccountChange, protected ProtectedAccountMembers;

    /// The identifier.
    shown id: String,
    /// The identifier of the user.
    shown user_id: String,
    /// The user's name at sign-in.
    shown user_name: Option<String>,
    /// The identifier of the application.
    shown application_id: String,
    /// The display name of the application.
    shown application_name: Option<String>,
    /// The user's name in the application.
    protected plain name: String,
    /// The roles of the account itself; null removes all. Those of assignments are added to them.
    harmless emptied roles: Vec<String>,
    /// The lifecycle state.
    protected sent state: LifecycleState,
    /// The roles that the application receives: those of the account, of the groups and of everyone.
    shown effective_roles: Vec<String>,
    /// Whether the account itself grants access. With `false` the user has access only by groups and by an assignment
    /// to everyone.
    harmless plain individual: bool,
    /// The groups of the user that the application is assigned to.
    shown groups: Vec<AccountGroup>,
    /// Whether the application is assigned to everyone.
    shown everyone: bool,
    /// The claim `user_short_code`.
    shown short_code: String,
    /// The lifecycle state.
    shown state: LifecycleState,
    /// When it was created.
    #[schema(format = DateTime)]
    shown created_at: String,
}

/// A group by which a user has access to an application.
#[derive(Serialize, ToSchema)]
pub struct AccountGroup {
    /// The name.
    name: String,
    /// The roles of its members in the application.
    roles: Vec<String>,
}

impl AccountDocument {
    /// Describes an account as it is stored.
    pub fn new(account: Account, names: &Names) -> Self {
        let group = |AssignedGroup { name, roles, .. }| AccountGroup { name, roles };
        Self {
            effective_roles: account.effective_roles(),
            id: account.id.to_string(),
            user_id: account.user_id.to_string(),
            user_name: names.user(account.user_id),
            application_name: names.application(&account.application_id),
            application_id: account.application_id.to_string(),
            name: account.name,
            roles: account.roles,
            individual: account.individual,
            groups: account.assigned.groups.into_iter().map(group).collect(),
            everyone: account.assigned.everyone.is_some(),
            short_code: account.short_code,
            state: account.state,
            created_at: audit::moment_text(account.created_at),
        }
    }
}

/// Returns an entry of the audit log about an account.
fn about(services: &Services, event: Event, account: &Account, by: &AuditContext) -> Entry {
    audit::entry(services, event, by)
        .about(account.user_id)
        .in_application(account.application_id.clone())
        .with("account", account.id.to_string())
}

/// Returns the members of an account that describe its user: the name and the roles.
fn audited_members(account: &Account) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), json!(account.name)),
        ("roles".to_owned(), json!(account.roles)),
        ("individual".to_owned(), json!(account.individual)),
    ])
}

assent_model::admin_command! {
    /// Creates an account for a user in an application. The account is active at once, unless its state is invited:
    /// then it becomes active at the first sign-in.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateAccount {
        /// The application.
        target application: Did,
        /// The account.
        classified account: NewAccount,
    }
}

impl AdminCommand for CreateAccount {
    type Plan = UserAccount;
    type Outcome = Account;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<UserAccount>> {
        let services = &context.services;
        let NewAccount {
            user_id,
            roles,
            state,
            ..
        } = &self.account;
        let ProtectedNewAccountMembers { name } = self.account.protected();
        registered_application(services, &self.application).await?;
        let id = user_id.parse().map_err(|_| AdminError::NotFound("user"))?;
        let user = user(services, id).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        let mut account = new_account(services, &user, self.application.clone());
        account.state = state.unwrap_or(LifecycleState::Active);
        if !account.state.is_open() {
            return Err(invalid("state", "a new account is invited or active"));
        }
        let change = AccountChange {
            name: name.clone(),
            roles: roles.clone(),
            state: *state,
            individual: None,
        };
        apply_to_account(&mut account, change)?;
        let is_renamed = account.name != user.name.as_str();
        if is_renamed {
            must_be_free(services, &account).await?;
        }
        let action = is_renamed.then(|| ProtectedAction::CreateAccount {
            user: user.id,
            application: self.application.clone(),
            name: account.name.clone(),
        });
        Ok(Planned::new(
            authorization,
            UserAccount {
                user: Arc::new(user),
                account,
            },
            action,
        ))
    }

    async fn execute(approved: ApprovedPlan<'_, UserAccount>) -> Result<Execution<Account>> {
        let (UserAccount { user, account }, recorder) = approved.into_parts();
        let writes = account_creation(&recorder, account.clone());
        let written = recorder.execute(version_of(&user), writes).await?;
        Ok(written.map(|()| {
            let application = &account.application_id;
            tracing::info!(account = %account.id, user = %user.id, %application, "account created");
            account
        }))
    }
}

/// Rejects a name that another account of the application has.
pub(super) async fn must_be_free(services: &Services, account: &Account) -> Result<()> {
    let named = services
        .store
        .accounts_by_names(&account.application_id, std::slice::from_ref(&account.name))
        .await?;
    if named.is_empty() {
        Ok(())
    } else {
        Err(AdminError::TakenAt(
            "name",
            "an account of this application has the name",
        ))
    }
}

/// Returns the entry of the audit log about a new account.
pub(super) fn creation(services: &Services, account: &Account, by: &AuditContext) -> Entry {
    about(services, Event::AccountCreated, account, by)
        .with("state", account.state.as_str())
        .personal("after", Value::Object(audited_members(account)))
}

/// Adds an account.
pub(super) fn account_creation(recorder: &Recorder<'_>, account: Account) -> Writes {
    let entry = creation(recorder.services, &account, recorder.by);
    vec![(
        AdminWrite::InsertAccount(account),
        vec![recorder.with_plan(entry)],
    )]
}

/// Replaces an account.
pub(super) fn account_update(recorder: &Recorder<'_>, before: &Account, after: Account) -> Writes {
    let (services, by) = (recorder.services, recorder.by);
    let mut entries = differences(services, before, &after, by);
    if let (Some((owner, _)), true) = (&recorder.manifest, entries.is_empty()) {
        // The owner adopts the account without a change.
        let entry = about(services, Event::AccountUpdated, &after, by);
        entries.push(entry.with("managed_by", owner.as_str()));
    }
    let entries = entries
        .into_iter()
        .map(|entry| recorder.with_plan(entry))
        .collect();
    vec![(AdminWrite::UpdateAccount(after, before.state), entries)]
}

/// Deletes an account.
pub(super) fn account_deletion(recorder: &Recorder<'_>, account: Account) -> Writes {
    let entry = about(
        recorder.services,
        Event::AccountDeleted,
        &account,
        recorder.by,
    )
    .personal("before", Value::Object(audited_members(&account)));
    vec![(
        AdminWrite::DeleteAccount(account),
        vec![recorder.with_plan(entry)],
    )]
}

/// Returns the account with this id.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such account.
pub async fn account(services: &Services, id: AccountId) -> Result<Account> {
    services
        .store
        .account(id)
        .await?
        .ok_or(AdminError::NotFound("account"))
}

/// Returns the account with this id, and its user.
async fn account_with_user(services: &Services, id: AccountId) -> Result<UserAccount> {
    services
        .store
        .account_with_user(id)
        .await?
        .ok_or(AdminError::NotFound("account"))
}

/// Returns up to `limit` accounts of an application after `after`. With a state, returns only accounts in that state.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn accounts(
    services: &Services,
    id: &Did,
    state: Option<LifecycleState>,
    after: Option<AccountId>,
    limit: u32,
) -> Result<Vec<Account>> {
    registered_application(services, id).await?;
    Ok(services.store.accounts_of(id, state, after, limit).await?)
}

/// Returns up to `limit` accounts of a user after `after`.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn accounts_of_user(
    services: &Services,
    id: UserId,
    after: Option<AccountId>,
    limit: u32,
) -> Result<Vec<Account>> {
    user(services, id).await?;
    Ok(services.store.accounts_of_user(id, after, limit).await?)
}

assent_model::admin_command! {
    /// Updates an account. A change of its state ends the sign-ins and tokens that began before.
    #[derive(Clone, Debug, Serialize)]
    pub struct UpdateAccount {
        /// The account.
        target account: AccountId,
        /// The update.
        classified change: AccountChange,
    }
}

/// An account before and after an update, and its user.
#[derive(Clone, Debug)]
pub struct AccountUpdate {
    user: Arc<User>,
    before: Account,
    after: Account,
}

impl AdminCommand for UpdateAccount {
    type Plan = AccountUpdate;
    type Outcome = Account;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<AccountUpdate>> {
        let (services, caller, change) = (&context.services, &context.caller, &self.change);
        let ProtectedAccountMembers { name, state } = change.protected();
        let is_terminated = *state == Some(LifecycleState::Terminated);
        let changes_access = change.roles.is_some() || change.individual.is_some();
        if name.is_some() || changes_access || is_terminated {
            caller.authorize_account_writes()?;
        }
        let UserAccount {
            user,
            account: before,
        } = account_with_user(services, self.account).await?;
        let authorization = caller.authorize_user_access(&user)?;
        context.expected.check(before.version)?;
        let mut after = before.clone();
        apply_to_account(&mut after, change.clone())?;
        let mut changes = Vec::new();
        if after.name != before.name {
            must_be_free(services, &after).await?;
            changes.push(ProtectedAccountChange::Name(after.name.clone()));
        }
        if is_terminated {
            changes.push(ProtectedAccountChange::Terminate);
        }
        let action = (!changes.is_empty()).then_some(ProtectedAction::UpdateAccount {
            account: before.id,
            changes,
        });
        let plan = AccountUpdate {
            user,
            before,
            after,
        };
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, AccountUpdate>) -> Result<Execution<Account>> {
        let (plan, recorder) = approved.into_parts();
        let services = recorder.services;
        let AccountUpdate {
            user,
            before,
            mut after,
        } = plan;
        let writes = account_update(&recorder, &before, after.clone());
        let written = recorder.execute(version_of(&user), writes).await?;
        Ok(written.map(|()| {
            tracing::info!(account = %after.id, state = after.state.as_str(), "account updated");
            services.wakeups.send(Wakeup::LoggedOut);
            after.version += 1;
            after
        }))
    }
}

/// Returns the changed members for the audit log, with their old and new values.
pub(super) fn differences(
    services: &Services,
    before: &Account,
    after: &Account,
    by: &AuditContext,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (was, is) = differing_members(audited_members(before), audited_members(after));
    if !is.is_empty() {
        let entry = about(services, Event::AccountUpdated, after, by);
        entries.push(
            entry
                .personal("before", Value::Object(was))
                .personal("after", Value::Object(is)),
        );
    }
    if before.state != after.state {
        let entry = about(services, Event::AccountLifecycleChanged, after, by);
        entries.push(audit::of_state(entry, before.state, after.state));
    }
    entries
}

/// Validates the roles of an account or an assignment.
pub(super) fn valid_roles(roles: Vec<String>) -> Result<Vec<String>> {
    let is_valid = |role: &String| display_text(role, 128).as_deref() == Some(role.as_str());
    if roles.len() > 500 || !roles.iter().all(is_valid) {
        return Err(invalid(
            "roles",
            "expected at most 500 roles of 1 to 128 characters, no blanks around them",
        ));
    }
    Ok(roles)
}

pub(super) fn apply_to_account(account: &mut Account, change: AccountChange) -> Result<()> {
    let AccountChange {
        name,
        roles,
        state,
        individual,
    } = change;
    account.individual = individual.unwrap_or(account.individual);
    if let Some(name) = name {
        account.name = display_text(&composed(&name), 128)
            .ok_or_else(|| invalid("name", "use 1 to 128 characters without control characters"))?;
    }
    if let Some(roles) = roles {
        account.roles = valid_roles(roles)?;
    }
    if let Some(state) = state {
        account.state = account
            .state
            .transition_to(state)
            .map_err(|error| invalid("state", error.to_string()))?;
    }
    Ok(())
}

assent_model::admin_command! {
    /// Deletes an account.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct DeleteAccount(target AccountId);
}

impl AdminCommand for DeleteAccount {
    type Plan = UserAccount;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<UserAccount>> {
        let user_account = account_with_user(&context.services, self.0).await?;
        let authorization = context.caller.authorize_user_access(&user_account.user)?;
        context.expected.check(user_account.account.version)?;
        let action = ProtectedAction::DeleteAccount(user_account.account.id);
        Ok(Planned::protected(authorization, user_account, action))
    }

    async fn execute(approved: ApprovedPlan<'_, UserAccount>) -> Result<Execution<()>> {
        let (UserAccount { user, account }, recorder) = approved.into_parts();
        let services = recorder.services;
        let writes = account_deletion(&recorder, account.clone());
        let written = recorder.execute(version_of(&user), writes).await?;
        Ok(written.map(|()| {
            services.wakeups.send(Wakeup::LoggedOut);
            tracing::info!(account = %account.id, "account deleted");
        }))
    }
}
