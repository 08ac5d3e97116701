//! Accounts: people in applications.

use serde_json::{Map, Value, json};

use super::users::{changed, user};
use super::{Guard, Refused, Result, invalid, registered};
use crate::domain::signals::Signal;
use crate::domain::{Host, audit};
use crate::id::{AccountId, Did, UserId};
use crate::model::account::Account;
use crate::model::audit::{By, Entry, Event};
use crate::model::name::display_text;
use crate::model::user::{LifeState, User};
use crate::store::{Person, StoreError};

/// What an administrator says of an account. `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    /// What the application calls the person.
    pub name: Option<String>,
    /// The person's roles there.
    pub roles: Option<Vec<String>>,
    /// Whether the account may be used.
    pub state: Option<LifeState>,
}

/// An entry of the audit log about an account.
fn about(host: &Host, event: Event, account: &Account, by: &By) -> Entry {
    audit::entry(host, event, by)
        .about(account.user_id)
        .of(account.application_id.clone())
        .with("account", account.id.to_string())
}

/// What an account says about its person: what they are called there, and what they do.
fn shown(account: &Account) -> Map<String, Value> {
    Map::from_iter([("name".to_owned(), json!(account.name)), ("roles".to_owned(), json!(account.roles))])
}

/// Gives a person an account in an application. It is active at once, unless it is made to be invited until the person
/// first signs in.
pub async fn create_account(
    host: &Host,
    user_id: UserId,
    application_id: &Did,
    change: AccountChange,
    by: &By,
    guard: Guard<'_, User>,
) -> Result<Account> {
    registered(host, application_id).await?;
    let account = loop {
        let user = user(host, user_id).await?;
        guard(&user)?;
        let mut account = new_account(host, &user, application_id.clone());
        account.state = change.state.unwrap_or(LifeState::Active);
        if !account.state.is_open() {
            return Err(invalid("state", "a new account is invited or active"));
        }
        apply_to_account(&mut account, change.clone())?;
        match host.store.insert_account(account.clone(), &user, vec![creation(host, &account, by)]).await {
            Err(StoreError::Stale) => {}
            kept => {
                kept?;
                break account;
            }
        }
    };
    tracing::info!(account = %account.id, user = %user_id, application = %application_id, "account created");
    Ok(account)
}

/// What the audit log is told of a new account.
pub(super) fn creation(host: &Host, account: &Account, by: &By) -> Entry {
    about(host, Event::AccountCreated, account, by)
        .with("state", account.state.as_str())
        .personal("after", Value::Object(shown(account)))
}

/// An account without roles, named as the user is, not yet kept.
pub fn new_account(host: &Host, user: &User, application: Did) -> Account {
    let now = host.now();
    Account {
        id: AccountId::new(now, &*host.entropy),
        user_id: user.id,
        application_id: application,
        name: user.name.to_string(),
        roles: Vec::new(),
        short_code: short_code(host),
        state: LifeState::Active,
        version: 1,
        created_at: now,
    }
}

/// Ten characters that can't be mistaken for each other.
fn short_code(host: &Host) -> String {
    const ALPHABET: [char; 31] = [
        '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P',
        'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y',
    ];
    let draw = |_| ALPHABET.get(host.entropy.below(31) as usize).copied().unwrap_or('2');
    (0..10).map(draw).collect()
}

/// The account with this id.
pub async fn account(host: &Host, id: AccountId) -> Result<Account> {
    host.store.account(id).await?.ok_or(Refused::NotFound("account"))
}

/// The account with this id, and whose it is.
async fn person(host: &Host, id: AccountId) -> Result<Person> {
    host.store.person(id).await?.ok_or(Refused::NotFound("account"))
}

/// Up to `limit` accounts of an application after `after`; of a state alone, where that is given.
pub async fn accounts(
    host: &Host,
    id: &Did,
    state: Option<LifeState>,
    after: Option<AccountId>,
    limit: u32,
) -> Result<Vec<Account>> {
    registered(host, id).await?;
    Ok(host.store.accounts_of(id, state, after, limit).await?)
}

/// Up to `limit` accounts of a person after `after`.
pub async fn accounts_of_user(host: &Host, id: UserId, after: Option<AccountId>, limit: u32) -> Result<Vec<Account>> {
    user(host, id).await?;
    Ok(host.store.accounts_of_user(id, after, limit).await?)
}

/// Changes an account. Where its state changes, what was begun with it is over.
pub async fn change_account(
    host: &Host,
    id: AccountId,
    change: AccountChange,
    by: &By,
    guard: Guard<'_, Person>,
) -> Result<Account> {
    loop {
        let person = person(host, id).await?;
        guard(&person)?;
        let Person { user, account: before } = person;
        let mut account = before.clone();
        apply_to_account(&mut account, change.clone())?;
        let entries = differences(host, &before, &account, by);
        match host.store.update_account(account.clone(), &user, before.state, entries, host.now()).await {
            Err(StoreError::Stale) | Ok(false) => continue,
            kept => kept?,
        };
        tracing::info!(account = %id, state = ?account.state, "account changed");
        host.signals.send(Signal::LoggedOut);
        account.version += 1;
        return Ok(account);
    }
}

/// What the audit log is told of a change: what was there before and what is there now, of what is not as it was.
pub(super) fn differences(host: &Host, before: &Account, after: &Account, by: &By) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (was, is) = changed(shown(before), shown(after));
    if !is.is_empty() {
        let entry = about(host, Event::AccountChanged, after, by);
        entries.push(entry.personal("before", Value::Object(was)).personal("after", Value::Object(is)));
    }
    if before.state != after.state {
        let entry = about(host, Event::AccountStateChanged, after, by);
        entries.push(audit::of_state(entry, before.state, after.state));
    }
    entries
}

pub(super) fn apply_to_account(account: &mut Account, change: AccountChange) -> Result<()> {
    if let Some(name) = change.name {
        account.name = display_text(&name, 128)
            .ok_or_else(|| invalid("name", "expected 1 to 128 characters, none of them control characters"))?;
    }
    if let Some(roles) = change.roles {
        if roles.len() > 500 || roles.iter().any(|role| display_text(role, 128).as_deref() != Some(role.as_str())) {
            return Err(invalid("roles", "expected at most 500 roles of 1 to 128 characters, no blanks around them"));
        }
        account.roles = roles;
    }
    if let Some(state) = change.state {
        account.state = account.state.to(state).map_err(|error| invalid("state", error.to_string()))?;
    }
    Ok(())
}

/// Deletes an account.
pub async fn delete_account(host: &Host, id: AccountId, by: &By, guard: Guard<'_, Person>) -> Result<()> {
    loop {
        let person = person(host, id).await?;
        guard(&person)?;
        let Person { user, account } = person;
        let entry = about(host, Event::AccountDeleted, &account, by).personal("before", Value::Object(shown(&account)));
        match host.store.delete_account((id, account.version), &user, vec![entry], host.now()).await {
            Err(StoreError::Stale) | Ok(false) => {}
            deleted => {
                deleted?;
                break;
            }
        }
    }
    host.signals.send(Signal::LoggedOut);
    tracing::info!(account = %id, "account deleted");
    Ok(())
}
