//! The outbox of logout tokens (OpenID Connect Back-Channel Logout 1.0). Pending deliveries survive a restart, and one
//! instance at a time claims a delivery for an attempt.

use std::time::Duration;

use crate::engine::outbox;
use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, from_json, moment, parse};
use crate::tables::applications::row::OIDC;
use crate::{Result, Store, StoreError};
use assent_model::application::OidcSettings;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::logout::{
    ClientLogoutOutcome, FrontchannelParticipation, LogoutClient, LogoutDelivery,
};
use assent_model::outbox::DeliverySettlement;

crate::engine::sql::row! {
    /// An application to which a user was signed in.
    pub(crate) struct Participant {
        sid: String,
        application_id: String,
        subject: String,
    }
}

/// A client that left a session.
pub(crate) struct LeftClient {
    sid: String,
    application_id: String,
    has_backchannel: bool,
    /// Whether the browser can load its sign-out page. No browser is sent to a disabled client.
    has_frontchannel: bool,
}

/// Queues a logout token for each participant with a back-channel logout URI. Returns the clients that still exist.
pub(crate) async fn queue(
    db: &mut Connection,
    participants: Vec<Participant>,
    now: Timestamp,
) -> Result<Vec<LeftClient>> {
    let mut left = Vec::with_capacity(participants.len());
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
        let has_backchannel = settings.backchannel_logout.is_some();
        if has_backchannel {
            // The id consists of the session and the application, so the application receives no second token for a
            // session while the first is pending.
            sql::query(
                "INSERT INTO logout_deliveries
                     (id, application_id, sid, subject, attempts, next_attempt_at, created_at)
                 VALUES ($1, $2, $3, $4, 0, $5, $5) ON CONFLICT (id) DO NOTHING",
            )
            .bind(format!("{sid}.{application_id}"))
            .bind(&application_id)
            .bind(&sid)
            .bind(subject)
            .bind(now.millis())
            .execute(&mut *db)
            .await?;
        }
        left.push(LeftClient {
            sid,
            application_id,
            has_backchannel,
            has_frontchannel: settings.frontchannel_logout.is_some() && settings.enabled,
        });
    }
    Ok(left)
}

/// Returns those of the clients whose sign-out page the browser can load.
pub(crate) fn frontchannel(clients: &[LeftClient]) -> Result<Vec<FrontchannelParticipation>> {
    let with_page = clients.iter().filter(|client| client.has_frontchannel);
    with_page
        .map(|client| {
            Ok(FrontchannelParticipation {
                sid: client.sid.clone(),
                application: parse(
                    &client.application_id,
                    cell("session_applications", "application_id", &client.sid),
                )?,
                has_backchannel: client.has_backchannel,
            })
        })
        .collect()
}

/// Stores the clients of an ended session for the page of the logout. The transaction also queues the logout tokens, so
/// each delivery finds its row.
pub(crate) async fn remember(
    db: &mut Connection,
    clients: &[LeftClient],
    now: Timestamp,
) -> Result<()> {
    for client in clients {
        sql::query(
            "INSERT INTO logout_clients (sid, application_id, ended_at) VALUES ($1, $2, $3)
             ON CONFLICT (sid, application_id) DO UPDATE SET outcome = NULL, ended_at = excluded.ended_at",
        )
        .bind(&client.sid)
        .bind(&client.application_id)
        .bind(now.millis())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

crate::engine::sql::row! {
    struct ClientRow {
        sid: String,
        application_id: String,
        outcome: Option<String>,
    }
}

impl TryFrom<ClientRow> for LogoutClient {
    type Error = StoreError;
    fn try_from(row: ClientRow) -> Result<Self> {
        Ok(Self {
            application: parse(
                &row.application_id,
                cell("logout_clients", "application_id", &row.sid),
            )?,
            outcome: match row.outcome.as_deref() {
                None => None,
                Some("notified") => Some(ClientLogoutOutcome::Notified),
                Some("loaded") => Some(ClientLogoutOutcome::Loaded),
                Some(_) => return Err(cell("logout_clients", "outcome", &row.sid).unexpected()),
            },
            sid: row.sid,
        })
    }
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
    /// The applications with a due logout at `now`, the oldest first.
    pub async fn due_logouts(&self, now: Timestamp) -> Result<Vec<Did>> {
        let rows: Vec<(String,)> = sql::query_as(outbox::due_applications!("logout_deliveries"))
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
                sql::query_as::<DeliveryRow>(outbox::claim_oldest!(
                    "logout_deliveries",
                    "id, application_id, sid, subject, attempts, created_at"
                ))
                .bind(application)
                .bind((now + lease).millis())
                .bind(now.millis())
                .fetch_value(db)
                .await
            })
        })
        .await
    }

    /// Ends a claimed attempt: removes the delivery, or sets the time of the next attempt. Nothing happens if another
    /// attempt has begun.
    pub async fn settle_logout(
        &self,
        delivery: LogoutDelivery,
        settlement: DeliverySettlement,
    ) -> Result<()> {
        self.write(delivery, move |db, delivery| {
            Box::pin(async move {
                let query = match settlement {
                    DeliverySettlement::RetryAt(again) => {
                        sql::query(outbox::retry_at!("logout_deliveries"))
                            .bind(&delivery.id)
                            .bind(delivery.attempts)
                            .bind(again.millis())
                    }
                    DeliverySettlement::Delivered | DeliverySettlement::Abandoned => {
                        sql::query(outbox::delete_attempted!("logout_deliveries"))
                            .bind(&delivery.id)
                            .bind(delivery.attempts)
                    }
                };
                query.execute(&mut *db).await?;
                if settlement == DeliverySettlement::Delivered {
                    sql::query(
                        "UPDATE logout_clients SET outcome = 'notified' WHERE sid = $1 AND application_id = $2",
                    )
                    .bind(&delivery.sid)
                    .bind(delivery.application.to_string())
                    .execute(db)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The clients that took part in an ended session, in the order of their ids.
    pub async fn logout_clients(&self, sid: &str) -> Result<Vec<LogoutClient>> {
        sql::query_as::<ClientRow>(
            "SELECT sid, application_id, outcome FROM logout_clients WHERE sid = $1 ORDER BY application_id",
        )
        .bind(sid.to_owned())
        .fetch_values(&self.readers)
        .await
    }
}
