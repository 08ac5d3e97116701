//! A connection to SQLite. It runs in the calling thread, because most statements take less time than a change of
//! threads.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OpenFlags, ToSql};

use super::error::{Code, Error, Result};
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
    connection: rusqlite::Connection,
    /// The columns of the prepared statements by their texts.
    columns: HashMap<String, Arc<[String]>>,
    /// When the running statement must end.
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl SqliteConnection {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = rusqlite::Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // Otherwise SQLite may prepare a statement again whenever its arguments change.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        for pragma in PRAGMAS {
            execute_when_free(&connection, pragma)?;
        }
        let deadline = Arc::new(Mutex::new(None::<Instant>));
        let looked_at = Arc::clone(&deadline);
        let passed = move || {
            let deadline = *looked_at.lock().unwrap_or_else(PoisonError::into_inner);
            deadline.is_some_and(|deadline| Instant::now() >= deadline)
        };
        connection.progress_handler(STEPS, Some(passed))?;
        Ok(Self {
            connection,
            columns: HashMap::new(),
            deadline,
        })
    }

    /// Sets the time at which a running statement ends; `None` removes the limit.
    pub(super) fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    pub(super) fn run(&mut self, query: &Query) -> Result<Rows> {
        let text = query.text.as_str();
        if !query.prepared_once {
            let mut statement = self.connection.prepare(text)?;
            let columns = names(&statement);
            return self.run_prepared(&mut statement, columns, &query.arguments);
        }
        let mut statement = self.connection.prepare_cached(text)?;
        let columns = match self.columns.get(text) {
            Some(columns) => Arc::clone(columns),
            None => {
                let columns = names(&statement);
                self.columns.insert(text.to_owned(), Arc::clone(&columns));
                columns
            }
        };
        self.run_prepared(&mut statement, columns, &query.arguments)
    }

    fn run_prepared(
        &self,
        statement: &mut rusqlite::Statement<'_>,
        columns: Arc<[String]>,
        arguments: &[Argument],
    ) -> Result<Rows> {
        let mut bound = 0;
        for place in 1..=statement.parameter_count() {
            let argument = number_of(statement.parameter_name(place))
                .and_then(|number| arguments.get(number.checked_sub(1)?))
                .ok_or_else(|| Error::Mismatch(format!("placeholder {place} has no argument")))?;
            statement.raw_bind_parameter(place, argument)?;
            bound += 1;
        }
        if bound != arguments.len() {
            return Err(Error::Mismatch(format!(
                "the statement has {bound} placeholders and {} arguments",
                arguments.len()
            )));
        }
        let mut rows = Vec::new();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            let mut values = Vec::with_capacity(columns.len());
            for place in 0..columns.len() {
                values.push(value_of(row.get_ref(place)?)?);
            }
            rows.push(values);
        }
        drop(found);
        Ok(Rows {
            columns,
            rows,
            affected: self.connection.changes(),
        })
    }

    /// Executes statements without arguments.
    pub(super) fn batch(&self, text: &str) -> Result<()> {
        Ok(self.connection.execute_batch(text)?)
    }
}

fn names(statement: &rusqlite::Statement<'_>) -> Arc<[String]> {
    statement.column_names().map(str::to_owned).collect()
}

/// Returns the number in a parameter's name. SQLite treats `$1` as a name, and numbers the names by their first
/// occurrence.
fn number_of(name: Option<&str>) -> Option<usize> {
    name?.strip_prefix('$')?.parse().ok()
}

fn value_of(value: ValueRef<'_>) -> Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Text(bytes) => Value::Text(
            std::str::from_utf8(bytes)
                .map_err(|_| Error::Mismatch("a text is not UTF-8".to_owned()))?
                .to_owned(),
        ),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
        ValueRef::Real(_) => {
            return Err(Error::Mismatch(
                "a column has a floating-point number".to_owned(),
            ));
        }
    })
}

impl ToSql for Argument {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Integer(Some(value)) => ValueRef::Integer(*value),
            Self::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Self::Integer(None) | Self::Text(None) | Self::Bytes(None) => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// Retries a change of the journal mode, because it does not wait for another process that does the same.
fn execute_when_free(connection: &rusqlite::Connection, pragma: &str) -> Result<()> {
    for _ in 0..50 {
        match connection.execute_batch(pragma).map_err(Error::from) {
            Err(error) if error.is_locked() => std::thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
    Ok(connection.execute_batch(pragma)?)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, message) => Self::Database {
                code: Code::Sqlite(failure.extended_code),
                message: message.unwrap_or_else(|| failure.to_string()),
            },
            rusqlite::Error::SqlInputError { error, msg, .. } => Self::Database {
                code: Code::Sqlite(error.extended_code),
                message: msg,
            },
            other => Self::Mismatch(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The open files of this process.
    fn open_files() -> Vec<String> {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = descriptors.filter_map(|one| std::fs::read_link(one.ok()?.path()).ok());
        links.map(|file| file.display().to_string()).collect()
    }

    #[test]
    fn the_journal_of_a_savepoint_is_not_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        std::fs::File::create(&file).unwrap();
        let database = SqliteConnection::open(&file).unwrap();
        let statements = "CREATE TABLE a (b BLOB);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
             INSERT INTO a SELECT zeroblob(4000) FROM n;
             BEGIN;
             SAVEPOINT s;
             UPDATE a SET b = randomblob(4000)";
        database.connection.execute_batch(statements).unwrap();
        let files = open_files();
        assert!(files.contains(&file.display().to_string()), "{files:?}");
        assert!(
            !files.iter().any(|file| file.contains("etilqs_")),
            "{files:?}"
        );
    }
}
