//! Counts for the overview.

use super::rows::{life_state, moment};
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::first_text_of;
use crate::model::audit::Event;
use crate::model::user::LifeState;

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

impl Store {
    /// How many users there are in each state.
    pub async fn users_by_state(&self) -> Result<Vec<(LifeState, u64)>> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT state, COUNT(*) FROM users GROUP BY state").fetch_all(&self.readers).await?;
        rows.into_iter().map(|(state, count)| Ok((life_state(&state)?, count.unsigned_abs()))).collect()
    }

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
        // Ids begin with the time, so the index of the events holds just these.
        let [one, two, three, four] = events.map(Event::as_str);
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT event, happened_at / 3600000 AS hour, COUNT(*) FROM audit_entries
             WHERE event IN ($1, $2, $3, $4) AND id >= $5 GROUP BY event, happened_at / 3600000",
        )
        .bind(one)
        .bind(two)
        .bind(three)
        .bind(four)
        .bind(first_text_of(since))
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
