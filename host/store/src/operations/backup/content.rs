//! The content of a backup.

use crate::audit::context::{ANCHOR, EndRow, HEAD};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::keys::wrapped_keys::read_all;
use crate::{Result, StoreError};
use assent_model::audit::chain::{Heads, Mark};
use assent_model::secret::Digest;
use assent_model::wrapped_key::WrappedKey;

/// The content of a backup.
#[derive(Clone, Debug)]
pub struct BackupContent {
    /// The newest migration that was applied.
    pub schema_version: i64,
    /// The last entry of each lane of the audit log. An export that continues this log contains them.
    pub heads: Heads,
    /// The keys that the master key wrapped. They show whether a master key belongs to this database.
    pub wrapped_keys: Vec<WrappedKey>,
}

impl BackupContent {
    pub(super) async fn read(db: &mut Connection) -> Result<Self> {
        let (schema_version,): (i64,) =
            sql::query_as("SELECT COALESCE(MAX(version), 0) FROM schema_migrations")
                .fetch_one(&mut *db)
                .await?;
        let wrapped_keys = read_all(&mut *db).await?;
        let lanes: Vec<(i64,)> = sql::query_as("SELECT lane FROM audit_anchors ORDER BY lane")
            .fetch_all(&mut *db)
            .await?;
        let mut heads = Heads::default();
        for (lane,) in lanes {
            let head: Option<EndRow> = sql::query_as(HEAD)
                .bind(lane)
                .fetch_optional(&mut *db)
                .await?;
            let end = match head {
                Some(head) => Some(head),
                None => {
                    sql::query_as(ANCHOR)
                        .bind(lane)
                        .fetch_optional(&mut *db)
                        .await?
                }
            };
            if let Some(end) = end {
                heads.advance(lane, mark(&end)?);
            }
        }
        Ok(Self {
            schema_version,
            heads,
            wrapped_keys,
        })
    }
}

fn mark(end: &EndRow) -> Result<Mark> {
    let (seq, digest) = end.place();
    let digest = Digest::from_text(digest)
        .ok_or_else(|| StoreError::Chain("a lane ends with an unreadable digest".to_owned()))?;
    Ok(Mark { seq, digest })
}
