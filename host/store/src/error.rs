//! What can go wrong in the store.
use crate::sql;

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
    Database(#[from] crate::sql::Error),
    /// A row holds a value that this version cannot read.
    #[error("{table}.{column} holds an unreadable value in row '{row}': {source}")]
    Corrupt {
        /// The table.
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
    /// It waited in a queue for too long, and was not executed.
    #[error("the database has too much to do: {0} did not begin in time")]
    Busy(&'static str),
    /// An entry of the audit log could not be chained.
    #[error("the audit log could not go on: {0}")]
    Chain(String),
    /// A newer release removed what this release uses from the schema.
    #[error(
        "a newer release contracted the schema; stop this instance and start the newer release"
    )]
    Contracted,
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
    /// A restore failed.
    #[error("the restored database cannot be used: {0}")]
    Restore(String),
    /// SQLite found its file damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
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
pub(crate) fn taken(what: &'static str) -> impl FnOnce(sql::Error) -> StoreError {
    move |error| {
        if error.is_unique_violation() {
            StoreError::Taken(what)
        } else {
            StoreError::Database(error)
        }
    }
}

impl From<std::convert::Infallible> for StoreError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl StoreError {
    /// Whether the database is the reason, not the request: it could not be reached, broke off, is read-only or full,
    /// has too much to do, or did not answer in time. The same request may succeed a moment later. A write may have
    /// been committed all the same, if the connection broke off at that moment.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Busy(_) | Self::Closed => true,
            Self::Database(error) => error.is_outage(),
            _ => false,
        }
    }

    /// Whether PostgreSQL undid the transaction because of another at the same moment. Done again it may succeed.
    pub(crate) fn lost_to_another(&self) -> bool {
        matches!(self, Self::Database(error) if error.lost_to_another())
    }
}
