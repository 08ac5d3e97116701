//! A connection to SQLite.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Either, Executor, Row, TypeInfo,
    ValueRef,
};

use super::connection::DatabaseKind;
use super::error::{Error, Result};
use super::query::Query;
use super::row::Rows;
use super::value::{Argument, Value};

/// The number of prepared statements that a connection caches. There are about 600 texts.
const STATEMENTS: usize = 1024;
/// The number of steps of SQLite's virtual machine between checks of the deadline: less than a millisecond.
const STEPS: i32 = 10_000;
/// How long a write waits for another process. It is shorter than the time limit of a transaction.
const BUSY: Duration = Duration::from_secs(8);

/// Writers do not block readers, and a commit is on the disk before it is acknowledged. Deleted and erased values are
/// overwritten instead of left in free space. The journals of savepoints stay in memory. As temporary files they would
/// be a third of all page writes, and put personal data into another folder. The log is copied to the database after
/// 4,000 pages (16 MiB) instead of 1,000, because pages that change often are then copied less often.
const PRAGMAS: [&str; 7] = [
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
];

/// A connection.
pub(super) struct SqliteConnection {
    connection: sqlx::SqliteConnection,
    /// When the running statement must end.
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl SqliteConnection {
    pub(super) async fn open(path: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(BUSY)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        for pragma in PRAGMAS {
            execute_when_free(&mut connection, pragma).await?;
        }
        let deadline = Arc::new(Mutex::new(None::<Instant>));
        let looked_at = Arc::clone(&deadline);
        let may_continue = move || {
            let deadline = *looked_at.lock().unwrap_or_else(PoisonError::into_inner);
            deadline.is_none_or(|deadline| Instant::now() < deadline)
        };
        connection
            .lock_handle()
            .await?
            .set_progress_handler(STEPS, may_continue);
        Ok(Self {
            connection,
            deadline,
        })
    }

    /// Sets the time at which a running statement ends; `None` removes the limit.
    pub(super) fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    pub(super) async fn run(&mut self, query: &Query) -> Result<Rows> {
        let mut arguments = SqliteArguments::default();
        for argument in &query.arguments {
            bind(&mut arguments, argument)?;
        }
        let statement = sqlx::query_with(query.text.to_sqlx(DatabaseKind::Sqlite), arguments);
        let mut results = self
            .connection
            .fetch_many(statement.persistent(query.prepared_once));
        let mut rows = Rows::default();
        // After an error the rest is read all the same, so that the next statement finds nothing of this one.
        let mut outcome = Ok(());
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(done) => rows.affected = done.rows_affected(),
                Either::Right(row) => {
                    if rows.columns.is_empty() {
                        rows.columns = names(&row);
                    }
                    let values = (0..row.len()).map(|place| value_of(&row, place));
                    match values.collect() {
                        Ok(values) => rows.rows.push(values),
                        Err(error) => outcome = Err(error),
                    }
                }
            }
        }
        outcome.map(|()| rows)
    }

    /// Executes statements without arguments.
    pub(super) async fn batch(&mut self, text: &str) -> Result<()> {
        sqlx::raw_sql(AssertSqlSafe(text))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Closes the file.
    pub(super) async fn close(self) {
        // The file is closed in any case.
        let _ = self.connection.close().await;
    }
}

fn names(row: &SqliteRow) -> Arc<[String]> {
    let columns = row.columns().iter();
    columns.map(|column| column.name().to_owned()).collect()
}

fn bind(arguments: &mut SqliteArguments, argument: &Argument) -> Result<()> {
    match argument {
        Argument::Integer(value) => arguments.add(*value),
        Argument::Text(value) => arguments.add(value.as_deref().map(str::to_owned)),
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
