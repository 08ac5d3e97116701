//! The inserts of issued tokens.

use std::sync::LazyLock;

use crate::sql::{self, Connection};
use assent_model::clock::Timestamp;
use assent_model::token::{AccessGrant, IssuedPair, RefreshGrant};

use crate::batch::batcher::MOST;
use crate::batch::bulk_sql::BulkSql;
use crate::{Result, StoreError};

/// Keeps tokens that are issued.
pub(crate) async fn insert(db: &mut Connection, pairs: &[&IssuedPair]) -> Result<()> {
    let access: Vec<&AccessGrant> = pairs.iter().map(|pair| &pair.access).collect();
    let refresh: Vec<&RefreshGrant> = pairs
        .iter()
        .filter_map(|pair| pair.refresh.as_ref())
        .collect();
    insert_access(db, &access).await?;
    insert_refresh(db, &refresh).await
}

// A place that is left over repeats a row, which is there already then.
static INSERT_ACCESS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO access_tokens (id, digest, application_id, family_id, scopes, certificate, issued_at, expires_at,
                                    track_use_until)
         VALUES {($, $, $, $, $, $, $, $, $)} ON CONFLICT (id) DO NOTHING",
        0,
    )
});

pub(super) async fn insert_access(db: &mut Connection, grants: &[&AccessGrant]) -> Result<()> {
    for grants in grants.chunks(MOST) {
        let mut query = sql::query(INSERT_ACCESS.sql_for(grants.len()));
        for token in INSERT_ACCESS.padded(grants) {
            query = query
                .bind(token.id.to_string())
                .bind(token.digest.to_text())
                .bind(token.application.to_string())
                .bind(token.family.map(|family| family.to_string()))
                .bind(token.scopes.to_string())
                .bind(token.certificate.map(|digest| digest.to_text()))
                .bind(token.issued_at.millis())
                .bind(token.expires_at.millis())
                .bind(token.track_use_until.map(Timestamp::millis));
        }
        ensure_all_inserted(query.execute(&mut *db).await?, grants.len())?;
    }
    Ok(())
}

static INSERT_REFRESH: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO refresh_tokens (id, digest, application_id, family_id, issued_at, expires_at, retry_state)
         VALUES {($, $, $, $, $, $, 0)} ON CONFLICT (id) DO NOTHING",
        0,
    )
});

async fn insert_refresh(db: &mut Connection, grants: &[&RefreshGrant]) -> Result<()> {
    for grants in grants.chunks(MOST) {
        let mut query = sql::query(INSERT_REFRESH.sql_for(grants.len()));
        for token in INSERT_REFRESH.padded(grants) {
            query = query
                .bind(token.id.to_string())
                .bind(token.digest.to_text())
                .bind(token.application.to_string())
                .bind(token.family.to_string())
                .bind(token.issued_at.millis())
                .bind(token.expires_at.millis());
        }
        ensure_all_inserted(query.execute(&mut *db).await?, grants.len())?;
    }
    Ok(())
}

/// A token whose id another has is not to be kept in silence, however unlikely.
fn ensure_all_inserted(kept: u64, given: usize) -> Result<()> {
    if usize::try_from(kept) == Ok(given) {
        Ok(())
    } else {
        Err(StoreError::Taken("a token's id"))
    }
}
