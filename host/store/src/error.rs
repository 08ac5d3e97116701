//! What can go wrong in the store.

/// What is wrong with a stored value. The value itself may be personal data or a secret, so it is not part of the
/// error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ValueError {
    /// The text cannot be parsed.
    #[error("{0}")]
    Text(String),
    /// The JSON cannot be read.
    #[error("invalid JSON at line {line}, column {column}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It is none of the values that the column may have.
    #[error("unexpected value")]
    Unexpected,
}

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused or could not be reached.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// A row holds a value that this version cannot read.
    #[error("{table}.{column} holds an unreadable value in row '{row}': {source}")]
    Corrupt {
        /// The CSV file.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's id, or the part of its key that the statement read.
        row: String,
        /// What is wrong with the value.
        source: ValueError,
    },
    /// An invariant of the server does not hold.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// Something with this name is there already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// What is there is another than what was read.
    #[error("{0}")]
    Overtaken(&'static str),
    /// The person is not as they were seen any more; nothing was done.
    #[error("the user was changed, or deleted, at this moment")]
    Stale,
    /// The database could not be reached.
    #[error("the database could not be reached: {0}")]
    Unavailable(String),
    /// An entry of the audit log could not be chained.
    #[error("the audit log could not go on: {0}")]
    Chain(String),
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
    /// The database could not be opened or brought up to date.
    #[error("cannot open the database {url}: {reason}")]
    Open {
        /// The URL without its password.
        url: String,
        /// What went wrong.
        reason: String,
    },
}

/// What the store answers.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Names what is taken, where an insert failed because a unique column holds the value already.
pub(crate) fn taken(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |error| match &error {
        sqlx::Error::Database(inner) if inner.is_unique_violation() => StoreError::Taken(what),
        _ => StoreError::Database(error),
    }
}

impl StoreError {
    /// Whether the database is the reason, not the request: it could not be reached, broke off, is read-only or full,
    /// has too much to do, or did not answer in time. The same request may succeed a moment later. A write may have
    /// been committed all the same, if the connection broke off at that moment.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Closed => true,
            Self::Database(error) => is_outage(error),
            _ => false,
        }
    }

    /// Whether PostgreSQL undid the transaction because of another at the same moment (a deadlock). Done again it may
    /// succeed.
    pub(crate) fn lost_to_another(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error))
            if matches!(code_of(error.as_ref()), Some(ErrorCode::Postgres(code)) if code == "40001" || code == "40P01"))
    }
}

/// Whether the database is the reason, as of [`StoreError::is_outage`].
pub(crate) fn is_outage(error: &sqlx::Error) -> bool {
    if is_connection_lost(error) || takes_too_long(error) {
        return true;
    }
    match error {
        sqlx::Error::PoolClosed | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => match code_of(error.as_ref()) {
            // Insufficient resources (the disk, the memory, the number of connections); a failure of the server's
            // system.
            Some(ErrorCode::Postgres(code)) => code.starts_with("53") || code.starts_with("58"),
            // BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
            Some(ErrorCode::Sqlite(code)) => matches!(code & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14),
            None => false,
        },
        _ => false,
    }
}

/// Whether the connection is of no use any more, or leads to a server that can't serve: what was opened at the same
/// time probably isn't either.
pub(crate) fn is_connection_lost(error: &sqlx::Error) -> bool {
    use sqlx::Error::{Database, Io, Protocol, Tls, WorkerCrashed};
    match error {
        Io(_) | Protocol(_) | Tls(_) | WorkerCrashed => true,
        Database(error) => match code_of(error.as_ref()) {
            Some(ErrorCode::Postgres(code)) => {
                // The connection; the server or an administrator ends it; it was idle in a transaction for too long;
                // a former primary, which is read-only.
                code.starts_with("08")
                    || code.starts_with("57P0")
                    || code == "25P03"
                    || code == "25006"
                    // The table was changed. sqlx would execute its prepared statement again and again (sqlx#4412).
                    || (code == "0A000" && error.message().contains("cached plan"))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether PostgreSQL gave up a statement because of its time limits. The transaction may go on at a savepoint.
pub(crate) fn takes_too_long(error: &sqlx::Error) -> bool {
    matches!(
        error.as_database_error().and_then(code_of),
        Some(ErrorCode::Postgres(code)) if code == "57014" || code == "55P03"
    )
}

enum ErrorCode {
    /// SQLSTATE, five characters.
    Postgres(String),
    /// The extended result code, of at most four digits.
    Sqlite(u32),
}

fn code_of(error: &(dyn sqlx::error::DatabaseError + 'static)) -> Option<ErrorCode> {
    let code = error.code()?;
    if code.len() == 5 {
        return Some(ErrorCode::Postgres(code.into_owned()));
    }
    code.parse().ok().map(ErrorCode::Sqlite)
}
