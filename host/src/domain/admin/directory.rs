//! Finding users.

use super::Result;
use crate::domain::Host;
use crate::id::{Did, UserId};
use crate::model::user::{ConsoleRole, LifeState, User};

/// Which users are looked for.
#[derive(Clone, Debug)]
pub struct UserQuery {
    /// How the name or the e-mail address begins; or a whole id, `did` or `sub`.
    pub q: String,
    /// Those in this state alone.
    pub state: Option<LifeState>,
    /// Those with this role in the console alone.
    pub role: Option<ConsoleRole>,
    /// The cursor of the last one that is known.
    pub after: Option<String>,
}

/// Up to `limit` users that fit, each with its cursor, in the order of the names that fit.
pub async fn find_users(host: &Host, query: &UserQuery, limit: u32) -> Result<Vec<(String, User)>> {
    let fits = |user: &User| {
        query.state.is_none_or(|state| user.state == state)
            && query.role.is_none_or(|role| user.console_role == Some(role))
    };
    // An identifier names one user, and no name looks like one but by chance.
    if query.after.is_none()
        && let Some(user) = named(host, query.q.trim()).await?
    {
        return Ok(Some(user).filter(fits).map(|user| (user.id.to_string(), user)).into_iter().collect());
    }
    // Names are kept in lower case.
    let prefix = query.q.trim().to_lowercase();
    let after = query.after.as_deref().unwrap_or_default();
    Ok(host.store.users_named(&prefix, query.state, query.role, after, limit).await?)
}

async fn named(host: &Host, text: &str) -> Result<Option<User>> {
    if let Ok(id) = text.parse::<UserId>() {
        return Ok(host.store.user(id).await?);
    }
    if let Ok(did) = text.parse::<Did>() {
        return Ok(host.store.user_by_did(&did).await?);
    }
    Ok(host.store.user_by_subject(text).await?)
}
