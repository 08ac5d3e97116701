//! The positions of the audit streams, and the instance that carries each stream.

use crate::engine::rows::cell;
use crate::engine::sql;
use crate::{Result, Store};
use assent_model::audit::chain::Positions;
use assent_model::clock::Timestamp;

impl Store {
    /// The position of a stream; `None` if it never began.
    pub async fn audit_stream(&self, name: &str) -> Result<Option<Positions>> {
        let row: Option<(String,)> =
            sql::query_as("SELECT positions FROM audit_streams WHERE name = $1")
                .bind(name.to_owned())
                .fetch_optional(&self.readers)
                .await?;
        row.map(|(text,)| positions(name, &text)).transpose()
    }

    /// Lets an instance carry a stream until `until`. It must be the current instance, or the lease must have ended.
    /// Returns the position of the stream; `None` if another instance carries it.
    pub async fn claim_audit_stream(
        &self,
        name: &'static str,
        instance: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Positions>> {
        let claimed: Option<(String,)> = self
            .write(instance.to_owned(), move |db, instance| {
                Box::pin(async move {
                    Ok(sql::query_as(
                        "INSERT INTO audit_streams (name, positions, instance, leased_until) VALUES ($1, '', $2, $3)
                         ON CONFLICT (name) DO UPDATE
                           SET instance = excluded.instance, leased_until = excluded.leased_until
                         WHERE audit_streams.instance = excluded.instance OR audit_streams.leased_until <= $4
                         RETURNING positions",
                    )
                    .bind(name)
                    .bind(instance)
                    .bind(until.millis())
                    .bind(now.millis())
                    .fetch_optional(db)
                    .await?)
                })
            })
            .await?;
        claimed.map(|(text,)| positions(name, &text)).transpose()
    }

    /// Stores the position of a stream, if this instance still carries it. Otherwise nothing happens.
    pub async fn advance_audit_stream(
        &self,
        name: &'static str,
        instance: &str,
        positions: &Positions,
    ) -> Result<()> {
        let input = (instance.to_owned(), positions.to_string());
        self.write(input, move |db, (instance, positions)| {
            Box::pin(async move {
                sql::query(
                    "UPDATE audit_streams SET positions = $3 WHERE name = $1 AND instance = $2",
                )
                .bind(name)
                .bind(instance)
                .bind(positions)
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// The position that all of these streams have reached; `None` if there are none.
    pub(crate) async fn streamed_positions(&self, names: &[&str]) -> Result<Option<Positions>> {
        let mut streamed: Option<Positions> = None;
        for name in names {
            let positions = self.audit_stream(name).await?.unwrap_or_default();
            streamed = Some(match streamed {
                Some(others) => others.min(&positions),
                None => positions,
            });
        }
        Ok(streamed)
    }
}

fn positions(name: &str, text: &str) -> Result<Positions> {
    text.parse()
        .map_err(|_| cell("audit_streams", "positions", name).unexpected())
}
