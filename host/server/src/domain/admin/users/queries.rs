//! The stored users.

use std::collections::HashMap;

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result, invalid};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::user::{LifecycleState, User};

/// Returns the number of users in a state, or of all.
pub async fn count_users(services: &Services, state: Option<LifecycleState>) -> Result<u64> {
    let counts = services.store.users_by_state().await?;
    let wanted = counts
        .into_iter()
        .filter(|(one, _)| state.is_none_or(|state| state == *one));
    Ok(wanted.map(|(_, count)| count).sum())
}

/// What lists show of users besides the users themselves. A user without a value is missing.
#[derive(Clone, Debug, Default)]
pub struct UserNotes {
    /// The time of the last sign-in with an approval.
    pub sign_ins: HashMap<UserId, Timestamp>,
    /// The number of open reports.
    pub reports: HashMap<UserId, u64>,
    /// The end of the running cooldown.
    pub cooldowns: HashMap<UserId, Timestamp>,
}

/// Returns what lists show of these users.
pub async fn notes_of_users(services: &Services, users: &[UserId]) -> Result<UserNotes> {
    let store = &services.store;
    let (sign_ins, reports, cooldowns) = tokio::try_join!(
        store.last_sign_ins(users),
        store.open_reports_of(users),
        store.cooldowns_of(users, services.now()),
    )?;
    Ok(UserNotes {
        sign_ins,
        reports,
        cooldowns,
    })
}

/// Returns the user with this identifier.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn user(services: &Services, id: UserId) -> Result<User> {
    services
        .store
        .user(id)
        .await?
        .ok_or(AdminError::NotFound("user"))
}

/// Returns the users that the member `users` of a command names by their identifiers, each once, in the order of the
/// identifiers.
///
/// # Errors
/// [`AdminError::Invalid`] if there is no user with one of the identifiers.
pub async fn named_users(services: &Services, ids: &[UserId]) -> Result<Vec<User>> {
    let mut users = services.store.users_by_ids(ids).await?;
    if let Some(missing) = ids.iter().find(|id| !users.contains_key(id)) {
        return Err(invalid(
            "users",
            format!("there is no user with the id {missing}"),
        ));
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    Ok(ids.iter().filter_map(|id| users.remove(id)).collect())
}
