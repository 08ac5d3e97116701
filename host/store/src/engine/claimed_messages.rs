//! The single-use messages that a transaction claims. It claims all of them by its first statement, before its writes
//! lock other rows: a claim waits for another transaction with the same message.

use std::cell::RefCell;
use std::collections::HashSet;
use std::future::Future;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST, first_of_each};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{ReplayCheck, Result};
use assent_model::saml::MessageClaim;

tokio::task_local! {
    /// The digests that the running transaction has claimed, and no write has taken.
    static CLAIMED: RefCell<HashSet<String>>;
}

static CLAIM: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO replay_cache (id, expires_at, answered_at, answered_to) VALUES {($, $, $, $)}
         ON CONFLICT (id) DO NOTHING RETURNING id",
        0,
    )
});

/// Claims messages for the transaction's writes. Returns the digests of those that were not claimed before.
pub(crate) async fn claim(
    db: &mut Connection,
    messages: &[&MessageClaim],
) -> Result<HashSet<String>> {
    // The claims of concurrent transactions are in the same order.
    let first = first_of_each(messages, |claim| claim.digest.to_text());
    let mut claimed = HashSet::new();
    for messages in first.chunks(MOST) {
        let mut query = sql::query_as::<(String,)>(CLAIM.sql_for(messages.len()));
        for claim in CLAIM.padded(messages) {
            query = query
                .bind(claim.digest.to_text())
                .bind(claim.until.millis())
                .bind(claim.answer.map(|answer| answer.at.millis()))
                .bind(claim.answer.map(|answer| answer.to.to_text()));
        }
        let rows = query.fetch_all(&mut *db).await?;
        claimed.extend(rows.into_iter().map(|(digest,)| digest));
    }
    Ok(claimed)
}

/// Runs the writes of a transaction with these claims.
pub(crate) async fn within<F: Future>(claimed: HashSet<String>, writes: F) -> F::Output {
    CLAIMED.scope(RefCell::new(claimed), writes).await
}

/// Takes the claim of each message for the first write with it. A write at a savepoint claims its own messages.
pub(crate) async fn take(
    db: &mut Connection,
    messages: &[&MessageClaim],
) -> Result<Vec<ReplayCheck>> {
    let take_from = |claimed: &mut HashSet<String>| {
        let checks =
            messages
                .iter()
                .map(|message| match claimed.remove(&message.digest.to_text()) {
                    true => ReplayCheck::FirstUse,
                    false => ReplayCheck::Replayed,
                });
        checks.collect()
    };
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let taken = CLAIMED.try_with(|claimed| take_from(&mut claimed.borrow_mut()));
    match taken {
        Ok(checks) => Ok(checks),
        Err(_) => Ok(take_from(&mut claim(db, messages).await?)),
    }
}

/// Takes the claims like [`take`], of writes of which each may have one. A write without one is always the first.
pub(crate) async fn take_optional<'a>(
    db: &mut Connection,
    messages: impl Iterator<Item = Option<&'a MessageClaim>>,
) -> Result<Vec<ReplayCheck>> {
    let messages: Vec<Option<&MessageClaim>> = messages.collect();
    let claims: Vec<&MessageClaim> = messages.iter().copied().flatten().collect();
    let mut checks = take(db, &claims).await?.into_iter();
    let check = |message: Option<&MessageClaim>| match message {
        // There are as many checks as claims.
        Some(_) => checks.next().unwrap_or(ReplayCheck::Replayed),
        None => ReplayCheck::FirstUse,
    };
    Ok(messages.into_iter().map(check).collect())
}
