//! The replay cache: the digests of messages and assertions that were used and are valid once.

use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::batch::loader::Row;
use crate::engine::claimed_messages;
use crate::engine::rows::{cell, digest, moment};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::{ReplayCheck, Result, StoreError};
use assent_model::saml::{MessageAnswer, MessageClaim};

impl SharedWrite for MessageClaim {
    type Output = ReplayCheck;
    const RANK: u8 = 1;

    fn claim(&self) -> Option<&MessageClaim> {
        Some(self)
    }

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<ReplayCheck>> {
        claimed_messages::take(db, writes).await
    }
}

static WITHDRAW: LazyLock<BulkSql> =
    LazyLock::new(|| BulkSql::new("DELETE FROM replay_cache WHERE id IN ({$})", 0));

/// Withdraws claims of this transaction.
pub(crate) async fn withdraw_all(db: &mut Connection, claims: &[&MessageClaim]) -> Result<()> {
    if claims.is_empty() {
        return Ok(());
    }
    let mut query = sql::query(WITHDRAW.sql_for(claims.len()));
    for claim in WITHDRAW.padded(claims) {
        query = query.bind(claim.digest.to_text());
    }
    query.execute(db).await?;
    Ok(())
}

/// Reads claims by their digests.
pub(crate) const CLAIM_BY_DIGEST: &str =
    "SELECT id, answered_at, answered_to FROM replay_cache WHERE id IN ({$})";

crate::engine::sql::row! {
    pub(crate) struct ClaimRow {
        id: String,
        answered_at: Option<i64>,
        answered_to: Option<String>,
    }
}

impl Row for ClaimRow {
    type Key = String;
    type Value = EarlierClaim;
    fn key(&self) -> String {
        self.id.clone()
    }
}

/// A message that was claimed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierClaim {
    /// The answer in the transaction of the claim.
    pub answer: Option<MessageAnswer>,
}

impl TryFrom<ClaimRow> for EarlierClaim {
    type Error = StoreError;
    fn try_from(row: ClaimRow) -> Result<Self> {
        let answer = row.answered_at.zip(row.answered_to.as_deref());
        let answer = answer.map(|(at, to)| {
            Ok::<_, StoreError>(MessageAnswer {
                at: moment(at),
                to: digest(to, cell("replay_cache", "answered_to", &row.id))?,
            })
        });
        Ok(Self {
            answer: answer.transpose()?,
        })
    }
}
