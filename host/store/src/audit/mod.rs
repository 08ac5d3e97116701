//! The audit log, as it is read. How entries get there is the chain's business.

pub(crate) mod chain;
mod verification;

use std::ops::Deref;
use std::time::Duration;

use crate::sql::{self, Connection};
use serde_json::{Map, Value};

use crate::changes::pending as changes;
use crate::rows::{cell, from_json, moment, parse};
use crate::{Result, Store, StoreError};
use assent_model::audit::{Actor, Entry, Event, USER_KIND};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{AuditId, DeviceId, Did, UserId, first_text_of};

/// An entry with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its position, from 1.
    pub seq: i64,
    /// The SHA-256 digest, in hexadecimal.
    pub digest: String,
    /// What it says.
    pub entry: Entry,
}

impl Deref for StoredEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

crate::sql::row! {
    struct EntryRow {
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
        };
        Ok(Self {
            seq: row.seq,
            digest: row.digest,
            entry,
        })
    }
}

/// Which entries are read.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Those about this user alone.
    pub user: Option<UserId>,
    /// Those about this application alone.
    pub application: Option<Did>,
    /// Those of this event alone.
    pub event: Option<Event>,
    /// What this one did alone: the id of an actor, or the name of a channel.
    pub actor: Option<String>,
    /// Those of this moment or later.
    pub since: Option<Timestamp>,
    /// Those of before this moment.
    pub until: Option<Timestamp>,
}

/// Adds entries to the log. The one place that does, with the change that they tell of: they are chained and kept as
/// the last step of the transaction that this connection is in.
pub(crate) async fn append(transaction: &mut Connection, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        if let Some(user) = entry.user
            && entry.event.is_account_notification()
        {
            changes::record(transaction, Change::Inbox(user))?;
        }
        chain::add(entry, true)?;
    }
    Ok(())
}

/// Adds entries to the log where something was done. Whether it was.
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

/// Does the same work, but adds the entry only if it is about somebody. Anybody may type names that nobody has, so
/// those leave nothing, and the time of the call reveals nothing either. An entry that is not `wanted` is not added.
pub(crate) async fn append_if_about_somebody(
    _transaction: &mut Connection,
    entry: &Entry,
    wanted: bool,
) -> Result<()> {
    chain::add(entry, wanted && entry.user.is_some())
}

/// Erases the personal data in the entries about a user, and the address and browser in entries of the user's actions.
/// Erases their salts too: with a salt an attacker could guess the data from its digest. The hash chain covers the user
/// and the actor of an entry, so the entry about the erasure explains what is gone.
pub(crate) async fn erase(db: &mut Connection, user: UserId) -> Result<()> {
    let user = user.to_string();
    chain::erase_pending(&user);
    sql::query(
        "UPDATE audit_entries SET personal = NULL, personal_salt = NULL
         WHERE user_id = $1 AND personal IS NOT NULL",
    )
    .bind(user.clone())
    .execute(&mut *db)
    .await?;
    sql::query(
        "UPDATE audit_entries SET origin = NULL, origin_salt = NULL
         WHERE actor = $1 AND actor_kind = $2 AND origin IS NOT NULL",
    )
    .bind(user)
    .bind(USER_KIND)
    .execute(db)
    .await?;
    Ok(())
}

/// How far the order of moments and that of the chain may differ: hosts whose clocks differ by more are not set up
/// rightly.
pub(crate) const SKEW: Duration = Duration::from_secs(600);

/// How many entries that fit one condition are looked at for one page, to see whether they fit the others.
const LOOKED_AT: i64 = 10_000;

/// Reads entries: the columns, the conditions that all lists have in common, the place in an index that a list begins
/// at, and its order.
macro_rules! entries_where {
    ($stretch:expr, $order:expr) => {
        concat!(
            "SELECT seq, digest, id, happened_at, event, actor_kind, actor, user_id, application_id, approval_id,
               detail, personal, origin
             FROM audit_entries WHERE ",
            $stretch,
            " AND ($1 = '' OR user_id = $1) AND ($2 = '' OR application_id = $2) AND ($3 = '' OR event = $3)
             AND ($4 = '' OR actor = $4) AND happened_at >= $5 AND happened_at < $6
             ORDER BY ",
            $order,
            " LIMIT $9"
        )
    };
}

/// Reads all entries of a stretch.
const ALL_ENTRIES: &str = entries_where!("seq >= $7 AND seq < $8", "seq DESC");

/// A condition that has an index.
struct IndexCondition {
    value: String,
    /// Reads the entries that fit it and all the others.
    entries: &'static str,
    /// Looks how far back so many go that fit it.
    reach: &'static str,
}

// The index of the column and the position is compared and ordered by as a whole. Were the column said to be equal and
// the position alone ordered by, the index of the positions would do as well for PostgreSQL, which takes entries that
// fit to be spread evenly and would go through a million where they are not. The statements are planned for their
// values, each time, since a plan for any values sorts whatever fits.
macro_rules! stretch {
    ($column:literal, $value:literal, $first:literal, $end:literal) => {
        concat!(
            "(",
            $column,
            ", seq) >= (",
            $value,
            ", ",
            $first,
            ") AND (",
            $column,
            ", seq) < (",
            $value,
            ", ",
            $end,
            ") AND ",
            $column,
            " IS NOT NULL"
        )
    };
}

macro_rules! indexed {
    ($value:expr, $column:literal, $parameter:literal) => {
        $value.map(|value| IndexCondition {
            value,
            entries: entries_where!(
                stretch!($column, $parameter, "$7", "$8"),
                concat!($column, " DESC, seq DESC")
            ),
            reach: concat!(
                "SELECT seq FROM audit_entries WHERE ",
                stretch!($column, "$1", "$2", "$3"),
                " ORDER BY ",
                $column,
                " DESC, seq DESC LIMIT 1 OFFSET $4"
            ),
        })
    };
}

impl AuditFilter {
    /// The conditions that have an index.
    fn index_conditions(&self) -> Vec<IndexCondition> {
        let conditions = [
            indexed!(self.user.map(|user| user.to_string()), "user_id", "$1"),
            indexed!(
                self.application.as_ref().map(ToString::to_string),
                "application_id",
                "$2"
            ),
            indexed!(self.actor.clone(), "actor", "$4"),
            indexed!(
                self.event.map(|event| event.as_str().to_owned()),
                "event",
                "$3"
            ),
        ];
        conditions.into_iter().flatten().collect()
    }
}

/// A page of the log.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// The entries, the latest first.
    pub entries: Vec<StoredEntry>,
    /// The position before which the next page begins; `None` where there is no more. A page that has one may be short,
    /// and even empty: so much was looked at that did not fit.
    pub next: Option<i64>,
}

impl Store {
    /// Adds entries about what is no change of the database's.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn append_audit(&self, entries: Vec<Entry>) -> Result<()> {
        self.write(move |db| {
            let entries = entries.clone();
            Box::pin(async move { append(db, &entries).await })
        })
        .await
    }

    /// Up to `limit` of a user's account notifications, the oldest first: those after `since` that a device has not
    /// shown, but for what it did itself.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn account_notifications(
        &self,
        user: UserId,
        device: DeviceId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Entry>> {
        let rows: Vec<EntryRow> = sql::query_as(
            "SELECT seq, digest, id, happened_at, event, actor_kind, actor, user_id, application_id, approval_id,
               detail, personal, origin
             FROM audit_entries
             WHERE user_id = $1 AND notifies = 1 AND happened_at >= $3 AND (actor IS NULL OR actor <> $2)
               AND seq > COALESCE((SELECT seen.seq FROM audit_entries AS seen
                                   WHERE seen.id = (SELECT last_notification FROM devices WHERE devices.id = $2)), 0)
             ORDER BY seq LIMIT $4",
        )
        .bind(user.to_string())
        .bind(device.to_string())
        .bind(since.millis())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| Ok(StoredEntry::try_from(row)?.entry))
            .collect()
    }

    /// Notes that a device showed the account notifications up to this entry.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn mark_notifications_read(&self, device: DeviceId, last: AuditId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                // Never back to one that stands before.
                sql::query(
                    "UPDATE devices SET last_notification = $2
                     WHERE id = $1
                       AND COALESCE((SELECT seq FROM audit_entries WHERE audit_entries.id = last_notification), 0)
                         < COALESCE((SELECT seq FROM audit_entries WHERE audit_entries.id = $2), 0)",
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

    /// Up to `limit` entries, the latest first: those before the position `before`, where that is given.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn audit_entries(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredEntry>> {
        let conditions = filter.index_conditions();
        let stretch = self.stretch(filter, before).await?;
        self.entries(filter, conditions.first(), stretch, limit)
            .await
    }

    /// A page of up to `limit` entries before the position `before`, where that is given. However much there is, and
    /// however rarely what fits one condition fits another, no more is looked at than a page may cost.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn audit_page(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<AuditPage> {
        let (mut first, end) = self.stretch(filter, before).await?;
        let conditions = filter.index_conditions();
        let mut begin_with = conditions.first();
        let mut bounded = false;
        if conditions.len() > 1 {
            // The one that is fulfilled most rarely takes the page back furthest.
            let mut reaches = Vec::with_capacity(conditions.len());
            for condition in &conditions {
                let reach: Option<(i64,)> = sql::query_as(condition.reach)
                    .persistent(false)
                    .bind(condition.value.clone())
                    .bind(first)
                    .bind(end)
                    .bind(LOOKED_AT)
                    .fetch_optional(&self.readers)
                    .await?;
                reaches.push((
                    reach.map_or(first, |(seq,)| seq),
                    reach.is_some(),
                    condition,
                ));
            }
            if let Some((reach, is_bound, condition)) =
                reaches.into_iter().min_by_key(|(reach, ..)| *reach)
            {
                (first, bounded, begin_with) = (reach, is_bound, Some(condition));
            }
        }
        let mut entries = self
            .entries(filter, begin_with, (first, end), limit.saturating_add(1))
            .await?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let last = entries.last().map(|entry| entry.seq).filter(|_| more);
        Ok(AuditPage {
            next: last.or(bounded.then_some(first)),
            entries,
        })
    }

    /// The positions between which what fits has to be: from the first on, before the second. The ends of a stretch of
    /// time are found by the ids, which begin with the moment.
    async fn stretch(&self, filter: &AuditFilter, before: Option<i64>) -> Result<(i64, i64)> {
        let mut stretch = (0, before.unwrap_or(i64::MAX));
        let position = async |statement: &'static str, id: String| -> Result<Option<i64>> {
            let row: Option<(Option<i64>,)> = sql::query_as(statement)
                .bind(id)
                .fetch_optional(&self.readers)
                .await?;
            Ok(row.and_then(|(seq,)| seq))
        };
        if let Some(since) = filter.since {
            let last = "SELECT seq FROM audit_entries WHERE id < $1 ORDER BY id DESC LIMIT 1";
            stretch.0 = position(last, first_text_of(since - SKEW))
                .await?
                .unwrap_or(0);
        }
        if let Some(until) = filter.until {
            let next = "SELECT seq FROM audit_entries WHERE id >= $1 ORDER BY id LIMIT 1";
            stretch.1 = position(next, first_text_of(until + SKEW))
                .await?
                .unwrap_or(i64::MAX)
                .min(stretch.1);
        }
        Ok(stretch)
    }

    async fn entries(
        &self,
        filter: &AuditFilter,
        begin_with: Option<&IndexCondition>,
        (first, end): (i64, i64),
        limit: u32,
    ) -> Result<Vec<StoredEntry>> {
        let moment = |at: Option<Timestamp>, or: i64| at.map_or(or, Timestamp::millis);
        let rows: Vec<EntryRow> = sql::query_as(begin_with.map_or(ALL_ENTRIES, |one| one.entries))
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
            .bind(first)
            .bind(end)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter().map(StoredEntry::try_from).collect()
    }
}
