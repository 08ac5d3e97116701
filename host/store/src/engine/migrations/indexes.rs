//! Indexes that PostgreSQL builds without blocking writes.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;

/// An index to build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConcurrentIndex {
    pub(crate) name: String,
    is_unique: bool,
    table: String,
    /// The text after the name of the table: the columns, and a condition.
    definition: String,
}

impl ConcurrentIndex {
    /// Parses `CREATE [UNIQUE] INDEX CONCURRENTLY IF NOT EXISTS name ON table (columns) ...`.
    pub(super) fn parse(statement: &str) -> Option<Self> {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let text = words.join(" ");
        let (is_unique, rest) = match text.strip_prefix("CREATE UNIQUE INDEX") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("CREATE INDEX")?),
        };
        let rest = rest.strip_prefix(" CONCURRENTLY IF NOT EXISTS ")?;
        let (name, rest) = rest.split_once(" ON ")?;
        let (table, definition) = rest.split_once(' ')?;
        Some(Self {
            name: name.to_owned(),
            is_unique,
            table: table.to_owned(),
            definition: definition.to_owned(),
        })
    }

    fn statement(&self, way: &str, name: &str, table: &str) -> String {
        let unique = if self.is_unique { "UNIQUE " } else { "" };
        let definition = &self.definition;
        format!("CREATE {unique}INDEX {way}IF NOT EXISTS {name} ON {table} {definition}")
    }
}

/// Builds an index. An interrupted build leaves an invalid index, which is built again.
pub(super) async fn build(connection: &mut Connection, index: &ConcurrentIndex) -> sql::Result<()> {
    let partitioned: Option<(i64,)> = sql::query_as(
        "SELECT CAST(1 AS BIGINT) FROM pg_class WHERE oid = to_regclass($1) AND relkind = 'p'",
    )
    .bind(&index.table)
    .fetch_optional(&mut *connection)
    .await?;
    match partitioned {
        Some(_) => build_in_partitions(connection, index).await,
        None => build_one(connection, index, &index.name, &index.table).await,
    }
}

async fn build_one(
    connection: &mut Connection,
    index: &ConcurrentIndex,
    name: &str,
    table: &str,
) -> sql::Result<()> {
    if is_valid(connection, name).await? == Some(false) {
        let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {name}");
        connection.batch(&drop).await?;
    }
    let create = index.statement("CONCURRENTLY ", name, table);
    connection.batch(&create).await
}

/// Whether an index is valid; `None` if there is none.
async fn is_valid(connection: &mut Connection, name: &str) -> sql::Result<Option<bool>> {
    let valid: Option<(bool,)> =
        sql::query_as("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)")
            .bind(name.to_owned())
            .fetch_optional(connection)
            .await?;
    Ok(valid.map(|(valid,)| valid))
}

/// Builds the indexes of the partitions concurrently, because PostgreSQL cannot do so for a partitioned table. The
/// index of the table is valid once an index of each partition is attached.
async fn build_in_partitions(
    connection: &mut Connection,
    index: &ConcurrentIndex,
) -> sql::Result<()> {
    let table = index.table.as_str();
    let only = index.statement("", &index.name, &format!("ONLY {table}"));
    briefly_locked(connection, &only).await?;
    // A partition that is attached meanwhile gets its index with the attachment.
    let partitions: Vec<(String,)> = sql::query_as(
        "SELECT CAST(relname AS text) FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
         WHERE inhparent = to_regclass($1) ORDER BY relname",
    )
    .bind(table.to_owned())
    .fetch_all(&mut *connection)
    .await?;
    for (partition,) in partitions {
        // A partition that was attached after an interruption has its index.
        let attached: Option<(i64,)> = sql::query_as(
            "SELECT CAST(1 AS BIGINT) FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid
             WHERE inhparent = to_regclass($1) AND indrelid = to_regclass($2)",
        )
        .bind(&index.name)
        .bind(&partition)
        .fetch_optional(&mut *connection)
        .await?;
        if attached.is_some() {
            continue;
        }
        let period = partition.strip_prefix(table).unwrap_or(&partition);
        let name = format!("{}{period}", index.name);
        build_one(connection, index, &name, &partition).await?;
        let attach = format!("ALTER INDEX {} ATTACH PARTITION {name}", index.name);
        briefly_locked(connection, &attach).await?;
    }
    Ok(())
}

/// Executes a statement that locks a table, and repeats it while other transactions hold the locks. Each attempt waits
/// only briefly, because all statements on the table wait behind it.
async fn briefly_locked(connection: &mut Connection, statement: &str) -> sql::Result<()> {
    let text = format!("BEGIN; SET LOCAL lock_timeout = '1s'; {statement}; COMMIT");
    for _ in 1..ATTEMPTS {
        match connection.batch(&text).await {
            Err(error) if error.is_lock_timeout() => {
                // If this fails, so does the next attempt.
                let _ = connection.batch("ROLLBACK").await;
                tokio::time::sleep(PAUSE).await;
            }
            done => return done,
        }
    }
    connection.batch(&text).await
}

/// The number of attempts to get the locks, and the pause between them.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_for_a_table_or_a_partition() {
        let text = "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS b\n  ON t (y, z) WHERE y > 0";
        let index = ConcurrentIndex::parse(text).unwrap();
        assert_eq!((index.name.as_str(), index.table.as_str()), ("b", "t"));
        assert_eq!(
            index.statement("CONCURRENTLY ", "b_p", "t_p"),
            "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS b_p ON t_p (y, z) WHERE y > 0"
        );
        assert_eq!(
            ConcurrentIndex::parse("CREATE INDEX CONCURRENTLY a ON t (x)"),
            None
        );
    }
}
