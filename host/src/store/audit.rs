//! The audit log.

use sqlx::AnyConnection;

use super::rows::{from_json, moment, parse, to_json};
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::{AuditId, DeviceId, Did, UserId, first_text_of};
use crate::model::audit::{Actor, Entry, Event};

#[derive(sqlx::FromRow)]
struct EntryRow {
    id: String,
    happened_at: i64,
    event: String,
    actor_kind: String,
    actor: Option<String>,
    user_id: Option<String>,
    application_id: Option<String>,
    detail: String,
    personal: Option<String>,
}

impl TryFrom<EntryRow> for Entry {
    type Error = StoreError;
    fn try_from(row: EntryRow) -> Result<Self> {
        Ok(Self {
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
            detail: from_json(&row.detail, "an audit entry's detail")?,
            personal: row
                .personal
                .map(|text| from_json(&text, "what is personal in an audit entry"))
                .transpose()?
                .unwrap_or_default(),
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
}

/// Adds entries to the log. The one place that does, with the change that they tell of in one transaction.
pub(super) async fn append(db: &mut AnyConnection, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        insert(db, entry, true).await?;
    }
    Ok(())
}

/// Does the same work, but adds the entry only if it is about somebody. Anybody may type names that nobody has, so those
/// leave nothing; and who measures how long it took learns nothing either.
pub(super) async fn append_if_about_somebody(db: &mut AnyConnection, entry: &Entry) -> Result<()> {
    insert(db, entry, entry.user.is_some()).await
}

async fn insert(db: &mut AnyConnection, entry: &Entry, wanted: bool) -> Result<()> {
    sqlx::query(
        "INSERT INTO audit_entries (id, happened_at, event, actor_kind, actor, user_id, application_id, detail, personal)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE $10 = 1",
    )
    .bind(entry.id.to_string())
    .bind(entry.at.millis())
    .bind(entry.event.as_str())
    .bind(entry.actor.kind())
    .bind(entry.actor.id())
    .bind(entry.user.map(|user| user.to_string()))
    .bind(entry.application.as_ref().map(ToString::to_string))
    .bind(to_json(&entry.detail)?)
    .bind((!entry.personal.is_empty()).then(|| to_json(&entry.personal)).transpose()?)
    .bind(i64::from(wanted))
    .execute(db)
    .await?;
    Ok(())
}

/// Erases what is personal in the entries about a user.
pub(super) async fn erase(db: &mut AnyConnection, user: UserId) -> Result<()> {
    sqlx::query("UPDATE audit_entries SET personal = NULL WHERE user_id = $1 AND personal IS NOT NULL")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// How many kinds of news there are places for in the statement below.
const PLACES: usize = 8;

/// What every id is below.
const END: &str = "g";

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
        let mut query = sqlx::query_as(
            "SELECT * FROM audit_entries
             WHERE user_id = $1 AND id > COALESCE((SELECT news_seen FROM devices WHERE devices.id = $2), '') AND id >= $3
               AND (actor IS NULL OR actor <> $2)
               AND event IN ($5, $6, $7, $8, $9, $10, $11, $12)
             ORDER BY id LIMIT $4",
        )
        .bind(user.to_string())
        .bind(device.to_string())
        .bind(first_text_of(since))
        .bind(i64::from(limit));
        for place in 0..PLACES {
            query = query.bind(Event::NEWS.get(place).copied().map(Event::as_str));
        }
        let rows: Vec<EntryRow> = query.fetch_all(&self.readers).await?;
        rows.into_iter().map(Entry::try_from).collect()
    }

    /// Notes that a device showed the news up to this entry.
    pub async fn see_news(&self, device: DeviceId, last: AuditId) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query("UPDATE devices SET news_seen = $2 WHERE id = $1 AND COALESCE(news_seen, '') < $2")
                    .bind(device.to_string())
                    .bind(last.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Up to `limit` entries, the latest first: those before `before`, where that is given.
    pub async fn audit_entries(&self, filter: &AuditFilter, before: Option<AuditId>, limit: u32) -> Result<Vec<Entry>> {
        // Each has an index for its first condition, so that the rest is looked for among few.
        let statement = match filter {
            AuditFilter { user: Some(_), .. } => {
                "SELECT * FROM audit_entries
                 WHERE user_id = $1 AND ($2 = '' OR application_id = $2) AND ($3 = '' OR event = $3) AND id < $4
                 ORDER BY id DESC LIMIT $5"
            }
            AuditFilter { application: Some(_), .. } => {
                "SELECT * FROM audit_entries
                 WHERE ($1 = '' OR user_id = $1) AND application_id = $2 AND ($3 = '' OR event = $3) AND id < $4
                 ORDER BY id DESC LIMIT $5"
            }
            AuditFilter { event: Some(_), .. } => {
                "SELECT * FROM audit_entries
                 WHERE ($1 = '' OR user_id = $1) AND ($2 = '' OR application_id = $2) AND event = $3 AND id < $4
                 ORDER BY id DESC LIMIT $5"
            }
            AuditFilter { .. } => {
                "SELECT * FROM audit_entries
                 WHERE $1 = '' AND $2 = '' AND $3 = '' AND id < $4 ORDER BY id DESC LIMIT $5"
            }
        };
        let rows: Vec<EntryRow> = sqlx::query_as(statement)
            .bind(filter.user.map(|user| user.to_string()).unwrap_or_default())
            .bind(filter.application.as_ref().map(ToString::to_string).unwrap_or_default())
            .bind(filter.event.map(Event::as_str).unwrap_or_default())
            .bind(before.map_or_else(|| END.to_owned(), |id| id.to_string()))
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter().map(Entry::try_from).collect()
    }
}

const _: () = assert!(Event::NEWS.len() <= PLACES, "the statement of the news has a place for each kind");
