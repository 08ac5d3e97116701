//! How far the streams of the audit log have come, and which host carries each.

use crate::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;

impl Store {
    /// The position that a stream has come to, and that of the last entry there is.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_stream(&self, name: &str) -> Result<(Option<i64>, i64)> {
        let (seq, head): (Option<i64>, i64) = sql::query_as(
            "SELECT (SELECT seq FROM audit_streams WHERE name = $1),
                    COALESCE((SELECT seq FROM audit_chain WHERE name = 'head'), CAST(0 AS BIGINT))",
        )
        .bind(name.to_owned())
        .fetch_one(&self.readers)
        .await?;
        Ok((seq, head))
    }

    /// Lets a host carry a stream until then: the one that does already, or any where that one's time is over. The
    /// position that it has come to; `None` if another carries it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_audit_stream(
        &self,
        name: &'static str,
        instance: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        let instance = instance.to_owned();
        self.write(move |db| {
            let instance = instance.clone();
            Box::pin(async move {
                let claimed: Option<(i64,)> = sql::query_as(
                    "INSERT INTO audit_streams (name, seq, instance, leased_until) VALUES ($1, 0, $2, $3)
                     ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, leased_until = excluded.leased_until
                     WHERE audit_streams.instance = excluded.instance OR audit_streams.leased_until <= $4
                     RETURNING seq",
                )
                .bind(name)
                .bind(instance)
                .bind(until.millis())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                Ok(claimed.map(|(seq,)| seq))
            })
        })
        .await
    }

    /// Notes how far a stream has come, if this instance still has its lease. Otherwise nothing happens.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn advance_audit_stream(
        &self,
        name: &'static str,
        instance: &str,
        seq: i64,
    ) -> Result<()> {
        let instance = instance.to_owned();
        self.write(move |db| {
            let instance = instance.clone();
            Box::pin(async move {
                sql::query("UPDATE audit_streams SET seq = $3 WHERE name = $1 AND instance = $2 AND seq <= $3")
                        .bind(name)
                        .bind(instance)
                        .bind(seq)
                        .execute(db)
                        .await?;
                Ok(())
            })
        })
        .await
    }

    /// The position up to which all of these streams have come.
    pub(crate) async fn streamed(&self, names: &[&str]) -> Result<i64> {
        let mut streamed = i64::MAX;
        for name in names {
            let (seq, _) = self.audit_stream(name).await?;
            streamed = streamed.min(seq.unwrap_or_default());
        }
        Ok(streamed)
    }
}
