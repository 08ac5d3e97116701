//! The stores and claims of SAML requests that wait for their browser. Those of a transaction share a statement.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, first_of_each};
use crate::engine::claimed_messages;
use crate::engine::rows::to_json;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::{ReplayCheck, Result, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{SessionId, SignOnId};
use assent_model::login::GivenAnswer;
use assent_model::saml::{MessageClaim, PendingSignOn};
use assent_model::secret::Digest;

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
    /// The digest of its cookie.
    pub(crate) browser: Digest,
    /// The session that its cookie names.
    pub(crate) session: Option<SessionId>,
    pub(crate) now: Timestamp,
}

/// A claimed request, in the form of its row.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedRow {
    /// The request in JSON.
    pub(crate) request: String,
    /// The time of the first claim.
    pub(crate) used_at: i64,
    /// The session of the first claim; empty for none.
    pub(crate) session: String,
    /// Whether this browser claimed it before.
    pub(crate) repeats: bool,
}

impl SharedWrite for ArrivedRequest {
    type Output = ReplayCheck;
    const RANK: u8 = 2;

    fn claim(&self) -> Option<&MessageClaim> {
        Some(&self.once)
    }

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<ReplayCheck>> {
        store(db, writes).await
    }
}

impl SharedWrite for ArrivedBrowser {
    type Output = Option<ClaimedRow>;
    const RANK: u8 = 6;

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<Option<ClaimedRow>>> {
        claim(db, writes).await
    }
}

static STORE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO sign_on_requests (id, request, expires_at) VALUES {($, $, $)} ON CONFLICT (id) DO NOTHING",
        0,
    )
});

/// Stores the requests that are not replays.
async fn store(db: &mut Connection, requests: &[&ArrivedRequest]) -> Result<Vec<ReplayCheck>> {
    let claims: Vec<&MessageClaim> = requests.iter().map(|arrived| &arrived.once).collect();
    let checks = claimed_messages::take(db, &claims).await?;
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
        "UPDATE sign_on_requests
         SET used_at = COALESCE(used_at, v.column2), browser = COALESCE(browser, v.column3),
             session_id = COALESCE(session_id, v.column4), uses = uses + 1
         FROM (VALUES {($, $, $, $, $)}) AS v
         WHERE sign_on_requests.id = v.column1 AND expires_at > v.column2
           AND (used_at IS NULL OR (browser = v.column3 AND used_at > v.column5))
         RETURNING sign_on_requests.id, request, used_at, browser, session_id, uses",
        0,
    )
});

crate::engine::sql::row! {
    struct ClaimRow {
        id: String,
        request: String,
        used_at: i64,
        browser: String,
        session_id: String,
        uses: i64,
    }
}

/// Claims each request for one browser. A repeated claim of that browser succeeds for a while, too.
async fn claim(
    db: &mut Connection,
    requests: &[&ArrivedBrowser],
) -> Result<Vec<Option<ClaimedRow>>> {
    let first = first_of_each(requests, |one| (one.id, one.browser.to_text()));
    let mut query = sql::query_as::<ClaimRow>(CLAIM.sql_for(first.len()));
    for one in CLAIM.padded(&first) {
        query = query
            .bind(one.id.to_string())
            .bind(one.now.millis())
            .bind(one.browser.to_text())
            .bind(one.session.map(|id| id.to_string()).unwrap_or_default())
            .bind((one.now - GivenAnswer::REPEATABLE).millis());
    }
    let rows = query.fetch_all(db).await?;
    let mut claimed: HashMap<String, ClaimRow> =
        rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    let requests = requests.iter().map(|one| {
        let row = claimed.get_mut(&one.id.to_string())?;
        if row.browser != one.browser.to_text() {
            return None;
        }
        let repeats = row.uses > 1;
        // A further request of the same batch repeats this one.
        row.uses += 1;
        Some(ClaimedRow {
            request: row.request.clone(),
            used_at: row.used_at,
            session: row.session_id.clone(),
            repeats,
        })
    });
    Ok(requests.collect())
}
