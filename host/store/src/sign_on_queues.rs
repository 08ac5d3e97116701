//! Batches of stores and claims of SAML requests that wait for their browser. On PostgreSQL, requests that arrive at
//! the same time share a statement. So do claims.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::batch::batched_writes::{BatchedWrites, first_of_each};
use crate::batch::bulk_sql::BulkSql;
use crate::rows::to_json;
use crate::sql::{self, Connection, DatabaseKind};
use crate::writer::Writer;
use crate::{ReplayCheck, Result, StoreError, replay_cache};
use assent_model::clock::Timestamp;
use assent_model::id::SignOnId;
use assent_model::saml::{MessageClaim, PendingSignOn};

/// A request to store, unless a message with its `ID` arrived before.
#[derive(Clone, Debug)]
pub(crate) struct ArrivedRequest {
    pub(crate) pending: PendingSignOn,
    pub(crate) once: MessageClaim,
}

/// A browser that claims a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivedBrowser {
    pub(crate) id: SignOnId,
    pub(crate) now: Timestamp,
}

/// The queues of requests to store and of requests to claim. A claim returns the request in the JSON of the row.
#[derive(Clone, Debug)]
pub(crate) struct SignOnQueues {
    pub(crate) arrivals: BatchedWrites<ArrivedRequest, ReplayCheck>,
    pub(crate) claims: BatchedWrites<ArrivedBrowser, Option<String>>,
}

impl SignOnQueues {
    pub(crate) fn start(writer: &Writer, kind: DatabaseKind) -> Self {
        Self {
            arrivals: BatchedWrites::start(writer, kind, |db, requests| {
                Box::pin(store(db, requests))
            }),
            claims: BatchedWrites::start(writer, kind, |db, requests| {
                Box::pin(claim(db, requests))
            }),
        }
    }
}

static STORE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO sign_on_requests (id, request, expires_at) VALUES {($, $, $)} ON CONFLICT (id) DO NOTHING",
        0,
    )
});

/// Stores the requests that are not replays.
async fn store(db: &mut Connection, requests: &[ArrivedRequest]) -> Result<Vec<ReplayCheck>> {
    let claims: Vec<MessageClaim> = requests.iter().map(|arrived| arrived.once).collect();
    let checks = replay_cache::claim_all(db, &claims).await?;
    let first = requests.iter().zip(&checks);
    let new: Vec<&PendingSignOn> = first
        .filter(|(_, check)| **check == ReplayCheck::FirstUse)
        .map(|(arrived, _)| &arrived.pending)
        .collect();
    if new.is_empty() {
        return Ok(checks);
    }
    let mut query = sql::query(STORE.sql_for(new.len()));
    for pending in STORE.padded(&new) {
        query = query
            .bind(pending.id.to_string())
            .bind(to_json(&pending.request)?)
            .bind(pending.expires_at.millis());
    }
    let stored = query.execute(db).await?;
    if stored != new.len() as u64 {
        return Err(StoreError::Internal(
            "two sign-on requests have the same id",
        ));
    }
    Ok(checks)
}

static CLAIM: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE sign_on_requests SET used_at = v.column2 FROM (VALUES {($, $)}) AS v
         WHERE sign_on_requests.id = v.column1 AND used_at IS NULL AND expires_at > v.column2
         RETURNING sign_on_requests.id, request",
        0,
    )
});

/// Claims each request once.
async fn claim(db: &mut Connection, requests: &[ArrivedBrowser]) -> Result<Vec<Option<String>>> {
    let first = first_of_each(requests, |browser| browser.id);
    let mut query = sql::query_as::<(String, String)>(CLAIM.sql_for(first.len()));
    for browser in CLAIM.padded(&first) {
        query = query
            .bind(browser.id.to_string())
            .bind(browser.now.millis());
    }
    let rows = query.fetch_all(db).await?;
    let mut claimed: HashMap<String, String> = rows.into_iter().collect();
    let requests = requests
        .iter()
        .map(|browser| claimed.remove(&browser.id.to_string()));
    Ok(requests.collect())
}
