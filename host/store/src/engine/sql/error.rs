//! The reasons for which a statement failed, for either database.

use sqlx::postgres::PgDatabaseError;

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database rejected the statement. The message does not contain values of the statement.
    #[error("{message}")]
    Database {
        /// The database's error code.
        code: Code,
        /// The database's message.
        message: String,
    },
    /// The connection is unusable.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// The database did not answer in time.
    #[error("{0} took too long")]
    TimedOut(&'static str),
    /// All connections were in use for too long.
    #[error("no connection to the database became free in time")]
    NoneFree,
    /// The connections are closed.
    #[error("the database is closed")]
    Closed,
    /// The settings of the connection are invalid.
    #[error("{0}")]
    Settings(String),
    /// A statement that returns one row returned none.
    #[error("the statement returned no row")]
    NoRow,
    /// The statement does not match the code that uses it.
    #[error("{0}")]
    Mismatch(String),
}

/// The error code of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// SQLSTATE, five characters.
    Postgres(String),
    /// SQLite's extended result code.
    Sqlite(i32),
}

/// SQLite's code for a statement that its progress handler ended.
const INTERRUPTED: i32 = 9;

impl Error {
    /// Whether a unique column or index contains the value already.
    pub fn is_unique_violation(&self) -> bool {
        match self.code() {
            Some(Code::Postgres(code)) => code == "23505",
            // SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_PRIMARYKEY.
            Some(Code::Sqlite(code)) => matches!(code, 2067 | 1555),
            None => false,
        }
    }

    fn code(&self) -> Option<&Code> {
        match self {
            Self::Database { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether the database is the reason, not the request. It could not be reached, lost the connection, is read-only
    /// or full, is overloaded, or did not answer in time. The same statement may succeed a moment later.
    pub(crate) fn is_outage(&self) -> bool {
        if self.is_connection_lost() || self.takes_too_long() {
            return true;
        }
        match self {
            Self::Closed | Self::NoneFree => true,
            Self::Database { code, .. } => match code {
                // Insufficient resources (disk, memory, connections), or a system error of the server.
                Code::Postgres(code) => code.starts_with("53") || code.starts_with("58"),
                // BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
                Code::Sqlite(code) => matches!(code & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14),
            },
            _ => false,
        }
    }

    /// Whether the connection is unusable, or leads to a server that cannot serve. Other connections that were opened
    /// at the same time are probably unusable too.
    pub(crate) fn is_connection_lost(&self) -> bool {
        match self {
            Self::Lost(_) | Self::TimedOut(_) => true,
            Self::Database {
                code: Code::Postgres(code),
                message,
            } => {
                // A connection error; a shutdown by the server or an administrator; a timeout in an idle transaction; a
                // former primary, which is read-only.
                code.starts_with("08")
                    || code.starts_with("57P0")
                    || code == "25P03"
                    || code == "25006"
                    // The table was changed, so the prepared statement cannot be executed any more.
                    || (code == "0A000" && message.contains("cached plan"))
            }
            _ => false,
        }
    }

    /// Whether the database aborted the statement because of a time limit. On PostgreSQL the transaction may continue
    /// at a savepoint.
    pub(crate) fn takes_too_long(&self) -> bool {
        match self.code() {
            Some(Code::Postgres(code)) => code == "57014" || code == "55P03",
            Some(Code::Sqlite(code)) => *code == INTERRUPTED,
            None => false,
        }
    }

    /// Whether PostgreSQL's role lacks a privilege.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "42501")
    }

    /// Whether PostgreSQL aborted the wait for a lock.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "55P03")
    }

    /// Whether PostgreSQL rolled the transaction back because of a concurrent one (a deadlock, or a serialization
    /// failure). A retry may succeed.
    pub(crate) fn lost_to_another(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "40001" || code == "40P01")
    }

    /// Whether another connection holds SQLite's file.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self.code(), Some(Code::Sqlite(code)) if matches!(code & 0xff, 5 | 6))
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                Self::Database {
                    code: match database.try_downcast_ref::<PgDatabaseError>() {
                        Some(_) => Code::Postgres(code.into_owned()),
                        None => Code::Sqlite(code.parse().unwrap_or_default()),
                    },
                    message: database.message().to_owned(),
                }
            }
            sqlx::Error::Decode(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::Encode(_) => Self::Mismatch(error.to_string()),
            sqlx::Error::Configuration(_) | sqlx::Error::InvalidArgument(_) => {
                Self::Settings(error.to_string())
            }
            _ => Self::Lost(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postgres(code: &str) -> Error {
        Error::Database {
            code: Code::Postgres(code.to_owned()),
            message: String::new(),
        }
    }

    #[test]
    fn outages_are_distinguished_from_errors_of_a_statement() {
        // The code, whether it is an outage, and whether connections are reopened.
        for (code, outage, reconnect) in [
            ("08006", true, true),
            ("25006", true, true),
            ("25P03", true, true),
            ("57P01", true, true),
            ("53100", true, false),
            ("53300", true, false),
            ("58030", true, false),
            ("57014", true, false),
            ("55P03", true, false),
            ("23505", false, false),
            ("40001", false, false),
            ("42501", false, false),
        ] {
            let error = postgres(code);
            assert_eq!(error.is_outage(), outage, "{code}");
            assert_eq!(error.is_connection_lost(), reconnect, "{code}");
        }
        for (code, outage) in [(5, true), (13, true), (10 | (4 << 8), true), (19, false)] {
            let error = Error::Database {
                code: Code::Sqlite(code),
                message: String::new(),
            };
            assert_eq!(error.is_outage(), outage, "{code}");
        }
    }
}
