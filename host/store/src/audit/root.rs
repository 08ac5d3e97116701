//! The root of the audit log: the heads of all lanes, with a message authentication code.

use crate::Result;
use crate::audit::context::ChainContext;
use crate::engine::connections::Connections;
use crate::engine::sql;
use crate::engine::sql::Executor;
use assent_model::audit::chain::{Heads, Root, StoredRoot};
use assent_model::secret::Digest;

crate::engine::sql::row! {
    struct RootRow of audit_root {
        number: i64,
        heads: String,
        mac: String,
    }
}

/// The stored root. A missing one is not authentic.
pub(super) async fn read(db: impl Executor, context: &ChainContext) -> Result<StoredRoot> {
    let row: Option<RootRow> = sql::query_as(sql::statement!(
        "SELECT ",
        RootRow::COLUMNS,
        " FROM audit_root WHERE name = 'root'"
    ))
    .fetch_optional(db)
    .await?;
    let Some(row) = row else {
        return Ok(StoredRoot {
            root: Root::default(),
            authentic: false,
        });
    };
    let heads = Heads::parse(&row.heads);
    let is_complete = heads.is_some();
    let root = Root {
        number: row.number,
        heads: heads.unwrap_or_default(),
    };
    let authentic = is_complete && Digest::from_text(&row.mac) == Some(context.root_code(&root)?);
    Ok(StoredRoot { root, authentic })
}

/// Creates the root of a new database. If there are entries without a root, the root was deleted by tampering. Then the
/// new root is not authentic, so every verification fails.
pub(crate) async fn ensure(
    connections: &Connections,
    begin: &'static str,
    context: &ChainContext,
) -> Result<()> {
    let first = Root::default();
    let code = context.root_code(&first)?.to_text();
    let mut lease = connections.lease().await?;
    lease.batch(begin).await?;
    sql::query(
        "INSERT INTO audit_root (name, number, heads, mac)
         SELECT 'root', 0, '',
                CASE WHEN EXISTS (SELECT 1 FROM audit_lanes) OR EXISTS (SELECT 1 FROM audit_anchors)
                       OR EXISTS (SELECT 1 FROM audit_entries) THEN '' ELSE $1 END
         WHERE NOT EXISTS (SELECT 1 FROM audit_root)
         ON CONFLICT (name) DO NOTHING",
    )
    .bind(code)
    .execute(&mut *lease)
    .await?;
    lease.batch("COMMIT").await?;
    lease.give_back();
    Ok(())
}
