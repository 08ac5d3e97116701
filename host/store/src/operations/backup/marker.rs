//! The mark of a database with an unfinished restore. The transaction that ends the sessions of the backup removes the
//! mark. So no instance ever opens a restored database without this transaction.

use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS unfinished_restore (started_at BIGINT NOT NULL PRIMARY KEY)";
const REMOVE: &str = "DROP TABLE unfinished_restore";
pub(super) const NAME: &str = "unfinished_restore";

pub(super) async fn create(db: &mut Connection) -> sql::Result<()> {
    db.batch(CREATE).await
}

pub(super) async fn remove(db: &mut Connection) -> sql::Result<()> {
    db.batch(REMOVE).await
}

pub(super) async fn has_table(db: &mut Connection, name: &'static str) -> sql::Result<bool> {
    let (found,): (i64,) = sql::query_as(match db.kind() {
        DatabaseKind::Sqlite => {
            "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
        }
        DatabaseKind::Postgres => "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass($1)",
    })
    .bind(name)
    .fetch_one(db)
    .await?;
    Ok(found > 0)
}

/// Fails if a restore into this database did not finish.
pub(crate) async fn reject_unfinished_restore(
    db: &mut Connection,
) -> std::result::Result<(), String> {
    let marked = has_table(db, NAME)
        .await
        .map_err(|error| error.to_string())?;
    if marked {
        return Err(
            "a restore into it is not finished. If `assent restore` does not run any more, drop the database, create \
             an empty one, and restore the backup again"
                .to_owned(),
        );
    }
    Ok(())
}
