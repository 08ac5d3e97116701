//! Who is mentioned in the words of administrators' steps, so that an erasure finds the words: in requests, and in the audit log.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;
use sqlx::AnyConnection;

use crate::audit::chain::{RecordRow, records_where};
use crate::batch::bulk_sql::{BulkSql, MOST};
use crate::{Result, Store};
use assent_model::action_approval::{MENTIONS, Mentioned};
use assent_model::audit::chain::Record;
use assent_model::audit::{Entry, Event};
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::user::User;

/// Where the entry about an erasure names the positions of those about others that it emptied.
const EMPTIED: &str = "emptied";

const NAMING: &str = records_where!(
    "user_id = $1 AND event IN ('user.created', 'user.changed') AND personal IS NOT NULL AND seq IS NOT NULL ORDER BY seq"
);
const MENTIONING: &str =
    records_where!("mentions = $1 AND personal IS NOT NULL AND seq IS NOT NULL ORDER BY seq");

/// Where somebody was mentioned before they were there, as in the step that adds them, it is they.
static ARE_MENTIONED: LazyLock<[BulkSql; 2]> = LazyLock::new(|| {
    let of = |table| {
        format!(
            "UPDATE {table} SET mentions = v.column2 FROM (VALUES {{($, $)}}) AS v WHERE {table}.mentions = v.column1"
        )
    };
    ["approvals", "audit_entries"].map(|table| BulkSql::new(&of(table), 0))
});

/// Notes that these users, who are new or have another name, are who was mentioned by it.
pub(crate) async fn are(db: &mut AnyConnection, users: &[User]) -> Result<()> {
    for rows in users.chunks(MOST) {
        for statement in &*ARE_MENTIONED {
            let mut query = sqlx::query(statement.of(rows.len()));
            for user in statement.filled(rows) {
                query = query
                    .bind(Mentioned::nobody(&user.name).to_text())
                    .bind(Mentioned::User(user.id).to_text());
            }
            query.execute(&mut *db).await?;
        }
    }
    Ok(())
}

/// The positions of the entries that mention somebody, as they were written: one that says so only where the chain does not cover it was
/// changed, and stays as it is for whoever looks into that. `names` are all that the user signed in with.
pub(crate) async fn entries(
    db: &mut AnyConnection,
    mentioned: &Mentioned,
    user: UserId,
    names: &[Mentioned],
) -> Result<Vec<i64>> {
    let rows: Vec<RecordRow> = sqlx::query_as(MENTIONING)
        .bind(mentioned.to_text())
        .fetch_all(db)
        .await?;
    let says = |text: Option<&String>| {
        let members: Value = serde_json::from_str(text?).ok()?;
        members
            .get(MENTIONS)
            .and_then(Value::as_str)
            .and_then(Mentioned::parse)
    };
    let is_so = |record: &Record| {
        let by_id = says(Some(&record.detail)) == Some(Mentioned::User(user));
        // Before they were there.
        let by_name = says(record.personal.as_ref()).is_some_and(|name| names.contains(&name));
        record.is_whole() && (by_id || by_name)
    };
    Ok(rows
        .into_iter()
        .map(Record::from)
        .filter(is_so)
        .map(|record| record.seq)
        .collect())
}

/// What a user signed in with so far, as the entries about the user tell, as they were written.
pub(crate) async fn names_of(db: &mut AnyConnection, user: UserId) -> Result<Vec<Mentioned>> {
    let rows: Vec<RecordRow> = sqlx::query_as(NAMING)
        .bind(user.to_string())
        .fetch_all(db)
        .await?;
    let mut names = Vec::new();
    for record in rows.into_iter().map(Record::from).filter(Record::is_whole) {
        let personal: Value = record
            .personal
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let told = ["before", "after"]
            .into_iter()
            .filter_map(|when| personal.get(when)?.get("login_name")?.as_str());
        names.extend(
            told.filter_map(|name| name.parse().ok())
                .map(|name: LoginName| Mentioned::nobody(&name)),
        );
    }
    Ok(names)
}

/// The entries about an erasure, which name those of others that it emptied, if it did.
pub(crate) fn naming(entries: Vec<Entry>, emptied: &[i64]) -> Vec<Entry> {
    let naming = |entry: Entry| {
        if emptied.is_empty() {
            entry
        } else {
            entry.with(EMPTIED, emptied)
        }
    };
    entries.into_iter().map(naming).collect()
}

impl Store {
    /// Who is said to be mentioned in the entry at this position. The chain does not cover it.
    pub async fn mentioned_in(&self, seq: i64) -> Result<Option<String>> {
        let row: Option<(Option<String>,)> =
            sqlx::query_as("SELECT mentions FROM audit_entries WHERE seq = $1")
                .bind(seq)
                .fetch_optional(&self.readers)
                .await?;
        Ok(row.and_then(|(mentions,)| mentions))
    }

    /// The positions of entries that mentioned this user, as the entries about the erasure name them.
    pub async fn emptied_with(&self, user: &str) -> Result<BTreeSet<i64>> {
        let erasures: Vec<(String,)> = sqlx::query_as(
            "SELECT detail FROM audit_entries WHERE user_id = $1 AND event IN ($2, $3)",
        )
        .bind(user.to_owned())
        .bind(Event::UserErased.as_str())
        .bind(Event::UserDeleted.as_str())
        .fetch_all(&self.readers)
        .await?;
        let positions = |(detail,): &(String,)| {
            let detail: Value = serde_json::from_str(detail).unwrap_or_default();
            let named = detail
                .get(EMPTIED)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            named
                .into_iter()
                .filter_map(|seq| seq.as_i64())
                .collect::<Vec<_>>()
        };
        Ok(erasures.iter().flat_map(positions).collect())
    }
}
