//! The version of a user that an administrator saw.

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::{Result, StoreError};
use assent_model::id::UserId;
use assent_model::user::User;

/// The user that an action concerns: in any version, or only in the version that was read. The checks of a user hold
/// only for that version. The user may have received a console role meanwhile, and the administrator may lack the
/// permission to act upon such users.
#[derive(Clone, Copy, Debug)]
pub struct UserGuard {
    id: UserId,
    version: Option<i64>,
}

impl From<UserId> for UserGuard {
    /// Accepts any version of the user.
    fn from(id: UserId) -> Self {
        Self { id, version: None }
    }
}

impl From<&User> for UserGuard {
    /// Accepts only the version that was read.
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            version: Some(user.version),
        }
    }
}

impl UserGuard {
    /// Accepts only this version.
    pub(crate) const fn at_version(id: UserId, version: i64) -> Self {
        Self {
            id,
            version: Some(version),
        }
    }

    /// Locks the user until the transaction ends, if the guard has a version. A concurrent change of the user waits, or
    /// came first.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if the user has another version.
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

    /// Fails if a locked user does not have the expected version.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if the user has another version.
    pub(crate) fn check(self, user: &User) -> Result<()> {
        let is_seen = self.version.is_none_or(|version| version == user.version);
        if is_seen && self.id == user.id {
            Ok(())
        } else {
            Err(StoreError::Stale)
        }
    }
}
