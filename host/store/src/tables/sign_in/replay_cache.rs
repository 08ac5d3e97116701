//! The replay cache: the digests of messages and assertions that were used and are valid once.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, first_of_each};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::{ReplayCheck, Result};
use assent_model::saml::MessageClaim;

impl SharedWrite for MessageClaim {
    type Output = ReplayCheck;
    const RANK: u8 = 1;

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<ReplayCheck>> {
        claim_all(db, writes).await
    }
}

static CLAIM: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO replay_cache (id, expires_at) VALUES {($, $)} ON CONFLICT (id) DO NOTHING RETURNING id",
        0,
    )
});

/// Claims each digest once. The cache stores a digest until the message or assertion has expired.
pub(crate) async fn claim_all(
    db: &mut Connection,
    requests: &[&MessageClaim],
) -> Result<Vec<ReplayCheck>> {
    let first = first_of_each(requests, |claim| claim.digest.to_text());
    let mut query = sql::query_as::<(String,)>(CLAIM.sql_for(first.len()));
    for claim in CLAIM.padded(&first) {
        query = query
            .bind(claim.digest.to_text())
            .bind(claim.until.millis());
    }
    let rows = query.fetch_all(db).await?;
    let mut claimed: HashSet<String> = rows.into_iter().map(|(digest,)| digest).collect();
    let checks = requests.iter().map(|claim| {
        if claimed.remove(&claim.digest.to_text()) {
            ReplayCheck::FirstUse
        } else {
            ReplayCheck::Replayed
        }
    });
    Ok(checks.collect())
}
