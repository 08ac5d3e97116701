//! Counts for the overview.

use super::audit::SKEW;
use super::rows::moment;
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::first_text_of;
use crate::model::audit::Event;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

impl Store {
    /// How many applications there are: OpenID Connect clients, and SAML service providers.
    pub async fn application_counts(&self) -> Result<(u64, u64)> {
        let (clients, all): (i64, i64) =
            sqlx::query_as("SELECT COUNT(CASE WHEN protocol = 'oidc' THEN 1 END), COUNT(*) FROM applications")
                .fetch_one(&self.readers)
                .await?;
        Ok((clients.unsigned_abs(), (all - clients).unsigned_abs()))
    }

    /// How often each of these events happened in each hour since then: event, the hour's beginning, count.
    pub async fn events_by_hour(&self, events: [Event; 4], since: Timestamp) -> Result<Vec<(Event, Timestamp, u64)>> {
        // Positions follow the time, so the index of the events holds just these.
        let [one, two, three, four] = events.map(Event::as_str);
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT event, happened_at / 3600000 AS hour, COUNT(*) FROM audit_entries
             WHERE event IN ($1, $2, $3, $4) AND happened_at >= $6
               AND seq >= COALESCE((SELECT seq FROM audit_entries WHERE id < $5 ORDER BY id DESC LIMIT 1), 0)
             GROUP BY event, happened_at / 3600000",
        )
        .bind(one)
        .bind(two)
        .bind(three)
        .bind(four)
        .bind(first_text_of(since - SKEW))
        .bind(since.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(event, hour, count)| {
                let event = Event::parse(&event).ok_or(StoreError::Corrupt("an audit entry's event"))?;
                Ok((event, moment(hour * HOUR), count.unsigned_abs()))
            })
            .collect()
    }
}
