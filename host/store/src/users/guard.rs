//! The user as an administrator saw them.

use crate::sql::{self, Connection};

use crate::{Result, StoreError};
use assent_model::id::UserId;
use assent_model::user::User;

/// To whom something is done: to a person, whoever they are by now, or only as they were seen. What was checked of a
/// person holds for that version alone, so nothing is done to somebody who was given a role in the console meanwhile by
/// whoever may not act upon those who have one.
#[derive(Clone, Copy, Debug)]
pub struct UserGuard {
    id: UserId,
    version: Option<i64>,
}

impl From<UserId> for UserGuard {
    /// Whoever they are by now.
    fn from(id: UserId) -> Self {
        Self { id, version: None }
    }
}

impl From<&User> for UserGuard {
    /// As they were seen.
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            version: Some(user.version),
        }
    }
}

impl UserGuard {
    /// As they were seen in this version.
    pub(crate) const fn at_version(id: UserId, version: i64) -> Self {
        Self {
            id,
            version: Some(version),
        }
    }

    /// Holds a person who is to be as they were seen until the transaction ends: whoever changes them waits, or was
    /// before.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if they are not as they were seen.
    pub(crate) async fn lock(self, db: &mut Connection) -> Result<UserId> {
        let Some(version) = self.version else {
            return Ok(self.id);
        };
        let held = sql::query("UPDATE users SET version = version WHERE id = $1 AND version = $2")
            .bind(self.id.to_string())
            .bind(version)
            .execute(db)
            .await?;
        if held > 0 {
            Ok(self.id)
        } else {
            Err(StoreError::Stale)
        }
    }

    /// Refuses a person, who is held, where they are not as they were seen.
    ///
    /// # Errors
    /// [`StoreError::Stale`].
    pub(crate) fn check(self, user: &User) -> Result<()> {
        let is_seen = self.version.is_none_or(|version| version == user.version);
        if is_seen && self.id == user.id {
            Ok(())
        } else {
            Err(StoreError::Stale)
        }
    }
}
