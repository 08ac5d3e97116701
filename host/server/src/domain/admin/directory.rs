//! Finding users and accounts.

use super::{Result, registered_application};
use crate::domain::Services;
use assent_model::account::Account;
use assent_model::id::{AccountId, Did, UserId};
use assent_model::search::{Cursor, Prefix};
use assent_model::user::{ConsoleRole, LifecycleState, User};

/// A query for users.
#[derive(Clone, Debug)]
pub struct UserQuery {
    /// The beginning of the user name, of the email address or of a word of the full name. Or a complete id, `did` or
    /// `sub`.
    pub q: String,
    /// Only users in this state.
    pub state: Option<LifecycleState>,
    /// Only users with this role in the console.
    pub role: Option<ConsoleRole>,
    /// The position of the last user of the previous page.
    pub after: Option<Cursor>,
}

/// Returns up to `limit` matching users, each with its position, in the order of the matching search terms.
pub async fn find_users(
    services: &Services,
    query: &UserQuery,
    limit: u32,
) -> Result<Vec<(Cursor, User)>> {
    let fits = |user: &User| {
        query.state.is_none_or(|state| user.state == state)
            && query
                .role
                .is_none_or(|role| user.console_role == Some(role))
    };
    // An identifier names one user. A user name looks like an identifier only by chance.
    if query.after.is_none()
        && let Some(user) = find_by_identifier(services, query.q.trim()).await?
    {
        return Ok(Some(user)
            .filter(fits)
            .map(|user| (Cursor::default(), user))
            .into_iter()
            .collect());
    }
    let Some(prefix) = Prefix::parse(&query.q) else {
        return Ok(Vec::new());
    };
    let after = query.after.clone().unwrap_or_default();
    Ok(services
        .store
        .search_users(&prefix, query.state, query.role, &after, limit)
        .await?)
}

async fn find_by_identifier(services: &Services, text: &str) -> Result<Option<User>> {
    if let Ok(id) = text.parse::<UserId>() {
        return Ok(services.store.user(id).await?);
    }
    if let Ok(did) = text.parse::<Did>() {
        return Ok(services.store.user_by_did(&did).await?);
    }
    Ok(services.store.user_by_subject(text).await?)
}

/// A query for accounts of an application.
#[derive(Clone, Debug)]
pub struct AccountQuery {
    /// The beginning of the account's name or of a search term of its user, or the complete id of either.
    pub q: String,
    /// Only accounts in this state.
    pub state: Option<LifecycleState>,
    /// The position of the last account of the previous page.
    pub after: Option<Cursor>,
}

/// Returns up to `limit` matching accounts of an application, each with its position, in the order of the matching
/// search terms.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn find_accounts(
    services: &Services,
    id: &Did,
    query: &AccountQuery,
    limit: u32,
) -> Result<Vec<(Cursor, Account)>> {
    registered_application(services, id).await?;
    if query.after.is_none()
        && let Some(account) = account_by_text(services, id, query.q.trim()).await?
    {
        let fits = query.state.is_none_or(|state| account.state == state);
        return Ok(fits
            .then(|| (Cursor::default(), account))
            .into_iter()
            .collect());
    }
    let Some(prefix) = Prefix::parse(&query.q) else {
        return Ok(Vec::new());
    };
    let after = query.after.clone().unwrap_or_default();
    Ok(services
        .store
        .search_accounts(id, &prefix, query.state, &after, limit)
        .await?)
}

async fn account_by_text(
    services: &Services,
    application: &Did,
    text: &str,
) -> Result<Option<Account>> {
    if let Ok(id) = text.parse::<AccountId>()
        && let Some(account) = services.store.account(id).await?
    {
        return Ok(Some(account).filter(|account| account.application_id == *application));
    }
    match text.parse::<UserId>() {
        Ok(user) => Ok(services.store.account_of(user, application).await?),
        Err(_) => Ok(None),
    }
}
