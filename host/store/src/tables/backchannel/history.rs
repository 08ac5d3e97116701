//! The past back-channel requests of a user or an application, with their outcomes, without those that the user began
//! by the code of a device. Retention deletes them.

use std::collections::BTreeMap;

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::{Result, Store, StoreError};
use assent_model::backchannel::BindingMessage;
use assent_model::backchannel_history::BackchannelOutcome;
use assent_model::clock::Timestamp;
use assent_model::id::{BackchannelRequestId, Did, UserId};
use assent_model::scope::Scopes;

/// A back-channel request with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastBackchannelRequest {
    /// The row's id.
    pub id: BackchannelRequestId,
    /// The application that asked.
    pub application: Did,
    /// Its name.
    pub application_name: String,
    /// The user for whom it asked.
    pub user: UserId,
    /// The user's name at sign-in.
    pub user_name: String,
    /// The message that the device showed.
    pub message: Option<BindingMessage>,
    /// The requested scopes.
    pub scopes: Scopes,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// What became of it.
    pub outcome: BackchannelOutcome,
    /// When the user decided; `None` without a decision.
    pub decided_at: Option<Timestamp>,
    /// The name of the device on which the user decided, if it is still enrolled.
    pub device: Option<String>,
}

/// The outcomes of the requests of an application on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackchannelDay {
    /// The start of the day, in UTC.
    pub from: Timestamp,
    /// The number of requests with each outcome; an outcome without one is missing.
    pub counts: BTreeMap<BackchannelOutcome, u64>,
}

/// The milliseconds of a day.
const DAY: i64 = 86_400_000;
/// This text is greater than each id.
const LAST_ID: &str = "g";

crate::engine::sql::row! {
    struct PastRow {
        id: String,
        application_id: String,
        application_name: String,
        user_id: String,
        user_name: String,
        binding_message: Option<String>,
        scopes: String,
        requested_at: i64,
        is_open: i64,
        is_shown: i64,
        is_held: i64,
        state: String,
        reported: i64,
        decided_at: Option<i64>,
        device_name: Option<String>,
    }
}

crate::engine::sql::row! {
    struct CountRow {
        day: i64,
        is_open: i64,
        is_shown: i64,
        is_held: i64,
        state: String,
        reported: i64,
        requests: i64,
    }
}

/// The columns from which an outcome follows, at the time `$1`.
macro_rules! outcome_columns {
    () => {
        "CAST(CASE WHEN asked.expires_at > $1 THEN 1 ELSE 0 END AS BIGINT) AS is_open,
         CAST(CASE WHEN approvals.user_id IS NULL THEN 0 ELSE 1 END AS BIGINT) AS is_shown,
         CAST(CASE WHEN approvals.held_for IS NULL THEN 0 ELSE 1 END AS BIGINT) AS is_held,
         approvals.state AS state, approvals.reported AS reported"
    };
}

macro_rules! past_requests {
    ($condition:literal) => {
        sql::statement!(
            "SELECT asked.id AS id, asked.application_id AS application_id, applications.name AS application_name,
                    asked.user_id AS user_id, users.name AS user_name, asked.binding_message AS binding_message,
                    asked.scopes AS scopes, asked.requested_at AS requested_at, approvals.decided_at AS decided_at,
                    devices.name AS device_name, ",
            outcome_columns!(),
            " FROM backchannel_requests AS asked
             JOIN approvals ON approvals.backchannel_id = asked.id
             JOIN applications ON applications.id = asked.application_id
             JOIN users ON users.id = asked.user_id
             LEFT JOIN devices ON devices.id = approvals.device_id AND devices.user_id = asked.user_id
             WHERE asked.user_code IS NULL AND ",
            $condition,
            " AND asked.id < $3 ORDER BY asked.id DESC LIMIT $4"
        )
    };
}

/// The columns from which an outcome follows.
struct OutcomeColumns<'a> {
    state: &'a str,
    is_reported: bool,
    is_open: bool,
    is_shown: bool,
    is_held: bool,
}

impl OutcomeColumns<'_> {
    /// The outcome; `None` for an unknown state.
    fn outcome(&self) -> Option<BackchannelOutcome> {
        Some(match self.state {
            _ if self.is_reported => BackchannelOutcome::Reported,
            "requested" if self.is_open && (self.is_shown || self.is_held) => {
                BackchannelOutcome::Waiting
            }
            "requested" if !self.is_shown => BackchannelOutcome::NotShown,
            "requested" | "expired" => BackchannelOutcome::Expired,
            "approved" => BackchannelOutcome::Approved,
            "denied" => BackchannelOutcome::Denied,
            "reported" => BackchannelOutcome::Reported,
            "number_mismatch" => BackchannelOutcome::NumberMismatch,
            "withdrawn" | "cancelled" | "replaced" => BackchannelOutcome::Withdrawn,
            _ => return None,
        })
    }
}

impl TryFrom<PastRow> for PastBackchannelRequest {
    type Error = StoreError;
    fn try_from(row: PastRow) -> Result<Self> {
        let place = |column| cell("backchannel_requests", column, &row.id);
        let columns = OutcomeColumns {
            state: &row.state,
            is_reported: row.reported != 0,
            is_open: row.is_open != 0,
            is_shown: row.is_shown != 0,
            is_held: row.is_held != 0,
        };
        let outcome = columns.outcome();
        let outcome = outcome.ok_or_else(|| cell("approvals", "state", &row.id).unexpected())?;
        let is_decision = matches!(
            outcome,
            BackchannelOutcome::Approved
                | BackchannelOutcome::Denied
                | BackchannelOutcome::Reported
                | BackchannelOutcome::NumberMismatch
        );
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            application: parse(&row.application_id, place("application_id"))?,
            application_name: row.application_name,
            user: parse(&row.user_id, place("user_id"))?,
            user_name: row.user_name,
            // The rules for messages may have changed since it was accepted.
            message: row.binding_message.map(BindingMessage::of_stored),
            scopes: Scopes::parse_known(&row.scopes),
            requested_at: moment(row.requested_at),
            outcome,
            decided_at: row.decided_at.filter(|_| is_decision).map(moment),
            device: row.device_name.filter(|_| is_decision),
        })
    }
}

impl Store {
    /// Up to `limit` requests of applications for this user before `before`, the latest first.
    pub async fn backchannel_requests_of_user(
        &self,
        user: UserId,
        before: Option<BackchannelRequestId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<PastBackchannelRequest>> {
        sql::query_as::<PastRow>(past_requests!("asked.user_id = $2"))
            .bind(now.millis())
            .bind(user.to_string())
            .bind(before.map_or_else(|| LAST_ID.to_owned(), |id| id.to_string()))
            .bind(limit)
            .fetch_values(&self.readers)
            .await
    }

    /// Up to `limit` requests of this application before `before`, the latest first.
    pub async fn backchannel_requests_of_application(
        &self,
        application: &Did,
        before: Option<BackchannelRequestId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<PastBackchannelRequest>> {
        sql::query_as::<PastRow>(past_requests!("asked.application_id = $2"))
            .bind(now.millis())
            .bind(application.to_string())
            .bind(before.map_or_else(|| LAST_ID.to_owned(), |id| id.to_string()))
            .bind(limit)
            .fetch_values(&self.readers)
            .await
    }

    /// The outcomes of this application's requests at `since` or later, by the day, the latest first.
    pub async fn backchannel_days(
        &self,
        application: &Did,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<BackchannelDay>> {
        let rows: Vec<CountRow> = sql::query_as(sql::statement!(
            "SELECT day, is_open, is_shown, is_held, state, reported, COUNT(*) AS requests
             FROM (SELECT asked.requested_at / 86400000 AS day, ",
            outcome_columns!(),
            " FROM backchannel_requests AS asked
              JOIN approvals ON approvals.backchannel_id = asked.id
              WHERE asked.user_code IS NULL AND asked.application_id = $2 AND asked.requested_at >= $3) AS counted
             GROUP BY day, is_open, is_shown, is_held, state, reported ORDER BY day DESC"
        ))
        .bind(now.millis())
        .bind(application.to_string())
        .bind(since.millis())
        .fetch_all(&self.readers)
        .await?;
        let mut days: Vec<BackchannelDay> = Vec::new();
        for row in rows {
            let columns = OutcomeColumns {
                state: &row.state,
                is_reported: row.reported != 0,
                is_open: row.is_open != 0,
                is_shown: row.is_shown != 0,
                is_held: row.is_held != 0,
            };
            let unexpected = || cell("approvals", "state", &row.state).unexpected();
            let outcome = columns.outcome().ok_or_else(unexpected)?;
            let from = moment(row.day.saturating_mul(DAY));
            let requests = row.requests.unsigned_abs();
            match days.last_mut().filter(|day| day.from == from) {
                Some(day) => *day.counts.entry(outcome).or_default() += requests,
                None => days.push(BackchannelDay {
                    from,
                    counts: BTreeMap::from([(outcome, requests)]),
                }),
            }
        }
        Ok(days)
    }
}
