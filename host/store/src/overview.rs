//! Counts for the overview.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::batch::bulk_sql::{BulkSql, MOST};
use crate::rows::{cell, from_json, moment, to_json};
use crate::sql;
use crate::{Result, Store, StoreError};
use assent_model::audit::Event;
use assent_model::id::first_text_of;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;
/// What approval_times are counted in, in milliseconds.
pub const QUARTER: u64 = 250;
/// What is counted of sign-ins.
const COUNTED: [Event; 6] = [
    Event::SignInRequested,
    Event::SignInApproved,
    Event::SignedIn,
    Event::SignInDenied,
    Event::SignInReported,
    Event::NumberMatchFailed,
];

static INSERT_HOURS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO sign_in_hours (hour, requested, approved, completed, denied, number_mismatches, approval_times)
         VALUES {($, $, $, $, $, $, $)} ON CONFLICT (hour) DO NOTHING",
        0,
    )
});

/// The sign-ins of one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInHour {
    /// Which one, counted since 1970.
    pub hour: i64,
    /// How often a browser asked by a name that somebody has.
    pub requested: u64,
    /// How often somebody approved.
    pub approved: u64,
    /// The number of completed sign-ins.
    pub completed: u64,
    /// The number of denied and reported requests.
    pub denied: u64,
    /// The number of wrong numbers.
    pub number_mismatches: u64,
    /// How long people took to approve: from quarters of a second to how many took so long.
    pub approval_times: BTreeMap<u64, u64>,
}

impl SignInHour {
    fn counter_for(&mut self, event: Event) -> &mut u64 {
        match event {
            Event::SignInRequested => &mut self.requested,
            Event::SignInApproved => &mut self.approved,
            Event::SignedIn => &mut self.completed,
            Event::NumberMatchFailed => &mut self.number_mismatches,
            _ => &mut self.denied,
        }
    }
}

/// What an entry says of the wait.
#[derive(Deserialize)]
struct EntryDetail {
    #[serde(default)]
    approval_time_ms: Option<u64>,
    /// `passkey` for a sign-in that no device was asked about.
    #[serde(default)]
    method: Option<String>,
}

crate::sql::row! {
    struct HourRow of sign_in_hours {
        hour: i64,
        requested: i64,
        approved: i64,
        completed: i64,
        denied: i64,
        number_mismatches: i64,
        approval_times: String,
    }
}

impl TryFrom<HourRow> for SignInHour {
    type Error = StoreError;
    fn try_from(row: HourRow) -> Result<Self> {
        Ok(Self {
            hour: row.hour,
            requested: row.requested.unsigned_abs(),
            approved: row.approved.unsigned_abs(),
            completed: row.completed.unsigned_abs(),
            denied: row.denied.unsigned_abs(),
            number_mismatches: row.number_mismatches.unsigned_abs(),
            approval_times: from_json(
                &row.approval_times,
                cell("sign_in_hours", "approval_times", &row.hour.to_string()),
            )?,
        })
    }
}

impl Store {
    /// How many applications there are: OpenID Connect clients, and SAML service providers.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn application_counts(&self) -> Result<(u64, u64)> {
        let (clients, all): (i64, i64) = sql::query_as(
            "SELECT COUNT(CASE WHEN protocol = 'oidc' THEN 1 END), COUNT(*) FROM applications",
        )
        .fetch_one(&self.readers)
        .await?;
        Ok((clients.unsigned_abs(), (all - clients).unsigned_abs()))
    }

    /// What was kept of the hours from this one on, counted since 1970.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn sign_in_hours(&self, first: i64) -> Result<Vec<SignInHour>> {
        let rows: Vec<HourRow> = sql::query_as(sql::statement!(
            "SELECT ",
            HourRow::COLUMNS,
            " FROM sign_in_hours WHERE hour >= $1 ORDER BY hour"
        ))
        .bind(first)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(SignInHour::try_from).collect()
    }

    /// Counts the hours from the first to the last one in the audit log: each of them, be there sign-ins or not.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn count_sign_ins(&self, first: i64, last: i64) -> Result<Vec<SignInHour>> {
        let mut hours: BTreeMap<i64, SignInHour> = (first..=last)
            .map(|hour| {
                (
                    hour,
                    SignInHour {
                        hour,
                        ..SignInHour::default()
                    },
                )
            })
            .collect();
        // Ids begin with the time, so the entries since then are a range of the table's own index. The index of the
        // events begins with the first there ever was, so that no column of it is asked for or grouped by as such.
        let since = first_text_of(moment(first * HOUR));
        let rows: Vec<(String, i64, i64)> = sql::query_as(
            "SELECT COALESCE(event, ''), happened_at / 3600000, COUNT(*) FROM audit_entries WHERE id >= $1
             GROUP BY COALESCE(event, ''), happened_at / 3600000",
        )
        .bind(since.clone())
        .fetch_all(&self.readers)
        .await?;
        for (event, hour, count) in rows {
            let event =
                Event::parse(&event).ok_or(cell("audit_entries", "event", &event).unexpected())?;
            if let (Some(hour), true) = (hours.get_mut(&hour), COUNTED.contains(&event)) {
                *hour.counter_for(event) += count.unsigned_abs();
            }
        }
        let rows: Vec<(String, i64, String)> = sql::query_as(
            "SELECT id, happened_at / 3600000, detail FROM audit_entries WHERE id >= $1 AND COALESCE(event, '') = $2",
        )
        .bind(since)
        .bind(Event::SignInApproved.as_str())
        .fetch_all(&self.readers)
        .await?;
        for (id, hour, detail) in rows {
            let detail: EntryDetail = from_json(&detail, cell("audit_entries", "detail", &id))?;
            let Some(hour) = hours.get_mut(&hour) else {
                continue;
            };
            if let Some(waited) = detail.approval_time_ms {
                *hour
                    .approval_times
                    .entry((waited + QUARTER / 2) / QUARTER)
                    .or_default() += 1;
            }
            // Its request has no entry of its own.
            if detail.method.as_deref() == Some("passkey") {
                hour.requested += 1;
            }
        }
        Ok(hours.into_values().collect())
    }

    /// Keeps what was counted of hours that are over. What is known of them already stays.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn save_sign_in_hours(&self, hours: Vec<SignInHour>) -> Result<()> {
        if hours.is_empty() {
            return Ok(());
        }
        self.write(move |db| {
            let hours = hours.clone();
            Box::pin(async move {
                // A new instance has a month of hours.
                for rows in hours.chunks(MOST) {
                    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
                    let mut query = sql::query(INSERT_HOURS.sql_for(rows.len()));
                    for hour in INSERT_HOURS.padded(rows) {
                        query = query
                            .bind(hour.hour)
                            .bind(count(hour.requested))
                            .bind(count(hour.approved))
                            .bind(count(hour.completed))
                            .bind(count(hour.denied))
                            .bind(count(hour.number_mismatches))
                            .bind(to_json(&hour.approval_times)?);
                    }
                    query.execute(&mut *db).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Forgets what was counted of the hours before this one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn delete_sign_in_hours(&self, first: i64) -> Result<()> {
        self.write(move |db| {
            Box::pin(async move {
                sql::query("DELETE FROM sign_in_hours WHERE hour < $1")
                    .bind(first)
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}
