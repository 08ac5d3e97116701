//! A connection to SQLite.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, ConnectOptions, Connection, Either, Executor, Row, TypeInfo, ValueRef,
};

use super::error::{Error, Result};
use super::query::{DatabaseKind, Query};
use super::row::{Columns, Rows};
use super::value::{Argument, Value};

/// The number of prepared statements that a connection caches. There are about 600 texts.
const STATEMENTS: usize = 1024;
/// The number of steps of SQLite's virtual machine between checks of the deadline: less than a millisecond.
const STEPS: i32 = 10_000;
/// How long a write waits for another process. It is shorter than the time limit of a transaction.
const BUSY: Duration = Duration::from_secs(8);

/// Writers do not block readers, and a commit is on the disk before it is acknowledged. Deleted and erased values are
/// overwritten instead of left in free space. The journals of savepoints stay in memory. As temporary files they would
/// be a third of all page writes, and put personal data into another folder. A commit copies the log to the database
/// after 8,000 pages (32 MiB) instead of 1,000, because the checkpoints have copied most of it by then.
const PRAGMAS: [&str; 7] = [
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA wal_autocheckpoint = 8000",
    "PRAGMA journal_size_limit = 67108864",
];

/// A connection.
pub(super) struct SqliteConnection {
    connection: sqlx::SqliteConnection,
    /// The time limit for a statement without a deadline.
    statement_limit: Option<Duration>,
    /// When statements must end.
    deadline: Option<Instant>,
    /// When the running statement must end.
    end: Arc<Mutex<Option<Instant>>>,
}

impl SqliteConnection {
    pub(super) async fn open(path: &Path, statement_limit: Option<Duration>) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(BUSY)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        for pragma in PRAGMAS {
            execute_when_free(&mut connection, pragma).await?;
        }
        let end = Arc::new(Mutex::new(None::<Instant>));
        let looked_at = Arc::clone(&end);
        let may_continue = move || {
            let end = *looked_at.lock().unwrap_or_else(PoisonError::into_inner);
            end.is_none_or(|end| Instant::now() < end)
        };
        connection
            .lock_handle()
            .await?
            .set_progress_handler(STEPS, may_continue);
        Ok(Self {
            connection,
            statement_limit,
            deadline: None,
            end,
        })
    }

    /// Sets the time at which statements end; `None` removes it.
    pub(super) const fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Sets the end of the statement that begins.
    fn limit_statement(&self) {
        let limit = || self.statement_limit.map(|limit| Instant::now() + limit);
        let end = self.deadline.or_else(limit);
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    pub(super) async fn run(&mut self, query: &Query) -> Result<Rows> {
        self.limit_statement();
        let mut arguments = SqliteArguments::default();
        for argument in &query.arguments {
            bind(&mut arguments, argument)?;
        }
        let statement = sqlx::query_with(query.text.to_sqlx(DatabaseKind::Sqlite), arguments);
        let mut results = self
            .connection
            .fetch_many(statement.persistent(query.prepared_once));
        let mut rows = Rows::default();
        let mut is_complete = false;
        // After an error the rest is read all the same, so that the next statement finds nothing of this one.
        let mut outcome = Ok(());
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(done) => {
                    rows.affected = done.rows_affected();
                    is_complete = true;
                }
                Either::Right(row) => {
                    let values = (0..row.len()).map(|place| value_of(&row, place));
                    match values.collect() {
                        Ok(values) => rows.rows.push(values),
                        Err(error) => outcome = Err(error),
                    }
                    rows.columns = Columns::Sqlite(row);
                }
            }
        }
        // The results of a thread that ends, end too.
        if !is_complete {
            return Err(Error::Lost("its thread ended".to_owned()));
        }
        outcome.map(|()| rows)
    }

    /// Executes statements without arguments.
    pub(super) async fn batch(&mut self, text: &str) -> Result<()> {
        self.limit_statement();
        let statements = sqlx::raw_sql(AssertSqlSafe(text));
        let mut results = statements.fetch_many(&mut self.connection);
        let mut is_complete = false;
        while let Some(result) = results.try_next().await? {
            is_complete = result.is_left();
        }
        drop(results);
        if !is_complete {
            // The text has no statement, or the thread ended.
            self.connection.ping().await?;
        }
        Ok(())
    }

    /// Closes the file.
    pub(super) async fn close(self) {
        // The file is closed in any case.
        let _ = self.connection.close().await;
    }
}

fn bind(arguments: &mut SqliteArguments, argument: &Argument) -> Result<()> {
    match argument {
        Argument::Integer(value) => arguments.add(*value),
        Argument::Text(value) => arguments.add(value.clone()),
        Argument::Bytes(value) => arguments.add(value.clone()),
    }
    .map_err(|error| Error::Mismatch(error.to_string()))
}

fn value_of(row: &SqliteRow, place: usize) -> Result<Value> {
    let value = row.try_get_raw(place)?;
    // The type of NULL is that of the column.
    if value.is_null() {
        return Ok(Value::Null);
    }
    let kind = value.type_info();
    Ok(match kind.name() {
        "INTEGER" | "BOOLEAN" => Value::Integer(row.try_get_unchecked(place)?),
        "TEXT" => Value::Text(row.try_get_unchecked(place)?),
        "BLOB" => Value::Bytes(row.try_get_unchecked(place)?),
        other => {
            return Err(Error::Mismatch(format!("a column has {other}")));
        }
    })
}

/// Retries a change of the journal mode, because it does not wait for another process that does the same.
async fn execute_when_free(
    connection: &mut sqlx::SqliteConnection,
    pragma: &'static str,
) -> Result<()> {
    for _ in 0..50 {
        let executed = sqlx::raw_sql(pragma).execute(&mut *connection).await;
        match executed.map_err(Error::from) {
            Err(error) if error.is_locked() => tokio::time::sleep(Duration::from_millis(20)).await,
            other => return other.map(drop),
        }
    }
    sqlx::raw_sql(pragma).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::query;

    async fn open(folder: &tempfile::TempDir, limit: Option<Duration>) -> SqliteConnection {
        let file = folder.path().join("t.db");
        std::fs::File::create(&file).unwrap();
        SqliteConnection::open(&file, limit).await.unwrap()
    }

    #[tokio::test]
    async fn plans_do_not_depend_on_values() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = open(&folder, None).await;
        let options = query("PRAGMA compile_options");
        let rows = connection.run(&options).await.unwrap();
        let has_qpsg = rows
            .rows
            .iter()
            .flatten()
            .any(|option| *option == Value::Text("ENABLE_QPSG".to_owned()));
        assert!(has_qpsg, "build with the settings of .cargo/config.toml");
    }

    #[tokio::test]
    async fn a_statement_ends_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = open(&folder, Some(Duration::from_millis(50))).await;
        let endless = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT COUNT(*) FROM n";
        let error = connection.batch(endless).await.err().unwrap();
        assert!(error.takes_too_long(), "{error}");
        // A text without a statement is no error.
        assert!(connection.batch("-- nothing").await.is_ok());
        // The next one has its own limit.
        assert!(connection.batch("SELECT 1").await.is_ok());
        connection.set_deadline(Some(Instant::now()));
        assert!(connection.batch(endless).await.is_err());
    }
}
