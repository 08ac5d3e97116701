//! The choices of users: which applications may not ask them without a browser, and which pauses they lifted.

use std::collections::HashMap;

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::request;
use crate::tables::backchannel::withdrawal;
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};

/// A user's choice about the requests of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackchannelChoice {
    /// The application.
    pub application: Did,
    /// Whether no device receives its requests.
    pub is_stopped: bool,
    /// When the user chose. Nothing earlier pauses the application any more.
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

/// The most requests of an application that a user has not answered within the pause after a denial.
const MOST_UNANSWERED: usize = 5;

/// Whether a request that was denied or reported pauses its application.
macro_rules! is_refused {
    () => {
        "(asked.state IN ('denied', 'reported') OR asked.reported = 1)"
    };
}

/// Whether a request was sent to devices, or is held for them, and none answered it.
macro_rules! is_unanswered {
    () => {
        "asked.device_id IS NULL AND (asked.user_id IS NOT NULL OR asked.held_for IS NOT NULL)"
    };
}

/// Whether no device of the user receives further requests of the application: the user stopped it, or denied or
/// reported one at `since` or later, or left several without an answer, and did not lift that pause. The user is
/// locked, so each instance counts the same requests.
pub(crate) async fn is_paused(
    db: &mut Connection,
    user: UserId,
    application: &Did,
    since: Timestamp,
) -> Result<bool> {
    // A decision is not later than the expiry, which the index has.
    let (stopped, refused, unanswered): (i64, i64, i64) = sql::query_as(concat!(
        "SELECT MAX(choice.stopped),
                COUNT(CASE WHEN asked.decided_at >= $3 AND asked.decided_at > choice.chosen_at AND ",
        is_refused!(),
        " THEN 1 END),
                COUNT(CASE WHEN asked.requested_at >= $3 AND asked.requested_at > choice.chosen_at AND ",
        is_unanswered!(),
        " THEN 1 END)
         FROM (SELECT COALESCE(MAX(stopped), 0) AS stopped, COALESCE(MAX(chosen_at), 0) AS chosen_at
               FROM backchannel_choices WHERE user_id = $1 AND application_id = $2) AS choice
         LEFT JOIN approvals AS asked ON asked.named_user = $1 AND asked.expires_at >= $3
           AND asked.kind = 'backchannel' AND asked.application_id = $2"
    ))
    .bind(user.to_string())
    .bind(application.to_string())
    .bind(since.millis())
    .fetch_one(db)
    .await?;
    let is_ignored = usize::try_from(unanswered).is_ok_and(|count| count >= MOST_UNANSWERED);
    Ok(stopped != 0 || refused > 0 || is_ignored)
}

/// What can pause an application for a user: the refusals, and the requests without an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseEvents {
    /// When the user denied or reported requests, the latest first.
    refused_at: Vec<Timestamp>,
    /// When the requests began that no device answered, the latest first.
    unanswered_at: Vec<Timestamp>,
}

impl PauseEvents {
    /// When the user last denied or reported a request, after this choice.
    pub fn last_refusal(&self, chosen_at: Option<Timestamp>) -> Option<Timestamp> {
        self.refused_at
            .first()
            .copied()
            .filter(|at| chosen_at.is_none_or(|chosen_at| *at > chosen_at))
    }

    /// When the oldest request began of those without an answer that pause the application, after this choice. `None`
    /// if there are too few.
    pub fn oldest_unanswered(&self, chosen_at: Option<Timestamp>) -> Option<Timestamp> {
        self.unanswered_at
            .get(MOST_UNANSWERED - 1)
            .copied()
            .filter(|at| chosen_at.is_none_or(|chosen_at| *at > chosen_at))
    }
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

    /// What pauses each application for this user, at `since` or later. An application without such a request is
    /// missing.
    pub async fn backchannel_pauses_of(
        &self,
        user: UserId,
        since: Timestamp,
    ) -> Result<HashMap<Did, PauseEvents>> {
        let rows: Vec<(String, i64, i64)> = sql::query_as(concat!(
            "SELECT asked.application_id, CAST(1 AS BIGINT), asked.decided_at FROM approvals AS asked
             WHERE asked.named_user = $1 AND asked.expires_at >= $2 AND asked.kind = 'backchannel'
               AND asked.application_id IS NOT NULL AND asked.decided_at >= $2 AND ",
            is_refused!(),
            " UNION ALL
             SELECT asked.application_id, CAST(0 AS BIGINT), asked.requested_at FROM approvals AS asked
             WHERE asked.named_user = $1 AND asked.expires_at >= $2 AND asked.kind = 'backchannel'
               AND asked.application_id IS NOT NULL AND asked.requested_at >= $2 AND ",
            is_unanswered!(),
            " ORDER BY 3 DESC"
        ))
        .bind(user.to_string())
        .bind(since.millis())
        .fetch_all(&self.readers)
        .await?;
        let mut pauses: HashMap<Did, PauseEvents> = HashMap::new();
        for (id, is_refusal, at) in rows {
            let id = parse(&id, cell("approvals", "application_id", &id))?;
            let events = pauses.entry(id).or_default();
            match is_refusal {
                0 => events.unanswered_at.push(moment(at)),
                _ => events.refused_at.push(moment(at)),
            }
        }
        Ok(pauses)
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
                    let (user, application) = (user.to_string(), choice.application.to_string());
                    withdrawal::withdraw_pending(db, &user, &application, choice.chosen_at).await?;
                }
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(true)
            })
        })
        .await
    }
}
