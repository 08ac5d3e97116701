//! The stored users.

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result};
use assent_model::id::UserId;
use assent_model::user::User;

/// The user with this id.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user. Otherwise if the database fails.
pub async fn user(services: &Services, id: UserId) -> Result<User> {
    services
        .store
        .user(id)
        .await?
        .ok_or(AdminError::NotFound("user"))
}
