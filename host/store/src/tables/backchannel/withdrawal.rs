//! The withdrawal of back-channel requests that no application has claimed: pending, held or approved. The application
//! sees them expire, or withdraws one itself.

use crate::engine::rows::{cell, parse};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::approvals::delivery;
use crate::tables::backchannel::second_approval;
use crate::{Result, Store};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{BackchannelRequestId, UserId};

/// The condition for an approved back-channel request without tokens.
macro_rules! is_unclaimed {
    () => {
        "approvals.state = 'approved'
         AND EXISTS (SELECT 1 FROM backchannel_requests
                     WHERE backchannel_requests.id = approvals.backchannel_id
                       AND backchannel_requests.claimed_at IS NULL)"
    };
}
pub(crate) use is_unclaimed;

/// The rows that a statement withdrew: each approval with its user, if devices received it. A request that expired
/// before stays as it is.
type Withdrawn = Vec<(String, Option<String>)>;

impl Store {
    /// Ends a request that its application withdraws. A pending one disappears from the devices, and an approved one
    /// can no longer be claimed. Returns `false` if the application received its tokens before, or the request does not
    /// exist; then nothing happens.
    pub async fn withdraw_backchannel_request(
        &self,
        id: BackchannelRequestId,
        now: Timestamp,
    ) -> Result<bool> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                // A concurrent claim waits, and then finds the withdrawal, or came first. It locks in this order, too.
                sql::query("UPDATE approvals SET state = state WHERE backchannel_id = $1")
                    .bind(id.to_string())
                    .execute(&mut *db)
                    .await?;
                let withdrawn = sql::query(
                    "UPDATE backchannel_requests SET claimed_at = $2 WHERE id = $1 AND claimed_at IS NULL",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                if withdrawn == 0 {
                    return Ok(false);
                }
                // An approval without tokens must not look like one with tokens in the lists of requests.
                let ended: Withdrawn = sql::query_as(
                    "UPDATE approvals SET state = 'cancelled', decided_at = $2, held_for = NULL
                     WHERE backchannel_id = $1 AND (state = 'requested' AND expires_at > $2 OR state = 'approved')
                     RETURNING id, user_id",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .fetch_all(&mut *db)
                .await?;
                second_approval::end_of(db, &id.to_string(), now).await?;
                notify(db, ended, now).await?;
                Ok(true)
            })
        })
        .await
    }
}

/// Withdraws the unclaimed requests of a user, of all applications.
pub(crate) async fn withdraw_of(db: &mut Connection, user: UserId, now: Timestamp) -> Result<()> {
    let withdrawn: Withdrawn = sql::query_as(concat!(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $2, held_for = NULL
         WHERE (user_id = $1 OR held_for = $1) AND kind = 'backchannel'
           AND (state = 'requested' AND expires_at > $2 OR ",
        is_unclaimed!(),
        ") RETURNING id, user_id"
    ))
    .bind(user.to_string())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    notify(db, withdrawn, now).await
}

/// Withdraws the unclaimed requests of one application for a user.
pub(crate) async fn withdraw_in(
    db: &mut Connection,
    user: &str,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    let withdrawn: Withdrawn = sql::query_as(concat!(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $3, held_for = NULL
         WHERE (user_id = $1 OR held_for = $1) AND application_id = $2 AND kind = 'backchannel'
           AND (state = 'requested' AND expires_at > $3 OR ",
        is_unclaimed!(),
        ") RETURNING id, user_id"
    ))
    .bind(user.to_owned())
    .bind(application.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    notify(db, withdrawn, now).await
}

/// Withdraws the pending requests of one application for a user who denied one of them. An approved request stays,
/// because the user approved it.
pub(crate) async fn withdraw_pending(
    db: &mut Connection,
    user: &str,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    let withdrawn: Withdrawn = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $3, held_for = NULL
         WHERE (user_id = $1 OR held_for = $1) AND application_id = $2 AND kind = 'backchannel'
           AND state = 'requested' AND expires_at > $3 RETURNING id, user_id",
    )
    .bind(user.to_owned())
    .bind(application.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    notify(db, withdrawn, now).await
}

/// Withdraws the approved requests of an application that was disabled, of all users.
pub(crate) async fn withdraw_for(
    db: &mut Connection,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    let withdrawn: Withdrawn = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $2
         WHERE backchannel_id IN (SELECT id FROM backchannel_requests
                                  WHERE application_id = $1 AND claimed_at IS NULL)
           AND state = 'approved' RETURNING id, user_id",
    )
    .bind(application.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    notify(db, withdrawn, now).await
}

/// Ends the deliveries and the second approvals of withdrawn requests, and notifies those who show or await them.
async fn notify(db: &mut Connection, withdrawn: Withdrawn, now: Timestamp) -> Result<()> {
    for (id, user) in withdrawn {
        delivery::approval_ended(db, &id).await?;
        second_approval::end_with(db, &id, now).await?;
        if let Some(user) = user {
            let user = parse(&user, cell("approvals", "user_id", &id))?;
            deferred::record_change(db, Change::Inbox(user))?;
        }
    }
    Ok(())
}
