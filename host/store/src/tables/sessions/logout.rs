//! The outbox of logout tokens (OpenID Connect Back-Channel Logout 1.0). Pending deliveries survive a restart, and one
//! instance at a time claims a delivery for an attempt.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, from_json, moment, parse};
use crate::tables::applications::row::OIDC;
use crate::{Result, Store, StoreError};
use assent_model::application::OidcSettings;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::logout::LogoutDelivery;

crate::engine::sql::row! {
    /// An application to which a user was signed in.
    pub(crate) struct Participant {
        sid: String,
        application_id: String,
        subject: String,
    }
}

/// Queues a logout token for each participant with a back-channel logout URI.
pub(crate) async fn queue(
    db: &mut Connection,
    participants: Vec<Participant>,
    now: Timestamp,
) -> Result<()> {
    for Participant {
        sid,
        application_id,
        subject,
    } in participants
    {
        let found: Option<(String,)> =
            sql::query_as("SELECT settings FROM applications WHERE id = $1 AND protocol = $2")
                .bind(&application_id)
                .bind(OIDC)
                .fetch_optional(&mut *db)
                .await?;
        let Some((settings,)) = found else { continue };
        let settings: OidcSettings =
            from_json(&settings, cell("applications", "settings", &application_id))?;
        if settings.backchannel_logout.is_none() {
            continue;
        }
        // The id consists of the session and the application, so the application receives no second token for a session
        // while the first is pending.
        sql::query(
            "INSERT INTO logout_deliveries (id, application_id, sid, subject, attempts, next_attempt_at, created_at)
             VALUES ($1, $2, $3, $4, 0, $5, $5) ON CONFLICT (id) DO NOTHING",
        )
        .bind(format!("{sid}.{application_id}"))
        .bind(application_id)
        .bind(sid)
        .bind(subject)
        .bind(now.millis())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

crate::engine::sql::row! {
    struct DeliveryRow {
        id: String,
        application_id: String,
        sid: String,
        subject: String,
        attempts: i64,
        created_at: i64,
    }
}

impl TryFrom<DeliveryRow> for LogoutDelivery {
    type Error = StoreError;
    fn try_from(row: DeliveryRow) -> Result<Self> {
        Ok(Self {
            id: row.id.clone(),
            application: parse(
                &row.application_id,
                cell("logout_deliveries", "application_id", &row.id),
            )?,
            sid: row.sid,
            subject: row.subject,
            attempts: u32::try_from(row.attempts)
                .map_err(|_| cell("logout_deliveries", "attempts", &row.id).unexpected())?,
            created_at: moment(row.created_at),
        })
    }
}

impl Store {
    /// The applications with a due logout at `now`, the oldest first. The query looks each application up in the index,
    /// so its cost does not depend on the number of pending logouts.
    pub async fn due_logouts(&self, now: Timestamp) -> Result<Vec<Did>> {
        let rows: Vec<(String,)> = sql::query_as(
            "WITH RECURSIVE waiting (application_id) AS (
                 SELECT MIN(application_id) FROM logout_deliveries
                 UNION ALL
                 SELECT (SELECT MIN(d.application_id) FROM logout_deliveries d
                         WHERE d.application_id > w.application_id)
                 FROM waiting w WHERE w.application_id IS NOT NULL)
             SELECT application_id FROM (
                 SELECT w.application_id, (SELECT MIN(d.next_attempt_at) FROM logout_deliveries d
                                           WHERE d.application_id = w.application_id) AS since
                 FROM waiting w WHERE w.application_id IS NOT NULL) AS heads
             WHERE since <= $1 ORDER BY since, application_id",
        )
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(did,)| parse(&did, cell("logout_deliveries", "application_id", &did)))
            .collect()
    }

    /// Claims the oldest due delivery of an application, for one attempt. No other instance gets it until `lease` has
    /// expired; if the instance stops before that, the attempt is repeated afterwards. Returns `None` if no delivery is
    /// due, or another instance claimed it at the same time.
    pub async fn claim_logout(
        &self,
        application: &Did,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Option<LogoutDelivery>> {
        self.write(application.to_string(), move |db, application| {
            Box::pin(async move {
                sql::query_as::<DeliveryRow>(
                    "UPDATE logout_deliveries SET attempts = attempts + 1, next_attempt_at = $2
                     WHERE id = (SELECT d.id FROM logout_deliveries d
                                 WHERE d.application_id = $1 AND d.next_attempt_at <= $3
                                 ORDER BY d.next_attempt_at LIMIT 1)
                       AND next_attempt_at <= $3
                     RETURNING id, application_id, sid, subject, attempts, created_at",
                )
                .bind(application)
                .bind((now + lease).millis())
                .bind(now.millis())
                .fetch_value(db)
                .await
            })
        })
        .await
    }

    /// Ends a claimed attempt. The next attempt is at `again`; `None` removes the delivery. Nothing happens if another
    /// attempt has begun.
    pub async fn settle_logout(
        &self,
        delivery: LogoutDelivery,
        again: Option<Timestamp>,
    ) -> Result<()> {
        self.write(delivery, move |db, delivery| {
            Box::pin(async move {
                let query = match again {
                    Some(again) => {
                        sql::query("UPDATE logout_deliveries SET next_attempt_at = $3 WHERE id = $1 AND attempts = $2")
                            .bind(&delivery.id)
                            .bind(delivery.attempts)
                            .bind(again.millis())
                    }
                    None => sql::query("DELETE FROM logout_deliveries WHERE id = $1 AND attempts = $2")
                        .bind(&delivery.id)
                        .bind(delivery.attempts),
                };
                query.execute(db).await?;
                Ok(())
            })
        })
        .await
    }
}
