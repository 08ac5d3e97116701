//! The bounds of open sign-ins without a typed name. Any client can begin one without authentication, so their number
//! is bounded.
//!
//! Above the bound the oldest are removed. A rejection of new ones would lock users out while an attacker keeps the
//! bound exhausted. A sign-in with an approval request stays, because the limits of requests bound it.

use crate::sql::{self, Connection};

use crate::Result;

/// The bounds of open sign-ins.
#[derive(Clone, Debug)]
pub struct OpenSignIns {
    /// The network of the browser.
    pub network: String,
    /// The most open sign-ins of this network.
    pub of_network: u32,
    /// The most open sign-ins in total. `None` if this sign-in does not check the total, because that check takes
    /// longer.
    pub in_all: Option<u32>,
}

/// The most rows that one sign-in deletes. It is one more than the largest number of sign-ins between two checks of the
/// total.
const SLICE: i64 = 1024;

impl OpenSignIns {
    /// The number of sign-ins that an instance begins between two checks of the total: a small part of the bound.
    pub const fn check_interval(in_all: u32) -> u32 {
        let part = in_all / 64;
        if part >= 1023 { 1023 } else { part + 1 }
    }
}

// The database checks the outer conditions again if another transaction changes the row concurrently. A sign-in that
// was reset after a request keeps its requests, and so stays.
macro_rules! evict {
    ($condition:literal) => {
        concat!(
            "DELETE FROM logins
             WHERE id IN (SELECT id FROM logins
                          WHERE ",
            $condition,
            " AND approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL
                          ORDER BY id DESC LIMIT $2 OFFSET $3)
               AND approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.login_id = logins.id)"
        )
    };
}

/// Deletes the oldest open sign-ins above the bounds.
pub(crate) async fn evict_sign_ins(db: &mut Connection, bounds: &OpenSignIns) -> Result<()> {
    let of_network = sql::query(evict!("network = $1"))
        .bind(bounds.network.clone())
        .bind(SLICE);
    let mut evicted = of_network
        .bind(i64::from(bounds.of_network))
        .execute(&mut *db)
        .await?;
    if let Some(in_all) = bounds.in_all {
        let in_all = sql::query(evict!("$1 <> ''"))
            .bind(bounds.network.clone())
            .bind(SLICE)
            .bind(i64::from(in_all));
        evicted += in_all.execute(db).await?;
    }
    if evicted > 0 {
        tracing::debug!(evicted, network = %bounds.network, "open sign-ins evicted");
    }
    Ok(())
}
