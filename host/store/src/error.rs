//! The errors of the store.
use crate::engine::sql;

/// The fault of a stored value. The value itself may be personal data or a secret, so it is not part of the error.
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
    /// The value is none of those that the column may have.
    #[error("unexpected value")]
    Unexpected,
}

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database rejected the statement, or could not be reached.
    #[error("the database failed: {0}")]
    Database(#[from] crate::engine::sql::Error),
    /// A row holds a value that this version cannot read.
    #[error("{table}.{column} has an unreadable value in row '{row}': {source}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's id, or the part of its key that the statement read.
        row: String,
        /// The fault of the value.
        source: ValueError,
    },
    /// An invariant of the server does not hold.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// An object with this name exists already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The stored object was changed since it was read.
    #[error("{0}")]
    Overtaken(&'static str),
    /// The user was changed since the administrator saw the user; nothing was done.
    #[error("another request changed or deleted the user at the same time; nothing was changed")]
    Stale,
    /// No owner who may sign in would remain; nothing was done.
    #[error("the user is the last owner that can sign in")]
    LastOwner,
    /// The initial access token registers no further application now; nothing was done.
    #[error("the initial access token registers no further application now")]
    QuotaExhausted,
    /// There is no such object, or it ended before; nothing was done.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// The database could not be reached.
    #[error("the database could not be reached: {0}")]
    Unavailable(String),
    /// The write waited in a queue for too long, and was not executed.
    #[error("the database is overloaded: {0} did not start in time")]
    Busy(&'static str),
    /// An entry of the audit log could not be appended to the hash chain.
    #[error("the hash chain of the audit log could not be extended: {0}")]
    Chain(String),
    /// A newer release removed parts of the schema that this release uses.
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
    /// The database could not be opened or migrated.
    #[error("cannot open the database {url}: {reason}")]
    Open {
        /// The URL without its password.
        url: String,
        /// The reason.
        reason: String,
    },
}

/// The result of an operation of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Maps a violated unique constraint to [`StoreError::Taken`] with this text, and other errors to
/// [`StoreError::Database`].
pub(crate) fn taken(what: &'static str) -> impl FnOnce(sql::Error) -> StoreError {
    move |error| {
        if error.is_unique_violation() {
            StoreError::Taken(what)
        } else {
            StoreError::Database(error)
        }
    }
}

/// Fails if a statement found no row of this kind.
///
/// # Errors
/// [`StoreError::Missing`].
pub(crate) const fn must_be_found(rows: u64, what: &'static str) -> Result<()> {
    match rows {
        0 => Err(StoreError::Missing(what)),
        _ => Ok(()),
    }
}

impl From<std::convert::Infallible> for StoreError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl StoreError {
    /// Whether the database is the reason, not the request. It could not be reached, lost the connection, is read-only
    /// or full, is overloaded, or did not answer in time. The same request may succeed a moment later. A write may have
    /// been committed all the same, if the connection was lost at that moment.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Busy(_) | Self::Closed => true,
            Self::Database(error) => error.is_outage(),
            _ => false,
        }
    }

    /// Whether PostgreSQL rolled the transaction back because of a concurrent one. A retry may succeed.
    pub(crate) fn lost_to_another(&self) -> bool {
        matches!(self, Self::Database(error) if error.lost_to_another())
    }
}
