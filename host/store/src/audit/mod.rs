//! Queries of the audit log. `append` writes it.

pub(crate) mod append;
pub(crate) mod context;
mod expiry;
pub(crate) mod lane_acquisition;
pub(crate) mod lanes;
pub(crate) mod pending;
pub(crate) mod root;
pub(crate) mod signing;
pub(crate) mod streams;
mod verification;

use std::ops::Deref;

use crate::engine::sql;
use crate::engine::sql::Connection;
use serde_json::{Map, Value};

use crate::audit::lanes::SKEW;
use crate::engine::deferred;
use crate::engine::rows::{cell, from_json, moment, parse};
use crate::tables::administration::idempotent_executions;
use crate::{Result, Store, StoreError};
use assent_model::audit::{Actor, Entry, Event, USER_KIND};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{AuditId, DeviceId, Did, UserId, first_text_of};

/// An entry with its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its lane, from 1.
    pub lane: i64,
    /// Its position in the lane, from 1.
    pub seq: i64,
    /// The SHA-256 digest, in hexadecimal.
    pub digest: String,
    /// The entry itself.
    pub entry: Entry,
}

impl Deref for StoredEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

crate::engine::sql::row! {
    struct EntryRow of audit_entries {
        lane: i64,
        seq: i64,
        digest: String,
        id: String,
        happened_at: i64,
        event: String,
        actor_kind: String,
        actor: Option<String>,
        user_id: Option<String>,
        application_id: Option<String>,
        approval_id: Option<String>,
        detail: String,
        personal: Option<String>,
        origin: Option<String>,
    }
}

impl TryFrom<EntryRow> for StoredEntry {
    type Error = StoreError;
    fn try_from(row: EntryRow) -> Result<Self> {
        let entry = Entry {
            id: parse(&row.id, cell("audit_entries", "id", &row.id))?,
            at: moment(row.happened_at),
            event: Event::parse(&row.event)
                .ok_or(cell("audit_entries", "event", &row.id).unexpected())?,
            actor: Actor::parse(&row.actor_kind, row.actor.as_deref())
                .ok_or(cell("audit_entries", "actor", &row.id).unexpected())?,
            user: row
                .user_id
                .as_deref()
                .map(|id| parse(id, cell("audit_entries", "user_id", &row.id)))
                .transpose()?,
            application: row
                .application_id
                .as_deref()
                .map(|id| parse(id, cell("audit_entries", "application_id", &row.id)))
                .transpose()?,
            approval: row
                .approval_id
                .as_deref()
                .map(|id| parse(id, cell("audit_entries", "approval_id", &row.id)))
                .transpose()?,
            detail: from_json(&row.detail, cell("audit_entries", "detail", &row.id))?,
            personal: [row.personal, row.origin]
                .into_iter()
                .flatten()
                .map(|text| {
                    from_json::<Map<String, Value>>(
                        &text,
                        cell("audit_entries", "personal", &row.id),
                    )
                })
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect(),
            keyed_request: None,
        };
        Ok(Self {
            lane: row.lane,
            seq: row.seq,
            digest: row.digest,
            entry,
        })
    }
}

/// The conditions of the entries to read.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only entries about this user.
    pub user: Option<UserId>,
    /// Only entries about this application.
    pub application: Option<Did>,
    /// Only entries with this event.
    pub event: Option<Event>,
    /// Only entries of this actor: the actor's id, or the name of a channel.
    pub actor: Option<String>,
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
    /// Only entries about protected actions (`true`), or only others (`false`).
    pub action: Option<bool>,
}

/// The condition that the detail of an entry names a protected action.
macro_rules! is_action {
    () => {
        "detail LIKE '%\"action\":\"%'"
    };
}
pub(crate) use is_action;

/// The condition that the detail of an entry names a check of a caller.
macro_rules! is_caller_check {
    () => {
        "detail LIKE '%\"caller_check\":\"%'"
    };
}
pub(crate) use is_caller_check;

/// Adds entries to the log. The last step of this connection's transaction chains them, so they are committed with the
/// change that they describe.
pub(crate) async fn append(transaction: &mut Connection, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        if let Some(user) = entry.user
            && entry.event.is_account_notification()
        {
            deferred::record_change(transaction, Change::Inbox(user))?;
        }
        pending::add(entry, true)?;
    }
    idempotent_executions::record_execution(transaction, entries).await
}

/// Adds entries to the log if something was done. Returns `done`.
pub(crate) async fn append_if(
    transaction: &mut Connection,
    done: bool,
    entries: &[Entry],
) -> Result<bool> {
    if done {
        append(transaction, entries).await?;
    }
    Ok(done)
}

/// Does the same work for each entry, but adds the entry only if `should_store` is true and it concerns a user. Any
/// client may type unknown names, so these leave no entry, and the time of the call reveals nothing either.
pub(crate) async fn append_if_about_user(
    _transaction: &mut Connection,
    entry: &Entry,
    should_store: bool,
) -> Result<()> {
    pending::add(entry, should_store && entry.user.is_some())
}

/// Erases the personal data in the entries about a user, and the address and browser in entries of the user's actions.
/// It erases their salts too, because with a salt an attacker could guess the data from its digest. The hash chain
/// covers the user and the actor of an entry, so the entry about the erasure explains the missing data.
pub(crate) async fn erase(db: &mut Connection, user: UserId) -> Result<()> {
    let user = user.to_string();
    pending::erase_pending(&user);
    sql::query(
        "UPDATE audit_entries SET personal = NULL, personal_salt = NULL
         WHERE user_id = $1 AND personal IS NOT NULL",
    )
    .bind(&user)
    .execute(&mut *db)
    .await?;
    sql::query(
        "UPDATE audit_entries SET origin = NULL, origin_salt = NULL
         WHERE actor = $1 AND actor_kind = $2 AND origin IS NOT NULL AND (user_id IS NULL OR actor <> user_id)",
    )
    .bind(user)
    .bind(USER_KIND)
    .execute(db)
    .await?;
    Ok(())
}

/// The most entries matching one condition that a page examines to find those that match the others.
const LOOKED_AT: i64 = 10_000;

/// Reads entries. The text contains the columns, the conditions that all lists share, the range of the index, and the
/// order.
macro_rules! entries_where {
    ($range:expr, $order:expr) => {
        sql::statement!(
            "SELECT ",
            EntryRow::COLUMNS,
            " FROM audit_entries WHERE ",
            $range,
            " AND ($1 = '' OR user_id = $1) AND ($2 = '' OR application_id = $2) AND ($3 = '' OR event = $3)
             AND ($4 = '' OR actor = $4) AND happened_at >= $5 AND happened_at < $6
             AND ($10 = '' OR $10 = CASE WHEN ",
            is_action!(),
            " THEN 'action' ELSE 'other' END)
             ORDER BY ",
            $order,
            " LIMIT $9"
        )
    };
}

/// A condition whose entries are ranges of indexes.
struct IndexCondition {
    value: String,
    ranges: &'static [IndexRange],
}

/// A range of an index.
struct IndexRange {
    /// Reads the entries of the range that match all conditions.
    entries: &'static str,
    /// Determines how far back the examined number of entries reaches.
    reach: &'static str,
}

// The condition compares and orders by the whole index of the column and the id. With an equality of the column and an
// order by the id only, PostgreSQL could use the index of the ids instead. It assumes that matching entries are spread
// evenly, and would read a million entries if they are not. The statements are planned for their values each time,
// because a generic plan sorts all matching entries. The ids are compared once more separately, so that PostgreSQL
// reads only the partitions of the range.
macro_rules! range {
    ($column:literal, $value:literal, $first:literal, $end:literal) => {
        concat!(
            "(",
            $column,
            ", id) >= (",
            $value,
            ", ",
            $first,
            ") AND (",
            $column,
            ", id) < (",
            $value,
            ", ",
            $end,
            ") AND ",
            $column,
            " IS NOT NULL AND id >= ",
            $first,
            " AND id < ",
            $end
        )
    };
}

/// The range of an index for a parameter of [`entries_where`], with the condition of a partial index.
macro_rules! indexed {
    ($column:literal, $parameter:literal, $partial:literal) => {
        IndexRange {
            entries: entries_where!(
                concat!(range!($column, $parameter, "$7", "$8"), $partial),
                concat!($column, " DESC, id DESC")
            ),
            reach: concat!(
                "SELECT id FROM audit_entries WHERE ",
                range!($column, "$1", "$2", "$3"),
                $partial,
                " ORDER BY ",
                $column,
                " DESC, id DESC LIMIT 1 OFFSET $4"
            ),
        }
    };
    ($column:literal, $parameter:literal) => {
        indexed!($column, $parameter, "")
    };
}

/// Most entries are about their actor. The index of the actors has only the others, because it costs each sign-in a
/// page at another place.
const BY_ACTOR: [IndexRange; 2] = [
    indexed!("user_id", "$4"),
    indexed!("actor", "$4", " AND (user_id IS NULL OR actor <> user_id)"),
];

/// All entries, by their ids.
const ALL: [IndexRange; 1] = [IndexRange {
    entries: entries_where!("id >= $7 AND id < $8", "id DESC"),
    reach: "SELECT id FROM audit_entries WHERE id >= $2 AND id < $3 ORDER BY id DESC LIMIT 1 OFFSET $4",
}];

impl AuditFilter {
    /// The range of the entries' ids: from the first id, up to the second one (exclusive). Ids begin with the time.
    fn range(&self, before: Option<AuditId>) -> (String, String) {
        let first = self.since.map(first_text_of).unwrap_or_default();
        let end = self.until.map(|until| first_text_of(until + SKEW));
        let before = before.map(|id| id.to_string());
        // This text is greater than each id.
        let end = end.into_iter().chain(before).min();
        (first, end.unwrap_or_else(|| "g".to_owned()))
    }

    /// The conditions that have an index, at least one.
    fn index_conditions(&self) -> Vec<IndexCondition> {
        let conditions: [(Option<String>, &'static [IndexRange]); 4] = [
            (
                self.user.map(|user| user.to_string()),
                &[indexed!("user_id", "$1")],
            ),
            (
                self.application.as_ref().map(ToString::to_string),
                &[indexed!("application_id", "$2")],
            ),
            (self.actor.clone(), &BY_ACTOR),
            (
                self.event.map(|event| event.as_str().to_owned()),
                &[indexed!("event", "$3")],
            ),
        ];
        let conditions = conditions.into_iter();
        let mut conditions: Vec<IndexCondition> = conditions
            .filter_map(|(value, ranges)| {
                Some(IndexCondition {
                    value: value?,
                    ranges,
                })
            })
            .collect();
        if conditions.is_empty() {
            conditions.push(IndexCondition {
                value: String::new(),
                ranges: &ALL,
            });
        }
        conditions
    }
}

/// A page of the log.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// The entries, the latest first.
    pub entries: Vec<StoredEntry>,
    /// The id before which the next page begins; `None` if there are no more entries. A page with a following one may
    /// be short or even empty, if few of the examined entries matched.
    pub next: Option<AuditId>,
}

impl Store {
    /// Adds entries that describe no change in the database.
    pub async fn append_audit(&self, entries: Vec<Entry>) -> Result<()> {
        self.write(entries, |db, entries| Box::pin(append(db, entries)))
            .await
    }

    /// Up to `limit` of a user's account notifications, the oldest first. Only those from `since` on that the device
    /// has not shown, and that do not concern its own actions.
    pub async fn account_notifications(
        &self,
        user: UserId,
        device: DeviceId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Entry>> {
        let rows: Vec<EntryRow> = sql::query_as(sql::statement!(
            "SELECT ",
            EntryRow::COLUMNS,
            " FROM audit_entries
             WHERE user_id = $1 AND happened_at >= $3 AND (actor IS NULL OR actor <> $2)
               AND notification > COALESCE((SELECT last_notification FROM devices WHERE devices.id = $2), 0)
             ORDER BY notification LIMIT $4"
        ))
        .bind(user.to_string())
        .bind(device.to_string())
        .bind(since.millis())
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| Ok(StoredEntry::try_from(row)?.entry))
            .collect()
    }

    /// Records that a device showed the account notifications up to this entry.
    pub async fn mark_notifications_read(&self, device: DeviceId, last: AuditId) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                // The number never decreases.
                sql::query(
                    "UPDATE devices SET last_notification = n.notification
                     FROM (SELECT user_id, notification FROM audit_entries WHERE id = $2) AS n
                     WHERE devices.id = $1 AND devices.user_id = n.user_id
                       AND devices.last_notification < n.notification",
                )
                .bind(device.to_string())
                .bind(last.to_string())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Up to `limit` entries, the latest first. Only those before the id `before`, if it is set.
    pub async fn audit_entries(
        &self,
        filter: &AuditFilter,
        before: Option<AuditId>,
        limit: u32,
    ) -> Result<Vec<StoredEntry>> {
        let conditions = filter.index_conditions();
        let (first, end) = filter.range(before);
        self.entries(filter, conditions.first(), &first, &end, limit)
            .await
    }

    /// A page of up to `limit` entries, the latest first. Only those before the id `before`, if it is set. The number
    /// of examined entries is bounded, even if the log is large and few entries match several conditions.
    pub async fn audit_page(
        &self,
        filter: &AuditFilter,
        before: Option<AuditId>,
        limit: u32,
    ) -> Result<AuditPage> {
        let (mut first, end) = filter.range(before);
        let conditions = filter.index_conditions();
        let mut begin_with = conditions.first();
        let mut bounded = false;
        // Each entry in the range of a single condition matches, unless its value has several ranges.
        let ranges: usize = conditions.iter().map(|one| one.ranges.len()).sum();
        if ranges > 1 || filter.action.is_some() {
            // The condition with the fewest matching entries reaches back furthest.
            let mut reaches = Vec::with_capacity(conditions.len());
            for condition in &conditions {
                let reach = self.reach(condition, &first, &end).await?;
                let is_bound = reach.is_some();
                reaches.push((reach.unwrap_or_else(|| first.clone()), is_bound, condition));
            }
            if let Some((reach, is_bound, condition)) =
                reaches.into_iter().min_by(|one, other| one.0.cmp(&other.0))
            {
                (first, bounded, begin_with) = (reach, is_bound, Some(condition));
            }
        }
        let mut entries = self
            .entries(filter, begin_with, &first, &end, limit.saturating_add(1))
            .await?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let last = entries.last().map(|entry| entry.id).filter(|_| more);
        let bound = bounded
            .then(|| parse(&first, cell("audit_entries", "id", &first)))
            .transpose()?;
        Ok(AuditPage {
            next: last.or(bound),
            entries,
        })
    }

    /// The first id from which on no range of the condition has more than the examined number of entries. `None` if
    /// that holds for all ids.
    async fn reach(
        &self,
        condition: &IndexCondition,
        first: &str,
        end: &str,
    ) -> Result<Option<String>> {
        let mut furthest = None;
        for range in condition.ranges {
            let reach: Option<(String,)> = sql::query_as(range.reach)
                .persistent(false)
                .bind(&condition.value)
                .bind(first.to_owned())
                .bind(end.to_owned())
                .bind(LOOKED_AT)
                .fetch_optional(&self.readers)
                .await?;
            furthest = furthest.max(reach.map(|(id,)| id));
        }
        Ok(furthest)
    }

    async fn entries(
        &self,
        filter: &AuditFilter,
        begin_with: Option<&IndexCondition>,
        first: &str,
        end: &str,
        limit: u32,
    ) -> Result<Vec<StoredEntry>> {
        let mut entries = Vec::new();
        for range in begin_with.iter().flat_map(|condition| condition.ranges) {
            let read = self.read_entries(range.entries, filter, first, end, limit);
            entries.append(&mut read.await?);
        }
        // Each range is in this order.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        entries.truncate(limit as usize);
        Ok(entries)
    }

    async fn read_entries(
        &self,
        statement: &'static str,
        filter: &AuditFilter,
        first: &str,
        end: &str,
        limit: u32,
    ) -> Result<Vec<StoredEntry>> {
        let moment = |at: Option<Timestamp>, or: i64| at.map_or(or, Timestamp::millis);
        sql::query_as::<EntryRow>(statement)
            .persistent(false)
            .bind(filter.user.map(|user| user.to_string()).unwrap_or_default())
            .bind(
                filter
                    .application
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            )
            .bind(filter.event.map(Event::as_str).unwrap_or_default())
            .bind(filter.actor.clone().unwrap_or_default())
            .bind(moment(filter.since, i64::MIN))
            .bind(moment(filter.until, i64::MAX))
            .bind(first.to_owned())
            .bind(end.to_owned())
            .bind(limit)
            .bind(match filter.action {
                None => "",
                Some(true) => "action",
                Some(false) => "other",
            })
            .fetch_values(&self.readers)
            .await
    }
}
