//! Planning of accounts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::applications::Applications;
use super::change::{
    ChangeAction, Deleted, FieldChange, ObjectKind, Operation, PlannedChange, roles_change,
};
use super::groups::{Users, find_user};
use super::manifest::ManifestAccount;
use super::planner::{ManifestPosition, Planner, Referenced};
use crate::domain::accounts::new_account;
use crate::domain::admin::Result;
use crate::domain::admin::accounts::{must_be_free, valid_roles};
use assent_model::account::Account;
use assent_model::id::{AccountId, Did, UserId};
use assent_model::user::{LifecycleState, User};
use assent_store::UserAccount;

/// The accounts that exist, by application and user.
type Known = HashMap<Did, HashMap<UserId, Account>>;

/// Plans the accounts of a manifest.
///
/// # Errors
/// [`AdminError`](crate::domain::admin::AdminError) if the error is not about a value of the manifest.
pub(super) async fn plan(
    planner: &mut Planner<'_>,
    accounts: &[ManifestAccount],
    applications: &Applications,
    users: &Users,
) -> Result<()> {
    let known = existing_accounts(planner, accounts, applications, users).await?;
    let managed: HashSet<AccountId> = planner
        .state
        .accounts
        .iter()
        .map(|one| one.account.id)
        .collect();
    let mut named: HashSet<(Did, UserId)> = HashSet::new();
    for (index, account) in accounts.iter().enumerate() {
        let key = format!("{}/{}", account.application, account.user);
        let position = ManifestPosition {
            list: "accounts",
            index,
            key: &key,
        };
        let Some(application) = applications.get(&account.application) else {
            planner.reject_reference(&position, ObjectKind::Application, &account.application);
            continue;
        };
        let Some(user) = find_user(users, &account.user) else {
            let detail = format!("there is no user with the name {:?}", account.user);
            planner.reject(&position, "user", detail);
            continue;
        };
        if !named.insert((application.id.clone(), user.id)) {
            planner.reject(&position, "user", "expected each account once");
            continue;
        }
        let roles = valid_roles(account.roles.clone());
        let Some(roles) = planner.accept(&position, roles)? else {
            continue;
        };
        let before = known
            .get(&application.id)
            .and_then(|of| of.get(&user.id))
            .cloned();
        match before {
            Some(before) => {
                let is_managed = managed.contains(&before.id);
                plan_update(
                    planner,
                    key.clone(),
                    application,
                    user,
                    before,
                    roles,
                    is_managed,
                )?;
            }
            None => plan_new(planner, &position, application, user, roles).await?,
        }
    }
    plan_others(planner, &named)
}

/// Returns the existing accounts of the users in the applications.
async fn existing_accounts(
    planner: &Planner<'_>,
    accounts: &[ManifestAccount],
    applications: &Applications,
    users: &Users,
) -> Result<Known> {
    let mut wanted: HashMap<&Did, Vec<UserId>> = HashMap::new();
    for account in accounts {
        let application = applications.get(&account.application);
        if let (Some(application), Some(user)) = (application, find_user(users, &account.user))
            && application.version.is_some()
        {
            wanted.entry(&application.id).or_default().push(user.id);
        }
    }
    let mut known = Known::new();
    for (application, users) in wanted {
        let store = &planner.context.services.store;
        let found = store.accounts_of_users(application, &users).await?;
        known.insert(application.clone(), found);
    }
    Ok(known)
}

async fn plan_new(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    application: &Referenced<Did>,
    user: &User,
    roles: Vec<String>,
) -> Result<()> {
    let context = planner.context;
    if user.state == LifecycleState::Terminated {
        planner.reject(position, "user", "the user is terminated");
        return Ok(());
    }
    let authorization = context.caller.authorize_user_access(user)?;
    planner.authorizations.push(authorization);
    let account = Account {
        roles,
        ..new_account(&context.services, user, application.id.clone())
    };
    let is_free = must_be_free(&context.services, &account).await;
    if planner.accept(position, is_free)?.is_none() {
        return Ok(());
    }
    expect(planner, application, user);
    let fields = vec![roles_change(None, Some(&account.roles))];
    let operation = Operation::CreateAccount(UserAccount {
        user: Arc::new(user.clone()),
        account,
    });
    let change = PlannedChange::of_new(ObjectKind::Account, position.key, fields, operation);
    planner.changes.push(change.concerning(vec![user.id]));
    Ok(())
}

/// Adds the versions that the change of an account expects.
fn expect(planner: &mut Planner<'_>, application: &Referenced<Did>, user: &User) {
    planner.expected.users.push((user.id, user.version));
    if let Some(version) = application.version {
        planner
            .expected
            .applications
            .push((application.id.clone(), version));
    }
}

fn plan_update(
    planner: &mut Planner<'_>,
    key: String,
    application: &Referenced<Did>,
    user: &User,
    before: Account,
    roles: Vec<String>,
    is_managed: bool,
) -> Result<()> {
    if !before.state.is_open() {
        let state = before.state.as_str();
        planner
            .warnings
            .push(format!("the account {key} is {state}, and stays so"));
    }
    let after = Account {
        roles,
        individual: true,
        ..before.clone()
    };
    let is_changed = after.roles != before.roles || !before.individual;
    if is_managed && !is_changed {
        return Ok(());
    }
    let caller = &planner.context.caller;
    let authorization = caller
        .authorize_account_writes()?
        .and(caller.authorize_user_access(user)?);
    planner.authorizations.push(authorization);
    expect(planner, application, user);
    let mut fields = Vec::new();
    if after.roles != before.roles {
        fields.push(roles_change(Some(&before.roles), Some(&after.roles)));
    }
    if !before.individual {
        fields.push(FieldChange {
            name: "individual".to_owned(),
            before: json!(false),
            after: json!(true),
        });
    }
    let action = if is_managed {
        ChangeAction::Update
    } else {
        ChangeAction::Adopt
    };
    let change = PlannedChange::of_existing(
        action,
        ObjectKind::Account,
        key,
        before.id.to_string(),
        before.version,
        fields,
        Operation::UpdateAccount { before, after },
    );
    planner.changes.push(change.concerning(vec![user.id]));
    Ok(())
}

/// Plans the managed accounts that the manifest does not name. The accounts of a deleted application are deleted with
/// it.
fn plan_others(planner: &mut Planner<'_>, named: &HashSet<(Did, UserId)>) -> Result<()> {
    let mut others: Vec<(String, UserAccount)> = planner
        .state
        .accounts
        .iter()
        .filter(|UserAccount { account, .. }| {
            !named.contains(&(account.application_id.clone(), account.user_id))
        })
        .filter_map(|one| {
            let key = planner.state.application_key(&one.account.application_id)?;
            Some((format!("{key}/{}", one.user.name), one.clone()))
        })
        .collect();
    others.sort_by(|(one, _), (other, _)| one.cmp(other));
    let deleted = Deleted::of(&planner.changes);
    for (key, one) in others {
        if deleted.applications.contains(&one.account.application_id)
            || !planner.deletes(ObjectKind::Account, &key)
        {
            continue;
        }
        let caller = &planner.context.caller;
        let authorization = caller
            .authorize_account_writes()?
            .and(caller.authorize_user_access(&one.user)?);
        planner.authorizations.push(authorization);
        planner.expected.users.push((one.user.id, one.user.version));
        let user = one.user.id;
        let change = PlannedChange::of_existing(
            ChangeAction::Delete,
            ObjectKind::Account,
            key,
            one.account.id.to_string(),
            one.account.version,
            vec![roles_change(Some(&one.account.roles), None)],
            Operation::DeleteAccount(one),
        );
        planner.changes.push(change.concerning(vec![user]));
    }
    Ok(())
}
