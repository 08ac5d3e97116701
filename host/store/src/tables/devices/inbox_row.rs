//! The inbox of a device. One statement reads it, because each long poll reads it at its beginning and at its end.

use crate::engine::batch::loader::{Key, Row};
use crate::engine::rows::moment;
use crate::engine::sql::{FromRow, QueryAs};
use crate::tables::users::row::UserRow;
use crate::{Result, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, first_text_of};
use assent_model::user::User;

/// `v` has the device, the time, the time since which account notifications count, and the first id of that time. With
/// the id, PostgreSQL does not read older partitions.
pub(crate) const INBOX_BY_DEVICE: &str =
    "SELECT v.column1 AS device, CAST(v.column2 AS BIGINT) AS now, CAST(v.column3 AS BIGINT) AS since,
        d.name AS device_name,
        EXISTS (SELECT 1 FROM approvals p WHERE p.named_user = d.user_id AND p.user_id = d.user_id
                  AND p.state = 'requested' AND p.expires_at > v.column2) AS has_requests,
        EXISTS (SELECT 1 FROM audit_entries e WHERE e.user_id = d.user_id AND e.notification > d.last_notification
                  AND e.happened_at > d.created_at AND e.happened_at >= v.column3 AND e.id >= v.column4
                  AND (e.actor IS NULL OR e.actor <> d.id)) AS has_notifications,
        c.cooldown_until,
        u.id, u.did, u.subject, u.name, u.email, u.email_confirmed, u.profile, u.console_role, u.state, u.was_active,
        u.version, u.created_at, u.updated_at
    FROM (VALUES {($, CAST($ AS BIGINT), CAST($ AS BIGINT), $)}) AS v
    JOIN devices d ON d.id = v.column1 AND d.revoked_at IS NULL
    JOIN users u ON u.id = d.user_id
    LEFT JOIN approval_cooldowns c ON c.user_id = d.user_id AND c.cooldown_until > v.column2";

/// The inbox of a device that is not revoked.
#[derive(Clone, Debug)]
pub struct InboxSummary {
    /// The owner.
    pub user: User,
    /// The name of the device, which may be changed elsewhere, for example on the portal.
    pub device_name: String,
    /// Whether requests are pending.
    pub has_requests: bool,
    /// Whether there are account notifications that the device has not shown.
    pub has_notifications: bool,
    /// When the cooldown ends that holds requests with a typed name.
    pub cooldown_until: Option<Timestamp>,
}

crate::engine::sql::row! {
    pub(crate) struct InboxRow {
        device: String,
        now: i64,
        since: i64,
        device_name: String,
        has_requests: bool,
        has_notifications: bool,
        cooldown_until: Option<i64>,
        user: UserRow,
    }
}

/// The device, the time, and the time since which account notifications count, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InboxKey {
    device: String,
    now: i64,
    since: i64,
}

impl InboxKey {
    pub(crate) fn new(device: DeviceId, now: Timestamp, since: Timestamp) -> Self {
        Self {
            device: device.to_string(),
            now: now.millis(),
            since: since.millis(),
        }
    }
}

impl Key for InboxKey {
    fn bind<R: FromRow>(&self, query: QueryAs<R>) -> QueryAs<R> {
        query
            .bind(&self.device)
            .bind(self.now)
            .bind(self.since)
            .bind(first_text_of(moment(self.since)))
    }
}

impl Row for InboxRow {
    type Key = InboxKey;
    type Value = InboxSummary;
    fn key(&self) -> InboxKey {
        InboxKey {
            device: self.device.clone(),
            now: self.now,
            since: self.since,
        }
    }
}

impl TryFrom<InboxRow> for InboxSummary {
    type Error = StoreError;
    fn try_from(row: InboxRow) -> Result<Self> {
        Ok(Self {
            user: row.user.try_into()?,
            device_name: row.device_name,
            has_requests: row.has_requests,
            has_notifications: row.has_notifications,
            cooldown_until: row.cooldown_until.map(moment),
        })
    }
}
