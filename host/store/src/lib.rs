//! The store: SQLite inside the process, or PostgreSQL for several hosts, with one SQL text for both.
//!
//! Reads go to a pool. Writes go to a writer that lets those that wait at the same moment share one commit; none is
//! acknowledged before it is durable. What applications' requests read and write shares statements as well. Whatever may
//! be used once is claimed by one `UPDATE ... RETURNING`.

mod accounts;
mod action_approvals;
mod admin_tokens;
mod applications;
mod approval_conflicts;
mod approval_requests;
mod approvals;
mod audit;
mod batch;
mod bootstrap;
mod codes;
mod component_approvals;
mod connect;
mod consents;
mod cooldowns;
mod counts;
mod deliveries;
mod deprovisioning;
mod devices;
mod external_authenticators;
mod idempotency;
mod keys;
mod logins;
mod logos;
mod logout;
mod open_sign_ins;
mod overview;
mod passkeys;
mod portal;
mod recovery;
mod repeats;
mod replay_cache;
mod retention;
mod rows;
mod saml_keys;
mod saml_logouts;
mod sessions;
mod sign_on;
mod streams;
mod test_sign_ins;
mod tokens;
mod traces;
mod users;
mod writer;

pub use accounts::{AccountWrite, Person};
pub use action_approvals::ClaimedAction;
pub use approval_requests::{ApprovalRequest, RefusedRequest, RequestOutcome};
pub use approvals::{AnswerOutcome, AuditNote, DeviceAnswer};
pub use audit::chain::Chaining;
pub use audit::{AuditFilter, AuditPage, StoredEntry};
pub use batch::token_issuance::{Redemption, Rotation};
pub use bootstrap::Bootstrap;
pub use connect::{Database, install_drivers};
pub use consents::{Consent, ConsentGrant};
pub use idempotency::IdempotentRow;
pub use logins::{Completion, IssuedGrant, NewSession, SignInRecord};
pub use open_sign_ins::OpenSignIns;
pub use overview::{QUARTER, SignInHour};
pub use portal::OpenSession;
pub use recovery::Recovery;
pub use repeats::{COUNTED_FOR, RepetitionCount};
pub use retention::Retention;
pub use test_sign_ins::{StepRecord, TestSignInResult};
pub use tokens::{ActiveAccessToken, RefreshTokenState, TokenFamily};
pub use traces::ClaimTrace;
pub use users::{UserGuard, UserSummary, UserUpdateOutcome, UserWrite};

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, AnyPool};

use assent_model::application::Registered;
use assent_model::token::CodeGrant;
use batch::loader::{Loader, start_loader};
use batch::token_issuance::TokenIssuance;

/// What is wrong with a stored value. The value itself may be personal data or a secret, so it is not part of the error.
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
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's id; empty where the statement did not read it.
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

/// A directive for the log: each start asks PostgreSQL for tables that are there, and its remarks on that are of no use.
pub const QUIET: &str = "sqlx::postgres::notice=warn";

/// What the store answers.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The database.
#[derive(Clone, Debug)]
pub struct Store {
    readers: AnyPool,
    writer: writer::Writer,
    /// Writes approvals that are asked for, one batch at a time: of two at once that ask for the same names in another
    /// order, each would wait for the other.
    asks: writer::Writer,
    lookups: Loaders,
    issuing: TokenIssuance,
    chaining: Arc<Chaining>,
}

/// What applications' requests look up.
#[derive(Clone, Debug)]
struct Loaders {
    applications: Loader<Registered>,
    persons: Loader<Person>,
    codes: Loader<CodeGrant>,
    access_tokens: Loader<tokens::Access>,
    refresh_tokens: Loader<tokens::Refresh>,
}

impl Store {
    /// Starts the writers and readers of a database. `chaining` authenticates the audit log.
    pub async fn start(database: Database, chaining: Chaining) -> Result<Self> {
        audit::chain::ensure_ends(&database.writers, database.begin, &chaining).await?;
        let chaining = Arc::new(chaining);
        let writer = writer::Writer::start(&database, database.writer_count, &chaining);
        let asks = if database.writer_count == 1 {
            writer.clone()
        } else {
            writer::Writer::start(&database, 1, &chaining)
        };
        let readers = database.readers;
        // One connection that hangs holds up no other where there are several.
        let at_a_time = if database.writer_count == 1 { 1 } else { 2 };
        let lookups = Loaders {
            applications: start_loader::<applications::ApplicationRow>(
                &readers,
                at_a_time,
                applications::BY_ID,
            ),
            persons: start_loader::<accounts::PersonRow>(&readers, at_a_time, accounts::PERSON),
            codes: start_loader::<codes::CodeRow>(&readers, at_a_time, codes::BY_ID),
            access_tokens: start_loader::<tokens::AccessRow>(&readers, at_a_time, tokens::ACCESS),
            refresh_tokens: start_loader::<tokens::RefreshRow>(
                &readers,
                at_a_time,
                tokens::REFRESH,
            ),
        };
        let issuing = TokenIssuance::start(&writer);
        Ok(Self {
            readers,
            writer,
            asks,
            lookups,
            issuing,
            chaining,
        })
    }

    /// Whether there may be a database at `url`: `false` only where it would be a file, and is none.
    pub fn may_exist(url: &str) -> bool {
        connect::sqlite_file(url).is_none_or(std::path::Path::exists)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("SELECT 1").execute(&self.readers).await?;
        Ok(())
    }

    /// Waits for writes under way and closes the connections.
    pub async fn close(&self) {
        self.asks.stop().await;
        self.writer.close().await;
        self.readers.close().await;
    }

    /// Runs `work` in a transaction that it may share with others, and answers once that is durable. If `work` fails,
    /// nothing that it did stays. It may be run a second time, alone, if another's failure undid the first.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut AnyConnection) -> BoxFuture<'c, Result<T>> + Send + Sync + 'static,
    {
        self.writer.write(work).await
    }
}

/// Names what is taken, where an insert failed because a unique column holds the value already.
fn taken(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |error| match &error {
        sqlx::Error::Database(inner) if inner.is_unique_violation() => StoreError::Taken(what),
        _ => StoreError::Database(error),
    }
}
