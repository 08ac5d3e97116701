//! The choices of users: which applications may not ask them without a browser, and which pauses they lifted.

use std::collections::HashMap;

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::approvals::{delivery, request};
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};

/// A user's choice about the requests of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackchannelChoice {
    /// The application.
    pub application: Did,
    /// Whether no device receives its requests.
    pub is_stopped: bool,
    /// When the user chose. An earlier denial does not pause the application any more.
    pub chosen_at: Timestamp,
}

crate::engine::sql::row! {
    struct ChoiceRow of backchannel_choices {
        application_id: String,
        stopped: i64,
        chosen_at: i64,
    }
}

impl TryFrom<ChoiceRow> for BackchannelChoice {
    type Error = StoreError;
    fn try_from(row: ChoiceRow) -> Result<Self> {
        let id = &row.application_id;
        Ok(Self {
            application: parse(id, cell("backchannel_choices", "application_id", id))?,
            is_stopped: row.stopped != 0,
            chosen_at: moment(row.chosen_at),
        })
    }
}

/// Whether no device of the user receives the requests of the application: the user stopped it, or denied one of its
/// requests at `since` or later and did not lift that pause.
pub(crate) async fn is_paused(
    db: &mut Connection,
    user: UserId,
    application: &Did,
    since: Timestamp,
) -> Result<bool> {
    // A decision is not later than the expiry, which the index has.
    Ok(sql::query(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM backchannel_choices AS choice
                                WHERE choice.user_id = $1 AND choice.application_id = $2 AND choice.stopped = 1)
            OR EXISTS (SELECT 1 FROM approvals
                       WHERE named_user = $1 AND expires_at >= $3 AND kind = 'backchannel' AND application_id = $2
                         AND state = 'denied' AND decided_at >= $3
                         AND decided_at > COALESCE((SELECT choice.chosen_at FROM backchannel_choices AS choice
                                                    WHERE choice.user_id = $1 AND choice.application_id = $2), 0))",
    )
    .bind(user.to_string())
    .bind(application.to_string())
    .bind(since.millis())
    .exists(db)
    .await?)
}

impl Store {
    /// The choices of a user.
    pub async fn backchannel_choices_of(&self, user: UserId) -> Result<Vec<BackchannelChoice>> {
        sql::query_as::<ChoiceRow>(sql::statement!(
            "SELECT ",
            ChoiceRow::COLUMNS,
            " FROM backchannel_choices WHERE user_id = $1"
        ))
        .bind(user.to_string())
        .fetch_values(&self.readers)
        .await
    }

    /// When the user last denied a request of each application, at `since` or later. An application without a denial is
    /// missing.
    pub async fn backchannel_denials_of(
        &self,
        user: UserId,
        since: Timestamp,
    ) -> Result<HashMap<Did, Timestamp>> {
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT application_id, MAX(decided_at) FROM approvals
             WHERE named_user = $1 AND expires_at >= $2 AND kind = 'backchannel' AND state = 'denied'
               AND decided_at >= $2 AND application_id IS NOT NULL
             GROUP BY application_id",
        )
        .bind(user.to_string())
        .bind(since.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, at)| {
                Ok((
                    parse(&id, cell("approvals", "application_id", &id))?,
                    moment(at),
                ))
            })
            .collect()
    }

    /// Stores the choice of a user, with its entry for the audit log. A stop ends the pending requests of the
    /// application, which looks like a user who does not answer. Returns whether something changed.
    pub async fn choose_backchannel(
        &self,
        user: UserId,
        choice: BackchannelChoice,
        entry: Entry,
    ) -> Result<bool> {
        self.write((choice, entry), move |db, (choice, entry)| {
            Box::pin(async move {
                // A new request waits for the choice, and sees it.
                request::lock_subject(db, &user.to_string(), choice.chosen_at).await?;
                let changed = sql::query(
                    "INSERT INTO backchannel_choices (user_id, application_id, stopped, chosen_at)
                     VALUES ($1, $2, $3, $4)
                     ON CONFLICT (user_id, application_id) DO UPDATE
                     SET stopped = excluded.stopped, chosen_at = excluded.chosen_at
                     WHERE backchannel_choices.stopped = 0 OR excluded.stopped = 0",
                )
                .bind(user.to_string())
                .bind(choice.application.to_string())
                .bind(choice.is_stopped)
                .bind(choice.chosen_at.millis())
                .execute(&mut *db)
                .await?;
                if changed == 0 {
                    return Ok(false);
                }
                if choice.is_stopped {
                    end_pending(db, user, choice).await?;
                }
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(true)
            })
        })
        .await
    }
}

/// Ends the user's pending and held requests of the stopped application.
async fn end_pending(db: &mut Connection, user: UserId, choice: &BackchannelChoice) -> Result<()> {
    let ended: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $3, held_for = NULL
         WHERE named_user = $1 AND expires_at > $3 AND kind = 'backchannel' AND application_id = $2
           AND state = 'requested' AND (user_id IS NOT NULL OR held_for IS NOT NULL)
         RETURNING id",
    )
    .bind(user.to_string())
    .bind(choice.application.to_string())
    .bind(choice.chosen_at.millis())
    .fetch_all(&mut *db)
    .await?;
    for (id,) in ended {
        delivery::approval_ended(db, &id).await?;
    }
    deferred::record_change(db, Change::Inbox(user))
}
