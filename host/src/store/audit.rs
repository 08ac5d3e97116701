//! The audit log, as it is read. How entries get there is the chain's business.

use std::ops::Deref;
use std::time::Duration;

use sqlx::AnyConnection;

use super::rows::{from_json, moment, parse};
use super::{Result, Store, StoreError, chain};
use crate::clock::Timestamp;
use crate::id::{AuditId, DeviceId, Did, UserId, first_text_of};
use crate::model::audit::{Actor, Entry, Event};

/// An entry with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEntry {
    /// Its position, from 1.
    pub seq: i64,
    /// Its digest, in hexadecimal.
    pub digest: String,
    /// What it says.
    pub entry: Entry,
}

impl Deref for KeptEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

#[derive(sqlx::FromRow)]
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
}

impl TryFrom<EntryRow> for KeptEntry {
    type Error = StoreError;
    fn try_from(row: EntryRow) -> Result<Self> {
        let entry = Entry {
            id: parse(&row.id, "an audit entry's id")?,
            at: moment(row.happened_at),
            event: Event::parse(&row.event).ok_or(StoreError::Corrupt("an audit entry's event"))?,
            actor: Actor::parse(&row.actor_kind, row.actor.as_deref())
                .ok_or(StoreError::Corrupt("an audit entry's actor"))?,
            user: row.user_id.as_deref().map(|id| parse(id, "an audit entry's user")).transpose()?,
            application: row
                .application_id
                .as_deref()
                .map(|id| parse(id, "an audit entry's application"))
                .transpose()?,
            approval: row.approval_id.as_deref().map(|id| parse(id, "an audit entry's approval")).transpose()?,
            detail: from_json(&row.detail, "an audit entry's detail")?,
            personal: row
                .personal
                .map(|text| from_json(&text, "what is personal in an audit entry"))
                .transpose()?
                .unwrap_or_default(),
        };
        Ok(Self { seq: row.seq, digest: row.digest, entry })
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

/// Adds entries to the log. The one place that does, with the change that they tell of: they are chained and kept as the last
/// step of the transaction that this connection is in.
pub(super) async fn append(_transaction: &mut AnyConnection, entries: &[Entry]) -> Result<()> {
    entries.iter().try_for_each(|entry| chain::add(entry, true))
}

/// Adds entries to the log where something was done. Whether it was.
pub(super) async fn append_if(transaction: &mut AnyConnection, done: bool, entries: &[Entry]) -> Result<bool> {
    if done {
        append(transaction, entries).await?;
    }
    Ok(done)
}

/// Does the same work, but adds the entry only if it is about somebody. Anybody may type names that nobody has, so those
/// leave nothing; and who measures how long it took learns nothing either.
pub(super) async fn append_if_about_somebody(_transaction: &mut AnyConnection, entry: &Entry) -> Result<()> {
    chain::add(entry, entry.user.is_some())
}

/// Erases what is personal in the entries about a user, and the salts by which it could be guessed from its digests.
pub(super) async fn erase(db: &mut AnyConnection, user: UserId) -> Result<()> {
    let user = user.to_string();
    chain::erase_pending(&user);
    sqlx::query(
        "UPDATE audit_entries SET personal = NULL, personal_salt = NULL WHERE user_id = $1 AND personal IS NOT NULL",
    )
    .bind(user)
    .execute(db)
    .await?;
    Ok(())
}

/// What every id is below.
const END: &str = "g";
/// How far the order of moments and that of the chain may differ: hosts whose clocks differ by more are not set up rightly.
const SKEW: Duration = Duration::from_secs(600);

/// The columns of an entry, and the conditions that all lists have in common. The ends of a stretch of time are found by the
/// ids, which begin with the moment, so that a list of long ago does not go through all that came since.
macro_rules! entries_where {
    ($first:literal) => {
        concat!(
            "SELECT seq, digest, id, happened_at, event, actor_kind, actor, user_id, application_id, approval_id, detail, personal
             FROM audit_entries WHERE ",
            $first,
            " AND ($1 = '' OR user_id = $1) AND ($2 = '' OR application_id = $2) AND ($3 = '' OR event = $3)
             AND ($4 = '' OR actor = $4) AND happened_at >= $5 AND happened_at < $6
             AND seq >= COALESCE((SELECT seq FROM audit_entries WHERE id < $7 ORDER BY id DESC LIMIT 1), 0)
             AND seq < COALESCE((SELECT seq FROM audit_entries WHERE id >= $8 ORDER BY id LIMIT 1), $9)
             AND seq < $9 ORDER BY seq DESC LIMIT $10"
        )
    };
}

impl Store {
    /// Adds entries about what is no change of the database's.
    pub async fn append_audit(&self, entries: Vec<Entry>) -> Result<()> {
        self.write(move |db| {
            let entries = entries.clone();
            Box::pin(async move { append(db, &entries).await })
        })
        .await
    }

    /// Up to `limit` of a person's news, the oldest first: those after `since` that a device has not shown, but for what it did
    /// itself.
    pub async fn news(&self, user: UserId, device: DeviceId, since: Timestamp, limit: u32) -> Result<Vec<Entry>> {
        let rows: Vec<EntryRow> = sqlx::query_as(
            "SELECT seq, digest, id, happened_at, event, actor_kind, actor, user_id, application_id, approval_id, detail, personal
             FROM audit_entries
             WHERE user_id = $1 AND news = 1 AND happened_at >= $3 AND (actor IS NULL OR actor <> $2)
               AND seq > COALESCE((SELECT seen.seq FROM audit_entries AS seen
                                   WHERE seen.id = (SELECT news_seen FROM devices WHERE devices.id = $2)), 0)
             ORDER BY seq LIMIT $4",
        )
        .bind(user.to_string())
        .bind(device.to_string())
        .bind(since.millis())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(|row| Ok(KeptEntry::try_from(row)?.entry)).collect()
    }

    /// Notes that a device showed the news up to this entry.
    pub async fn see_news(&self, device: DeviceId, last: AuditId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                // Never back to one that stands before.
                sqlx::query(
                    "UPDATE devices SET news_seen = $2
                     WHERE id = $1
                       AND COALESCE((SELECT seq FROM audit_entries WHERE audit_entries.id = news_seen), 0)
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
    pub async fn audit_entries(&self, filter: &AuditFilter, before: Option<i64>, limit: u32) -> Result<Vec<KeptEntry>> {
        // Each has an index for its first condition, so that the rest is looked for among few.
        let statement = match filter {
            AuditFilter { user: Some(_), .. } => entries_where!("user_id = $1"),
            AuditFilter { application: Some(_), .. } => entries_where!("application_id = $2"),
            AuditFilter { actor: Some(_), .. } => entries_where!("actor = $4"),
            AuditFilter { event: Some(_), .. } => entries_where!("event = $3"),
            AuditFilter { .. } => entries_where!("seq > 0"),
        };
        let moment = |at: Option<Timestamp>, or: i64| at.map_or(or, Timestamp::millis);
        let rows: Vec<EntryRow> = sqlx::query_as(statement)
            .bind(filter.user.map(|user| user.to_string()).unwrap_or_default())
            .bind(filter.application.as_ref().map(ToString::to_string).unwrap_or_default())
            .bind(filter.event.map(Event::as_str).unwrap_or_default())
            .bind(filter.actor.clone().unwrap_or_default())
            .bind(moment(filter.since, i64::MIN))
            .bind(moment(filter.until, i64::MAX))
            .bind(filter.since.map(|since| first_text_of(since - SKEW)).unwrap_or_default())
            .bind(filter.until.map_or_else(|| END.to_owned(), |until| first_text_of(until + SKEW)))
            .bind(before.unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter().map(KeptEntry::try_from).collect()
    }
}
