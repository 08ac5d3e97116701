//! Attempts to execute a request with an `Idempotency-Key`, as the transactions of their changes record them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, StoreError};
use assent_model::audit::{Entry, RequestAttempt};
use assent_model::clock::{KEYED_REQUEST_RETENTION, Timestamp};
use assent_model::id::UserId;

/// Records in the transaction of the changes that the requests with an `Idempotency-Key` were executed. `entries` are
/// those of the changes. Such a request is not executed again, even if its response is lost.
///
/// # Errors
/// [`StoreError::Overtaken`] if the attempt no longer has the key, because its caller received a failure. The
/// transaction must not commit any change then.
pub(crate) async fn record_execution(db: &mut Connection, entries: &[Entry]) -> Result<()> {
    let mut attempts: BTreeMap<&RequestAttempt, (Timestamp, BTreeSet<String>)> = BTreeMap::new();
    for entry in entries {
        if let Some(attempt) = &entry.keyed_request {
            let (_, subjects) = attempts
                .entry(attempt)
                .or_insert_with(|| (entry.at, BTreeSet::new()));
            subjects.extend(entry.user.map(|user| user.to_string()));
            let ids = entry.detail.values().filter_map(Value::as_str);
            subjects.extend(ids.filter(|text| is_id(text)).map(str::to_owned));
        }
    }
    for (RequestAttempt { request, attempt }, (at, subjects)) in attempts {
        let recorded = sql::query(
            "UPDATE idempotent_requests SET is_executed = 1, expires_at = $3 WHERE id = $1 AND attempt = $2",
        )
        .bind(request)
        .bind(attempt)
        .bind((at + KEYED_REQUEST_RETENTION).millis())
        .execute(&mut *db)
        .await?;
        if recorded == 0 {
            return Err(StoreError::Overtaken(
                "the request has lost its idempotency key",
            ));
        }
        insert_subjects(db, request, &subjects).await?;
    }
    Ok(())
}

/// Whether a text has the form of an id. All kinds of ids have the same form.
fn is_id(text: &str) -> bool {
    text.parse::<UserId>().is_ok()
}

/// Adds the ids of the objects that the request or its response concerns.
pub(crate) async fn insert_subjects(
    db: &mut Connection,
    request: &str,
    subjects: &BTreeSet<String>,
) -> Result<()> {
    for subject in subjects {
        sql::query(
            "INSERT INTO idempotent_request_subjects (request_id, subject) VALUES ($1, $2)
             ON CONFLICT DO NOTHING",
        )
        .bind(request.to_owned())
        .bind(subject)
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}
