//! Deliveries of approval requests through channels. One instance at a time has the lease of a delivery; if it stops,
//! another one takes over.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::deferred;
use crate::engine::rows::{cell, moment, parse};
use crate::tables::approvals::dispatch;
use crate::{Result, Store, StoreError};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::delivery::{Delivery, LeasedDelivery, Recipient};
use assent_model::id::{ApprovalId, DeliveryId};

crate::engine::sql::row! {
    struct DeliveryRow {
        id: String,
        approval_id: String,
        channel: String,
        device_id: Option<String>,
        identifier: Option<String>,
        handle: String,
        leased_until: i64,
    }
}

impl TryFrom<DeliveryRow> for LeasedDelivery {
    type Error = StoreError;
    fn try_from(row: DeliveryRow) -> Result<Self> {
        let recipient = match (row.device_id, row.identifier) {
            (Some(device), None) => Recipient::Device(parse(
                &device,
                cell("approval_deliveries", "device_id", &row.id),
            )?),
            (None, Some(identifier)) => Recipient::Vendor { identifier },
            _ => return Err(cell("approval_deliveries", "device_id", &row.id).unexpected()),
        };
        let delivery = Delivery {
            id: parse(&row.id, cell("approval_deliveries", "id", &row.id))?,
            approval: parse(
                &row.approval_id,
                cell("approval_deliveries", "approval_id", &row.id),
            )?,
            channel: row.channel,
            recipient,
            handle: row.handle,
        };
        Ok(Self {
            delivery,
            until: moment(row.leased_until),
        })
    }
}

/// Records that an approval ended: wakes the requests that wait for it, and makes its deliveries due at once, so that
/// they are cancelled.
pub(crate) async fn approval_ended(db: &mut Connection, approval: &str) -> Result<()> {
    let id = parse(approval, cell("approvals", "id", approval))?;
    deferred::record_change(db, Change::Approval(id))?;
    sql::query("UPDATE approval_deliveries SET due_at = 0 WHERE approval_id = $1")
        .bind(approval.to_owned())
        .execute(db)
        .await?;
    Ok(())
}

/// Deletes a delivery. Returns whether it existed: the caller that deleted it must cancel the request at the channel.
pub(crate) async fn delete(db: &mut Connection, id: DeliveryId) -> Result<bool> {
    let deleted = sql::query("DELETE FROM approval_deliveries WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(deleted > 0)
}

/// When the work of approval channels is due next; `None` if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelWork {
    /// The next query or cancellation of a delivery.
    pub delivery: Option<Timestamp>,
    /// The next request that another instance must send, because the instance that wrote it did not.
    pub dispatch: Option<Timestamp>,
}

impl Store {
    /// Adds a delivery that is due first at `due`. A delivery to a vendor completes the dispatch of its request.
    /// Returns `false` and adds nothing if the approval is not pending any more.
    pub async fn add_delivery(
        &self,
        delivery: Delivery,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(delivery, move |db, delivery| {
            Box::pin(async move {
                let approval = delivery.approval.to_string();
                let (device, identifier) = match &delivery.recipient {
                    Recipient::Device(device) => (Some(device.to_string()), None),
                    Recipient::Vendor { identifier } => (None, Some(identifier)),
                };
                let added = sql::query(
                    "INSERT INTO approval_deliveries (id, approval_id, channel, device_id, identifier, handle, due_at,
                                                      leased_until)
                     SELECT $1, approvals.id, $3, $4, $5, $6, $7, 0 FROM approvals
                     WHERE approvals.id = $2 AND approvals.state = 'requested' AND approvals.expires_at > $8",
                )
                .bind(delivery.id.to_string())
                .bind(&approval)
                .bind(&delivery.channel)
                .bind(&device)
                .bind(identifier)
                .bind(&delivery.handle)
                .bind(due.millis())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                // The vendor has the request, so no instance that takes over sends it again. Deliveries to other
                // devices may still be pending.
                if added > 0 && device.is_none() {
                    dispatch::delete(db, approval).await?;
                }
                Ok(added > 0)
            })
        })
        .await
    }

    /// The channels with deliveries that are due at `now`.
    pub async fn due_channels(&self, now: Timestamp) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = sql::query_as(
            "SELECT DISTINCT channel FROM approval_deliveries WHERE due_at <= $1 AND leased_until <= $1",
        )
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        Ok(rows.into_iter().map(|(channel,)| channel).collect())
    }

    /// When the next delivery and the next unsent request are due.
    pub async fn channel_work(&self) -> Result<ChannelWork> {
        let (delivery, dispatch): (Option<i64>, Option<i64>) = sql::query_as(
            "SELECT (SELECT MIN(CASE WHEN due_at > leased_until THEN due_at ELSE leased_until END)
                     FROM approval_deliveries),
                    (SELECT MIN(leased_until) FROM approval_dispatches)",
        )
        .fetch_one(&self.readers)
        .await?;
        Ok(ChannelWork {
            delivery: delivery.map(moment),
            dispatch: dispatch.map(moment),
        })
    }

    /// When the next delivery is due; `None` if there is none.
    pub async fn next_delivery(&self) -> Result<Option<Timestamp>> {
        Ok(self.channel_work().await?.delivery)
    }

    /// Claims up to `most` deliveries of a channel that are due at `now`, the oldest first. No other instance gets them
    /// until `lease` has expired. If this instance stops before that, they can be claimed again afterwards.
    pub async fn claim_deliveries(
        &self,
        channel: &str,
        most: usize,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeasedDelivery>> {
        self.write(channel.to_owned(), move |db, channel| {
            Box::pin(async move {
                sql::query_as::<DeliveryRow>(
                    "UPDATE approval_deliveries SET leased_until = $1, due_at = $1
                     WHERE id IN (SELECT due.id FROM approval_deliveries AS due
                                  WHERE due.channel = $2 AND due.due_at <= $3 AND due.leased_until <= $3
                                  ORDER BY due.due_at LIMIT $4)
                       AND due_at <= $3 AND leased_until <= $3
                     RETURNING id, approval_id, channel, device_id, identifier, handle, leased_until",
                )
                .bind((now + lease).millis())
                .bind(channel)
                .bind(now.millis())
                .bind(i64::try_from(most).unwrap_or(i64::MAX))
                .fetch_values(db)
                .await
            })
        })
        .await
    }

    /// Releases a claimed delivery. It is due again at `next`, or earlier if a notice about it arrived meanwhile.
    /// Nothing happens if the lease has expired and another instance holds the delivery.
    pub async fn release_delivery(&self, leased: &LeasedDelivery, next: Timestamp) -> Result<()> {
        let (id, until) = (leased.delivery.id, leased.until);
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE approval_deliveries
                     SET leased_until = 0, due_at = CASE WHEN due_at < $3 THEN due_at ELSE $3 END
                     WHERE id = $1 AND leased_until = $2",
                )
                .bind(id.to_string())
                .bind(until.millis())
                .bind(next.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Deletes a delivery. Returns `true` to only one caller, which must cancel the request at the channel.
    pub async fn end_delivery(&self, id: DeliveryId) -> Result<bool> {
        self.write((), move |db, ()| Box::pin(delete(db, id))).await
    }

    /// Makes the deliveries of these approvals to the vendor of a channel due at `now`, because the vendor may have an
    /// answer. Returns how many became due earlier.
    pub async fn expedite_deliveries(
        &self,
        channel: &str,
        approvals: &[ApprovalId],
        now: Timestamp,
    ) -> Result<u64> {
        let input = (channel.to_owned(), approvals.to_vec());
        self.write(input, move |db, (channel, approvals)| {
            Box::pin(async move {
                let mut hastened = 0;
                for approval in approvals {
                    let updated = sql::query(
                        "UPDATE approval_deliveries SET due_at = $3
                         WHERE approval_id = $1 AND channel = $2 AND device_id IS NULL AND due_at > $3",
                    )
                    .bind(approval.to_string())
                    .bind(channel)
                    .bind(now.millis())
                    .execute(&mut *db)
                    .await?;
                    hastened += updated;
                }
                Ok(hastened)
            })
        })
        .await
    }
}
