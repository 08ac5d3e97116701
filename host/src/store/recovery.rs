//! Recovery codes.

use super::{Result, Store, audit, devices};
use crate::clock::Timestamp;
use crate::id::{RecoveryCodeId, UserId};
use crate::model::audit::Entry;
use crate::model::device::Enrolment;
use crate::secret::Digest;

/// What is claimed by a code, and what is told of it.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The right that it gives, to the person whose code it is.
    pub enrolment: Enrolment,
    /// What the audit log is told if the code was good.
    pub used: Entry,
    /// What it is told if it was not, and the name is somebody's.
    pub refused: Entry,
}

impl Store {
    /// Gives a person these codes in place of those that they had.
    pub async fn set_recovery_codes(
        &self,
        user: UserId,
        codes: Vec<(RecoveryCodeId, Digest)>,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<()> {
        self.write(move |db| {
            let (codes, entries) = (codes.clone(), entries.clone());
            Box::pin(async move {
                sqlx::query("DELETE FROM recovery_codes WHERE user_id = $1")
                    .bind(user.to_string())
                    .execute(&mut *db)
                    .await?;
                for (id, digest) in codes {
                    sqlx::query("INSERT INTO recovery_codes (id, user_id, digest, created_at) VALUES ($1, $2, $3, $4)")
                        .bind(id.to_string())
                        .bind(user.to_string())
                        .bind(digest.to_text())
                        .bind(now.millis())
                        .execute(&mut *db)
                        .await?;
                }
                audit::append(db, &entries).await
            })
        })
        .await
    }

    /// How many codes a person has that were not used.
    pub async fn recovery_codes_left(&self, user: UserId) -> Result<u32> {
        let (left,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL")
                .bind(user.to_string())
                .fetch_one(&self.readers)
                .await?;
        Ok(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Uses a code up, for the right to enrol a device. Whether it was one that its person had not used; the person may sign
    /// in.
    pub async fn recover(&self, digest: Digest, recovery: Recovery, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            let Recovery { enrolment, used, refused } = recovery.clone();
            Box::pin(async move {
                let claimed: Option<(String,)> = sqlx::query_as(
                    "UPDATE recovery_codes SET used_at = $3
                     WHERE user_id = $1 AND digest = $2 AND used_at IS NULL
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'active')
                     RETURNING id",
                )
                .bind(enrolment.user_id.to_string())
                .bind(digest.to_text())
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    audit::append_if_about_somebody(db, &refused).await?;
                    return Ok(false);
                }
                devices::insert_enrolment(db, &enrolment, now).await?;
                audit::append(db, &[used]).await?;
                Ok(true)
            })
        })
        .await
    }
}
