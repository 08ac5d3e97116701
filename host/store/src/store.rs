//! The database with its connections, its writers and its loaders, which all parts of the store share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::engine::sql::{Connection, DatabaseKind};
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::audit::context::ChainContext;
use crate::engine::batch::loader::BatchLoader;
use crate::engine::changes::waiters::Waiters;
use crate::engine::connections::Readers;
use crate::engine::database_url::sqlite_file;
use crate::engine::measurements::Measurements;
use crate::engine::under_way::RequestsUnderWay;
use crate::engine::versioned_cache::VersionedCache;
use crate::engine::writer::Writer;
use crate::error::Result;
use crate::operations::instance::Instance;
use crate::tables::accounts::user_account::{AccountAccess, HeldAccount, UserAccount};
use crate::tables::applications::noted_secret_uses::SecretUses;
use crate::tables::applications::recorded_use::RecordedUse;
use crate::tables::applications::row::ApplicationVersionRow;
use crate::tables::backchannel::watched_request::WatchedRequest;
use crate::tables::devices::inbox_row::{InboxKey, InboxSummary};
use crate::tables::sessions::signed_in::{SignOnRow, SignedInSession};
use crate::tables::sign_in::pushed_request_row::PushedRequest;
use crate::tables::sign_in::replay_cache::EarlierClaim;
use crate::tables::tokens::{
    ClientStateRow, FamilyStateRow, HolderVersion, PresentedCode, StateKey, TokenFamily,
};
use assent_model::application::RegisteredApplication;
use assent_model::device::Device;
use assent_model::id::{AccountId, Did, FamilyId, UserId};
use assent_model::saml::SamlKey;

/// The database.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    /// Writes approval requests, one batch at a time. Two concurrent batches with the same names in different orders
    /// would deadlock.
    pub(crate) approval_writer: Writer,
    pub(crate) lookups: Loaders,
    pub(crate) caches: Caches,
    pub(crate) chaining: Arc<ChainContext>,
    pub(crate) measurements: Arc<Measurements>,
    pub(crate) instance: Arc<Instance>,
    /// When this instance recorded the use of applications, and of each by each user.
    pub(crate) recorded_use: Arc<RecordedUse<Did>>,
    pub(crate) recorded_account_use: Arc<RecordedUse<(UserId, Did)>>,
    /// The uses of client secrets that are not written yet.
    pub(crate) secret_uses: Arc<SecretUses>,
    /// The number of administrative writes of this instance.
    pub(crate) administrative_writes: Arc<AtomicU64>,
    /// The requests of this instance that wait for changes.
    pub(crate) waiters: Arc<Waiters>,
    /// The requests that this instance executes.
    pub(crate) requests: Arc<RequestsUnderWay>,
    /// The sequence number below which the next run of retention deletes changes.
    pub(crate) old_changes: Arc<AtomicI64>,
}

/// The batched lookups of applications' requests.
#[derive(Clone, Debug)]
pub(crate) struct Loaders {
    pub(crate) applications: BatchLoader<RegisteredApplication>,
    pub(crate) user_accounts: BatchLoader<HeldAccount>,
    pub(crate) access: BatchLoader<AccountAccess, (String, String)>,
    pub(crate) codes: BatchLoader<PresentedCode, (String, String)>,
    pub(crate) application_versions: BatchLoader<ApplicationVersionRow>,
    /// The same for requests that wait for seconds anyway.
    pub(crate) patient_versions: BatchLoader<ApplicationVersionRow>,
    /// Back-channel requests for whose decision clients wait.
    pub(crate) watched_requests: BatchLoader<WatchedRequest>,
    pub(crate) families: BatchLoader<Arc<TokenFamily>>,
    pub(crate) family_states: BatchLoader<FamilyStateRow, StateKey>,
    pub(crate) client_states: BatchLoader<ClientStateRow, StateKey>,
    pub(crate) sessions: BatchLoader<SignedInSession>,
    pub(crate) sign_on_states: BatchLoader<SignOnRow, (String, String)>,
    pub(crate) saml_keys: BatchLoader<SamlKey>,
    pub(crate) claims: BatchLoader<EarlierClaim>,
    pub(crate) pushed_requests: BatchLoader<PushedRequest>,
    pub(crate) devices: BatchLoader<Device>,
    pub(crate) inboxes: BatchLoader<InboxSummary, InboxKey>,
}

/// The caches of parsed rows. A request uses a row only in the version that the database has.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    /// By the version and the time of the last change.
    pub(crate) applications: VersionedCache<Did, (i64, i64), RegisteredApplication>,
    /// By the versions of the account, of the user and of the application, which a change of assignments increments.
    pub(crate) holders: VersionedCache<AccountId, HolderVersion, Arc<UserAccount>>,
    /// The rows never change.
    pub(crate) families: VersionedCache<FamilyId, (), Arc<TokenFamily>>,
}

/// The time limit for writing the last root of the audit log when the store is closed.
const HANDOVER: Duration = Duration::from_secs(2);

/// The number of cached rows of a kind, up to twice as many. A row needs one to two kibibytes.
const CACHED: usize = 2048;

impl Caches {
    pub(crate) fn clear(&self) {
        self.applications.clear();
        self.holders.clear();
        self.families.clear();
    }
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            applications: VersionedCache::new(CACHED),
            holders: VersionedCache::new(CACHED),
            families: VersionedCache::new(CACHED),
        }
    }
}

impl Store {
    /// Whether a database may exist at `url`. Returns `false` only for an SQLite URL without a file.
    pub fn may_exist(url: &str) -> bool {
        sqlite_file(url).is_none_or(|file| file.exists())
    }

    /// The file of an SQLite database; `None` for other databases.
    pub fn database_file(url: &str) -> Option<std::path::PathBuf> {
        sqlite_file(url)
    }

    /// The counter of the requests that this instance executes. The writer waits a moment for their writes.
    pub const fn requests_under_way(&self) -> &Arc<RequestsUnderWay> {
        &self.requests
    }

    /// The number of administrative writes of this instance. A document that was made before the last one may be
    /// outdated.
    pub fn administrative_writes(&self) -> u64 {
        self.administrative_writes.load(Ordering::Acquire)
    }

    /// Removes the cached rows, so that no personal data stays in memory long after its erasure.
    pub fn forget_cached_rows(&self) {
        self.caches.clear();
    }

    /// Waits for running writes and closes the connections.
    pub async fn close(&self) {
        if self.instance.kind == DatabaseKind::Postgres {
            self.approval_writer.stop().await;
            self.writer.stop().await;
        }
        // Without the handover, the next instance must verify the last entries, and waits for the end of the leases.
        match timeout(HANDOVER, self.hand_over_audit_log()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "audit log not handed over"),
            Err(_) => tracing::debug!("audit log not handed over in time"),
        }
        self.writer.close().await;
        self.instance.close().await;
        self.readers.close().await;
    }

    /// Runs `work` with `input` in a transaction that it may share with others, and returns once the commit is durable.
    /// If `work` fails, all of its changes are rolled back. It may run a second time if another write's failure rolled
    /// the first attempt back.
    pub(crate) async fn write<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'c> Fn(&'c mut Connection, &'c I) -> BoxFuture<'c, Result<T>>
            + Send
            + Sync
            + 'static,
    {
        self.writer.write(input, work).await
    }

    /// Counts an administrative write when the result is dropped: at its end, or when its caller does not wait any
    /// more, because it may be committed nevertheless.
    pub(crate) fn counted_write(&self) -> CountedWrite<'_> {
        CountedWrite(&self.administrative_writes)
    }
}

/// An administrative write that is counted at its end.
#[must_use]
pub(crate) struct CountedWrite<'a>(&'a AtomicU64);

impl Drop for CountedWrite<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}
