//! Why a statement failed, whichever database it was for.

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database rejected the statement. The message has no values of the statement.
    #[error("{message}")]
    Database {
        /// The database's code for the reason.
        code: Code,
        /// The database's words.
        message: String,
    },
    /// The connection is of no use any more.
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
    /// The settings of the connection are wrong.
    #[error("{0}")]
    Settings(String),
    /// A statement that returns one row returned none.
    #[error("the statement returned no row")]
    NoRow,
    /// The statement and the code that uses it do not fit.
    #[error("{0}")]
    Mismatch(String),
}

/// The database's code for the reason of an error.
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
    /// Whether a unique column or index has the value already.
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

    /// Whether the database is the reason, not the request: it could not be reached, broke off, is read-only or full,
    /// has too much to do, or did not answer in time. The same statement may succeed a moment later.
    pub(crate) fn is_outage(&self) -> bool {
        if self.is_connection_lost() || self.takes_too_long() {
            return true;
        }
        match self {
            Self::Closed | Self::NoneFree => true,
            Self::Database { code, .. } => match code {
                // Insufficient resources (the disk, the memory, the number of connections); a failure of the server's
                // system.
                Code::Postgres(code) => code.starts_with("53") || code.starts_with("58"),
                // BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
                Code::Sqlite(code) => matches!(code & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14),
            },
            _ => false,
        }
    }

    /// Whether the connection is of no use any more, or leads to a server that cannot serve: other connections that
    /// were opened at the same time probably are of no use either.
    pub(crate) fn is_connection_lost(&self) -> bool {
        match self {
            Self::Lost(_) | Self::TimedOut(_) => true,
            Self::Database {
                code: Code::Postgres(code),
                message,
            } => {
                // The connection; the server or an administrator ends it; it was idle in a transaction for too long;
                // a former primary, which is read-only.
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

    /// Whether the database gave up the statement because of a time limit. On PostgreSQL the transaction may go on at a
    /// savepoint.
    pub(crate) fn takes_too_long(&self) -> bool {
        match self.code() {
            Some(Code::Postgres(code)) => code == "57014" || code == "55P03",
            Some(Code::Sqlite(code)) => *code == INTERRUPTED,
            None => false,
        }
    }

    /// Whether the role lacks a right in PostgreSQL.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "42501")
    }

    /// Whether PostgreSQL gave up the wait for a lock.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "55P03")
    }

    /// Whether PostgreSQL undid the transaction because of another at the same moment (a deadlock, or a serialization
    /// failure). It may succeed if it is done again.
    pub(crate) fn lost_to_another(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "40001" || code == "40P01")
    }

    /// Whether PostgreSQL rejected a statement because an earlier one of the transaction failed.
    pub(crate) fn follows_another(&self) -> bool {
        matches!(self.code(), Some(Code::Postgres(code)) if code == "25P02")
    }

    /// Whether another connection holds SQLite's file.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self.code(), Some(Code::Sqlite(code)) if matches!(code & 0xff, 5 | 6))
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
    fn outages_are_told_from_errors_of_a_statement() {
        // The code, whether it is an outage, and whether the connections are reopened.
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
