//! The outbox of the results of back-channel requests (OpenID CIBA Core 1.0 sections 10.2 and 10.3).
//!
//! The row is added with its request, so that neither a decision nor an expiry needs the secrets of the request. The
//! transaction of a decision makes it due. Pending deliveries survive a restart, and one instance at a time claims a
//! delivery for an attempt.

use std::time::Duration;

use crate::engine::outbox;
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::backchannel::BackchannelRequest;
use assent_model::backchannel_delivery::{NewResultDelivery, ResultDelivery};
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, BackchannelRequestId, Did, FamilyId};
use assent_model::outbox::DeliverySettlement;

crate::engine::sql::row! {
    struct DeliveryRow {
        id: String,
        application_id: String,
        sealed: String,
        family_id: Option<String>,
        attempts: i64,
        give_up_at: i64,
    }
}

impl TryFrom<DeliveryRow> for ResultDelivery {
    type Error = StoreError;
    fn try_from(row: DeliveryRow) -> Result<Self> {
        let place = |column| cell("backchannel_deliveries", column, &row.id);
        Ok(Self {
            request: parse(&row.id, place("id"))?,
            application: parse(&row.application_id, place("application_id"))?,
            family: row
                .family_id
                .as_deref()
                .map(|id| parse(id, place("family_id")))
                .transpose()?,
            attempts: u32::try_from(row.attempts).map_err(|_| place("attempts").unexpected())?,
            give_up_at: moment(row.give_up_at),
            sealed: row.sealed,
        })
    }
}

/// Adds the delivery of the result of a request. It is due at the expiry of the request.
pub(crate) async fn insert(
    db: &mut Connection,
    request: &BackchannelRequest,
    delivery: &NewResultDelivery,
) -> Result<()> {
    sql::query(
        "INSERT INTO backchannel_deliveries (id, application_id, sealed, attempts, due_at, next_attempt_at, give_up_at)
         VALUES ($1, $2, $3, 0, $4, $4, $5)",
    )
    .bind(request.id.to_string())
    .bind(request.application.to_string())
    .bind(delivery.sealed.clone())
    .bind(request.expires_at.millis())
    .bind(delivery.give_up_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Makes the delivery of a decided request due. An attempt that another instance began before, because its clock is
/// ahead, does not settle the delivery any more.
pub(crate) async fn decided(
    db: &mut Connection,
    approval: ApprovalId,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "UPDATE backchannel_deliveries
         SET due_at = $2, next_attempt_at = $2, attempts = CASE WHEN attempts = 0 THEN 0 ELSE attempts + 1 END
         WHERE id = (SELECT COALESCE(backchannel_id, second_of) FROM approvals WHERE approvals.id = $1)",
    )
    .bind(approval.to_string())
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Records the grant for which the request was claimed. Further attempts send tokens of the same grant.
pub(crate) async fn set_family(
    db: &mut Connection,
    request: BackchannelRequestId,
    family: FamilyId,
) -> Result<()> {
    sql::query("UPDATE backchannel_deliveries SET family_id = $2 WHERE id = $1")
        .bind(request.to_string())
        .bind(family.to_string())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// The applications with a due result at `now`, the oldest first.
    pub async fn due_results(&self, now: Timestamp) -> Result<Vec<Did>> {
        let rows: Vec<(String,)> =
            sql::query_as(outbox::due_applications!("backchannel_deliveries"))
                .bind(now.millis())
                .fetch_all(&self.readers)
                .await?;
        rows.into_iter()
            .map(|(did,)| parse(&did, cell("backchannel_deliveries", "application_id", &did)))
            .collect()
    }

    /// Claims the oldest due result of an application, for one attempt. No other instance gets it until `lease` has
    /// expired; if the instance stops before that, the attempt is repeated afterwards. Returns `None` if no result is
    /// due, or another instance claimed it at the same time.
    pub async fn claim_result(
        &self,
        application: &Did,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Option<ResultDelivery>> {
        self.write(application.to_string(), move |db, application| {
            Box::pin(async move {
                sql::query_as::<DeliveryRow>(outbox::claim_oldest!(
                    "backchannel_deliveries",
                    "id, application_id, sealed, family_id, attempts, give_up_at"
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

    /// Ends a claimed attempt, with its audit entry: removes the delivery with its secrets, or sets the time of the
    /// next attempt. Nothing happens if another attempt has begun, or the request was decided since.
    pub async fn settle_result(
        &self,
        delivery: ResultDelivery,
        settlement: DeliverySettlement,
        entry: Option<Entry>,
    ) -> Result<()> {
        self.write((delivery, entry), move |db, (delivery, entry)| {
            Box::pin(async move {
                let query = match settlement {
                    DeliverySettlement::RetryAt(again) => {
                        sql::query(outbox::retry_at!("backchannel_deliveries"))
                            .bind(delivery.request.to_string())
                            .bind(delivery.attempts)
                            .bind(again.millis())
                    }
                    DeliverySettlement::Delivered | DeliverySettlement::Abandoned => {
                        sql::query(outbox::delete_attempted!("backchannel_deliveries"))
                            .bind(delivery.request.to_string())
                            .bind(delivery.attempts)
                    }
                };
                let settled = query.execute(&mut *db).await?;
                audit::append_if(db, settled > 0, entry.as_slice()).await?;
                Ok(())
            })
        })
        .await
    }
}
