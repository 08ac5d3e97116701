//! The store: SQLite inside the process, or PostgreSQL for several hosts, with one SQL text for both.
//!
//! Reads go to a pool. Writes go to a writer that lets those that wait at the same moment share one commit; none is
//! acknowledged before it is durable. What applications' requests read and write shares statements as well. Whatever may
//! be used once is claimed by one `UPDATE ... RETURNING`.

mod accounts;
mod admin_tokens;
mod applications;
mod approval_addresses;
mod approval_conflicts;
mod approval_requests;
mod approvals;
mod assertions;
mod audit;
mod chain;
mod codes;
mod component_approvals;
mod connect;
mod consents;
mod counts;
mod deliveries;
mod devices;
mod directory;
mod endings;
mod first_start;
mod gather;
mod idempotency;
mod issue;
mod keys;
mod logins;
mod logos;
mod logout;
mod lookup;
mod mentions;
mod open_sign_ins;
mod overview;
mod passkeys;
mod pauses;
mod people;
mod portal;
mod recovery;
mod repeats;
mod rows;
mod saml_keys;
mod saml_logouts;
mod sessions;
mod sign_on;
mod statement;
mod streams;
mod sweep;
mod terms;
mod tokens;
mod traces;
mod trials;
mod users;
mod writer;

pub use accounts::{AccountWrite, Person};
pub use approval_requests::{ApprovalRequest, Asked, RefusedRequest};
pub use approvals::{Answer, Noted, Verdict};
pub use audit::{AuditFilter, AuditPage, KeptEntry};
pub use chain::Chaining;
pub use connect::Database;
pub use consents::{Consent, ConsentGiven};
pub use first_start::FirstStart;
pub use idempotency::IdempotentRow;
pub use issue::{Redemption, Rotation};
pub use logins::{Given, LoginAnswer};
pub use open_sign_ins::OpenSignIns;
pub use overview::{QUARTER, SignInHour};
pub use portal::OpenSession;
pub use recovery::Recovery;
pub use repeats::{COUNTED_FOR, Repeated};
pub use sweep::Retention;
pub use tokens::{Family, FoundRefresh, OpenAccess};
pub use traces::ClaimTrace;
pub use trials::{KeptStep, TrialEnd};
pub use users::{UserKept, UserSummary, UserWrite, Whom};

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, AnyPool};

use crate::clock::Timestamp;
use crate::model::application::Registered;
use crate::model::token::CodeGrant;
use issue::Issuing;
use lookup::{Lookup, lookup};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused or could not be reached.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// A row holds what this version cannot understand.
    #[error("the database holds an impossible row: {0}")]
    Corrupt(&'static str),
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
    lookups: Lookups,
    issuing: Issuing,
    chaining: Arc<Chaining>,
}

/// What applications' requests look up.
#[derive(Clone, Debug)]
struct Lookups {
    applications: Lookup<Registered>,
    persons: Lookup<Person>,
    codes: Lookup<CodeGrant>,
    access_tokens: Lookup<tokens::Access>,
    refresh_tokens: Lookup<tokens::Refresh>,
}

impl Store {
    /// Goes on with a database, whose audit log is chained with `chaining`. Where it was not chained yet, its entries are now.
    pub async fn start(database: Database, chaining: Chaining, now: Timestamp) -> Result<Self> {
        chain::begin(&database.writers, database.begin, &chaining, now).await?;
        terms::begin(&database.writers, database.begin, now).await?;
        let chaining = Arc::new(chaining);
        let writer = writer::Writer::start(&database, database.writer_count, &chaining);
        let asks =
            if database.writer_count == 1 { writer.clone() } else { writer::Writer::start(&database, 1, &chaining) };
        let readers = database.readers;
        // One connection that hangs holds up no other where there are several.
        let at_a_time = if database.writer_count == 1 { 1 } else { 2 };
        let lookups = Lookups {
            applications: lookup::<applications::ApplicationRow>(&readers, at_a_time, applications::BY_ID),
            persons: lookup::<accounts::PersonRow>(&readers, at_a_time, accounts::PERSON),
            codes: lookup::<codes::CodeRow>(&readers, at_a_time, codes::BY_ID),
            access_tokens: lookup::<tokens::AccessRow>(&readers, at_a_time, tokens::ACCESS),
            refresh_tokens: lookup::<tokens::RefreshRow>(&readers, at_a_time, tokens::REFRESH),
        };
        let issuing = Issuing::start(&writer);
        Ok(Self { readers, writer, asks, lookups, issuing, chaining })
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
