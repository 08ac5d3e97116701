//! Recovery codes.

use std::sync::Arc;

use crate::engine::rows::moment;
use crate::engine::sql;
use crate::tables::devices::enrolment_links;
use crate::tables::devices::enrolment_links::EnrolmentRow;
use crate::{Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::{Enrolment, LinkState};
use assent_model::id::{DeviceId, EnrolmentId, UserId};
use assent_model::secret::Digest;

/// Whether a link is that of an earlier use of the same code in the same browser, by the link's id and digest.
pub type IsOwnLink = Arc<dyn Fn(EnrolmentId, Digest) -> bool + Send + Sync>;

/// The outcome of the use of a recovery code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeUse {
    /// The code was used now.
    Done,
    /// The same browser used the code before, and its link is still open.
    Repeated(EnrolmentId),
    /// The code is unknown or used, or the user may not sign in.
    NotOpen,
}

/// The claim of a recovery code, with its entries for the audit log.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// The enrolment link that the code grants to its user.
    pub enrolment: Enrolment,
    /// The entry if the code was valid.
    pub used: Entry,
    /// The entry if the code was not valid, and the name belongs to a user.
    pub refused: Entry,
}

/// The link that the use of a code created, if it is open at `now`.
async fn link_of_code(
    db: &mut sql::Connection,
    user: UserId,
    code: Digest,
    now: Timestamp,
) -> Result<Option<Enrolment>> {
    let row: Option<EnrolmentRow> = sql::query_as(sql::statement!(
        "SELECT ",
        EnrolmentRow::COLUMNS,
        " FROM enrolments WHERE user_id = $1 AND id = (SELECT enrolment_id FROM recovery_codes
                                                       WHERE user_id = $1 AND digest = $2)"
    ))
    .bind(user.to_string())
    .bind(code.to_text())
    .fetch_optional(db)
    .await?;
    row.filter(|row| row.state_at(now) == LinkState::Open)
        .map(Enrolment::try_from)
        .transpose()
}

impl Store {
    /// The number of a user's unused codes.
    pub async fn recovery_codes_left(&self, user: UserId) -> Result<u32> {
        let (left,): (i64,) = sql::query_as(
            "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL AND is_pending = 0",
        )
        .bind(user.to_string())
        .fetch_one(&self.readers)
        .await?;
        Ok(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// When a user's device created the unused codes; `None` if there are none.
    pub async fn recovery_codes_made_by(
        &self,
        user: UserId,
        device: DeviceId,
    ) -> Result<Option<Timestamp>> {
        let (at,): (Option<i64>,) = sql::query_as(
            "SELECT MAX(created_at) FROM recovery_codes
             WHERE user_id = $1 AND created_by = $2 AND used_at IS NULL AND is_pending = 0",
        )
        .bind(user.to_string())
        .bind(device.to_string())
        .fetch_one(&self.readers)
        .await?;
        Ok(at.map(moment))
    }

    /// Uses a code and adds the enrolment link for a new device. A code that was used returns its open link again, if
    /// `is_own` accepts the link: the response may have been lost.
    pub async fn recover(
        &self,
        digest: Digest,
        recovery: Recovery,
        is_own: IsOwnLink,
        now: Timestamp,
    ) -> Result<CodeUse> {
        self.write((recovery, is_own), move |db, (recovery, is_own)| {
            Box::pin(async move {
                let Recovery { enrolment, used, refused } = recovery;
                let claimed: Option<(String,)> = sql::query_as(
                    "UPDATE recovery_codes SET used_at = $3, enrolment_id = $4
                     WHERE user_id = $1 AND digest = $2 AND used_at IS NULL AND is_pending = 0
                       AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'active')
                     RETURNING id",
                )
                .bind(enrolment.user_id.to_string())
                .bind(digest.to_text())
                .bind(now.millis())
                .bind(enrolment.id.to_string())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    let earlier = link_of_code(db, enrolment.user_id, digest, now).await?;
                    let own = earlier.filter(|link| is_own(link.id, link.digest));
                    if let Some(link) = own {
                        return Ok(CodeUse::Repeated(link.id));
                    }
                    audit::append_if_about_user(db, refused, true).await?;
                    return Ok(CodeUse::NotOpen);
                }
                enrolment_links::insert_enrolment(db, enrolment, now).await?;
                audit::append(db, std::slice::from_ref(used)).await?;
                Ok(CodeUse::Done)
            })
        })
        .await
    }
}
