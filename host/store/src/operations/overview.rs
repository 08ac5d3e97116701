//! Counts for the overview.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::audit::{is_action, is_caller_check};
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, from_json, moment, to_json};
use crate::engine::sql;
use crate::{Result, Store, StoreError};
use assent_model::audit::Event;
use assent_model::id::first_text_of;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;
/// The unit of the counted approval times, in milliseconds.
pub const QUARTER: u64 = 250;
/// The counted events that requests for protected actions have, too.
const OF_ACTIONS: [Event; 5] = [
    Event::SignInDenied,
    Event::SignInReported,
    Event::NumberMatchFailed,
    Event::SignInCancelled,
    Event::SignInExpired,
];

static INSERT_HOURS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO sign_in_hours (hour, completed, denied, reported, number_mismatches, cancelled, expired,
                                    approval_times)
         VALUES {($, $, $, $, $, $, $, $)} ON CONFLICT (hour) DO NOTHING",
        0,
    )
});

/// The sign-ins of one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInHour {
    /// The hour, counted since 1970.
    pub hour: i64,
    /// The number of completed sign-ins.
    pub completed: u64,
    /// The number of denied requests.
    pub denied: u64,
    /// The number of reported requests.
    pub reported: u64,
    /// The number of typed wrong numbers.
    pub number_mismatches: u64,
    /// The number of sign-ins that were cancelled in the browser.
    pub cancelled: u64,
    /// The number of requests that expired without a decision.
    pub expired: u64,
    /// How long users took to approve: the number of approvals by the time in quarters of a second.
    pub approval_times: BTreeMap<u64, u64>,
}

impl SignInHour {
    const fn counter_for(&mut self, event: Event) -> Option<&mut u64> {
        Some(match event {
            Event::SignedIn => &mut self.completed,
            Event::SignInDenied => &mut self.denied,
            Event::SignInReported => &mut self.reported,
            Event::NumberMatchFailed => &mut self.number_mismatches,
            Event::SignInCancelled => &mut self.cancelled,
            Event::SignInExpired => &mut self.expired,
            _ => return None,
        })
    }
}

/// The part of an entry's detail that the counts use.
#[derive(Deserialize)]
struct EntryDetail {
    #[serde(default)]
    approval_time_ms: Option<u64>,
}

crate::engine::sql::row! {
    struct HourRow of sign_in_hours {
        hour: i64,
        completed: i64,
        denied: i64,
        reported: i64,
        number_mismatches: i64,
        cancelled: i64,
        expired: i64,
        approval_times: String,
    }
}

impl TryFrom<HourRow> for SignInHour {
    type Error = StoreError;
    fn try_from(row: HourRow) -> Result<Self> {
        Ok(Self {
            hour: row.hour,
            completed: row.completed.unsigned_abs(),
            denied: row.denied.unsigned_abs(),
            reported: row.reported.unsigned_abs(),
            number_mismatches: row.number_mismatches.unsigned_abs(),
            cancelled: row.cancelled.unsigned_abs(),
            expired: row.expired.unsigned_abs(),
            approval_times: from_json(
                &row.approval_times,
                cell("sign_in_hours", "approval_times", &row.hour.to_string()),
            )?,
        })
    }
}

impl Store {
    /// The numbers of applications: OpenID Connect clients, and SAML service providers.
    pub async fn application_counts(&self) -> Result<(u64, u64)> {
        let (clients, all): (i64, i64) = sql::query_as(
            "SELECT COUNT(CASE WHEN protocol = 'oidc' THEN 1 END), COUNT(*) FROM applications",
        )
        .fetch_one(&self.readers)
        .await?;
        Ok((clients.unsigned_abs(), (all - clients).unsigned_abs()))
    }

    /// The stored counts of the hours from `first` on, in hours since 1970.
    pub async fn sign_in_hours(&self, first: i64) -> Result<Vec<SignInHour>> {
        sql::query_as::<HourRow>(sql::statement!(
            "SELECT ",
            HourRow::COLUMNS,
            " FROM sign_in_hours WHERE hour >= $1 ORDER BY hour"
        ))
        .bind(first)
        .fetch_values(&self.readers)
        .await
    }

    /// Counts the sign-ins of each hour from `first` to `last` in the audit log, including hours without sign-ins.
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
        // Ids begin with the time, so the entries since then are a range of the primary key's index. `COALESCE` keeps
        // the database from using the index of the events, which would read all events from the first one on.
        let since = first_text_of(moment(first * HOUR));
        let rows: Vec<(String, i64, i64)> = sql::query_as(
            "SELECT COALESCE(event, ''), happened_at / 3600000, COUNT(*) FROM audit_entries WHERE id >= $1
             GROUP BY COALESCE(event, ''), happened_at / 3600000",
        )
        .bind(&since)
        .fetch_all(&self.readers)
        .await?;
        for (event, hour, count) in rows {
            let event =
                Event::parse(&event).ok_or(cell("audit_entries", "event", &event).unexpected())?;
            if let Some(counter) = hours
                .get_mut(&hour)
                .and_then(|hour| hour.counter_for(event))
            {
                *counter += count.unsigned_abs();
            }
        }
        self.subtract_actions(&since, &mut hours).await?;
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
        }
        Ok(hours.into_values().collect())
    }

    /// Subtracts the requests for protected actions and the checks of callers, whose entries have the same events. Only
    /// few entries have them.
    async fn subtract_actions(
        &self,
        since: &str,
        hours: &mut BTreeMap<i64, SignInHour>,
    ) -> Result<()> {
        for event in OF_ACTIONS {
            let rows: Vec<(i64, i64)> = sql::query_as(concat!(
                "SELECT happened_at / 3600000, COUNT(*) FROM audit_entries
                 WHERE id >= $1 AND COALESCE(event, '') = $2 AND ",
                "(",
                is_action!(),
                " OR ",
                is_caller_check!(),
                ") GROUP BY happened_at / 3600000"
            ))
            .bind(since.to_owned())
            .bind(event.as_str())
            .fetch_all(&self.readers)
            .await?;
            for (hour, count) in rows {
                if let Some(counter) = hours
                    .get_mut(&hour)
                    .and_then(|hour| hour.counter_for(event))
                {
                    *counter = counter.saturating_sub(count.unsigned_abs());
                }
            }
        }
        Ok(())
    }

    /// Stores the counts of hours that have ended. Existing counts stay.
    pub async fn save_sign_in_hours(&self, hours: Vec<SignInHour>) -> Result<()> {
        if hours.is_empty() {
            return Ok(());
        }
        self.write(hours, |db, hours| {
            Box::pin(async move {
                // A new instance has a month of hours.
                for rows in hours.chunks(MOST) {
                    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
                    let mut query = sql::query(INSERT_HOURS.sql_for(rows.len()));
                    for hour in INSERT_HOURS.padded(rows) {
                        query = query
                            .bind(hour.hour)
                            .bind(count(hour.completed))
                            .bind(count(hour.denied))
                            .bind(count(hour.reported))
                            .bind(count(hour.number_mismatches))
                            .bind(count(hour.cancelled))
                            .bind(count(hour.expired))
                            .bind(to_json(&hour.approval_times)?);
                    }
                    query.execute(&mut *db).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Deletes the counts of the hours before `first`.
    pub async fn delete_sign_in_hours(&self, first: i64) -> Result<()> {
        self.write((), move |db, ()| {
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
