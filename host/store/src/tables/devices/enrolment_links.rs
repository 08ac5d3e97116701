//! Links to enrol a device.

use crate::engine::rows::{cell, digest, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::error::must_be_found;
use crate::tables::devices::locks::lock_active_device;
use crate::{DeviceWrite, Result, Store, StoreError, UserGuard, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::device::{EnrolledBy, Enrolment, LinkMaker, LinkState, OpenLink};
use assent_model::id::{DeviceId, EnrolmentId, UserId};

crate::engine::sql::row! {
    pub(crate) struct EnrolmentRow of enrolments {
        id: String,
        user_id: String,
        digest: String,
        expires_at: i64,
        created_by: Option<String>,
        used_at: Option<i64>,
        is_withdrawn: i64,
    }
}

crate::engine::sql::row! {
    struct OpenLinkRow {
        id: String,
        created_by: Option<String>,
        delivery: Option<String>,
        created_at: i64,
        expires_at: i64,
    }
}

impl EnrolmentRow {
    /// The state of the link at `now`.
    pub(crate) fn state_at(&self, now: Timestamp) -> LinkState {
        if self.used_at.is_some() {
            LinkState::Used
        } else if self.is_withdrawn != 0 {
            LinkState::Withdrawn
        } else if self.expires_at <= now.millis() {
            LinkState::Expired
        } else {
            LinkState::Open
        }
    }
}

impl TryFrom<EnrolmentRow> for Enrolment {
    type Error = StoreError;
    fn try_from(row: EnrolmentRow) -> Result<Self> {
        let created_by = match row.created_by.as_deref() {
            None => None,
            Some(BY_CODE) => Some(LinkMaker::Code),
            Some(device) => Some(LinkMaker::Device(parse(
                device,
                cell("enrolments", "created_by", &row.id),
            )?)),
        };
        Ok(Self {
            id: parse(&row.id, cell("enrolments", "id", &row.id))?,
            user_id: parse(&row.user_id, cell("enrolments", "user_id", &row.id))?,
            digest: digest(&row.digest, cell("enrolments", "digest", &row.id))?,
            expires_at: moment(row.expires_at),
            created_by,
        })
    }
}

pub(crate) async fn insert_enrolment(
    db: &mut crate::engine::sql::Connection,
    enrolment: &Enrolment,
    now: Timestamp,
) -> Result<()> {
    let created_by = enrolment.created_by.map(|maker| match maker {
        LinkMaker::Device(device) => device.to_string(),
        LinkMaker::Code => BY_CODE.to_owned(),
    });
    sql::query(
        "INSERT INTO enrolments (id, user_id, digest, created_at, expires_at, created_by) VALUES ($1, $2, $3, $4, $5, \
         $6)",
    )
    .bind(enrolment.id.to_string())
    .bind(enrolment.user_id.to_string())
    .bind(enrolment.digest.to_text())
    .bind(now.millis())
    .bind(enrolment.expires_at.millis())
    .bind(created_by)
    .execute(db)
    .await?;
    Ok(())
}

/// The value of `created_by` for a link that a recovery code created.
const BY_CODE: &str = "code";

/// Returns the way of a link with these values of `created_by` and `delivery`.
pub(super) fn way_of(created_by: Option<&str>, delivery: Option<&str>) -> EnrolledBy {
    match (created_by, delivery) {
        (None, Some(_)) => EnrolledBy::Email,
        (None, None) => EnrolledBy::Link,
        (Some(BY_CODE), _) => EnrolledBy::RecoveryCode,
        (Some(_), _) => EnrolledBy::Device,
    }
}

/// Withdraws the unused links of a user that also satisfy a condition, and drops their unsent emails. Evaluates to the
/// number of withdrawn links that were still valid at `now`, as a list of their ends.
macro_rules! withdraw {
    ($db:expr, $user:expr, $($condition:literal)?) => {{
        let ended: Vec<(i64,)> = sql::query_as(concat!(
            "UPDATE enrolments SET is_withdrawn = 1
             WHERE user_id = $1 AND used_at IS NULL AND is_withdrawn = 0 ",
            $($condition,)?
            " RETURNING expires_at",
        ))
        .bind($user.to_string())
        .fetch_all(&mut *$db)
        .await?;
        sql::query(
            "DELETE FROM invitation_mails
             WHERE enrolment_id IN (SELECT id FROM enrolments WHERE user_id = $1 AND is_withdrawn = 1)",
        )
        .bind($user.to_string())
        .execute(&mut *$db)
        .await?;
        ended
    }};
}

/// Ends the unused links that a user's devices and recovery codes created.
pub(crate) async fn end_own_links(
    db: &mut crate::engine::sql::Connection,
    user: UserId,
) -> Result<()> {
    withdraw!(db, user, "AND created_by IS NOT NULL");
    Ok(())
}

/// Ends all unused links of a user, no matter how they were created.
pub(crate) async fn end_links(db: &mut crate::engine::sql::Connection, user: UserId) -> Result<()> {
    withdraw!(db, user,);
    Ok(())
}

/// Ends the unused links of an invited user. Returns how many were valid at `now`.
pub(crate) async fn end_links_of_invited(
    db: &mut crate::engine::sql::Connection,
    user: UserId,
    now: Timestamp,
) -> Result<u64> {
    let ended = withdraw!(
        db,
        user,
        "AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state = 'invited')"
    );
    let open = ended.iter().filter(|(until,)| *until > now.millis());
    Ok(open.count() as u64)
}

/// Ends the unused links that a device created.
async fn end_links_of_device(
    db: &mut crate::engine::sql::Connection,
    user: UserId,
    device: DeviceId,
) -> Result<()> {
    sql::query(
        "UPDATE enrolments SET is_withdrawn = 1
         WHERE user_id = $1 AND created_by = $2 AND used_at IS NULL AND is_withdrawn = 0",
    )
    .bind(user.to_string())
    .bind(device.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Ends an open enrolment link of a user.
pub(crate) async fn end_link(
    db: &mut Connection,
    guard: UserGuard,
    id: EnrolmentId,
    now: Timestamp,
) -> Result<()> {
    let user = guard.lock(db).await?;
    let ended = sql::query(
        "UPDATE enrolments SET is_withdrawn = 1
         WHERE id = $1 AND user_id = $2 AND used_at IS NULL AND is_withdrawn = 0 AND expires_at > $3",
    )
    .bind(id.to_string())
    .bind(user.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    must_be_found(ended, "open enrolment link")?;
    sql::query("DELETE FROM invitation_mails WHERE enrolment_id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// Adds an enrolment link that another device created. It ends the device's earlier link: no user may have seen
    /// that one, because its response was lost.
    pub async fn insert_enrolment_by_device(
        &self,
        enrolment: Enrolment,
        device: DeviceId,
        entry: Entry,
        now: Timestamp,
    ) -> Result<DeviceWrite> {
        self.write((enrolment, entry), move |db, (enrolment, entry)| {
            Box::pin(async move {
                if !lock_active_device(db, enrolment.user_id, device).await? {
                    return Ok(DeviceWrite::Inactive);
                }
                end_links_of_device(db, enrolment.user_id, device).await?;
                insert_enrolment(db, enrolment, now).await?;
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// The enrolment link with this id, and its state at `now`.
    pub async fn enrolment(
        &self,
        id: EnrolmentId,
        now: Timestamp,
    ) -> Result<Option<(Enrolment, LinkState)>> {
        let row: Option<EnrolmentRow> = sql::query_as(sql::statement!(
            "SELECT ",
            EnrolmentRow::COLUMNS,
            " FROM enrolments WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            let state = row.state_at(now);
            Ok((row.try_into()?, state))
        })
        .transpose()
    }

    /// The links with which devices of a user can be enrolled at `now`, the oldest first.
    pub async fn open_links_of(&self, user: UserId, now: Timestamp) -> Result<Vec<OpenLink>> {
        let rows: Vec<OpenLinkRow> = sql::query_as(
            "SELECT id, created_by, delivery, created_at, expires_at FROM enrolments
             WHERE user_id = $1 AND used_at IS NULL AND is_withdrawn = 0 AND expires_at > $2 ORDER BY id",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(OpenLink {
                    id: parse(&row.id, cell("enrolments", "id", &row.id))?,
                    by: way_of(row.created_by.as_deref(), row.delivery.as_deref()),
                    created_at: moment(row.created_at),
                    expires_at: moment(row.expires_at),
                })
            })
            .collect()
    }
}
