//! The transactions of a writer: several jobs share one.

use std::any::{Any, TypeId};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::audit::append::{append, prepare};
use crate::audit::context::ChainContext;
use crate::audit::lanes::HeldLane;
use crate::audit::pending::{self, PendingEntries};
use crate::engine::changes::waiters::Waiters;
use crate::engine::claimed_messages;
use crate::engine::connections::Connections;
use crate::engine::deferred;
use crate::engine::deferred::Deferred;
use crate::engine::locked_rows::{self, LockedRow};
use crate::engine::measurements::Measurements;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::{Result, StoreError};
use assent_model::saml::MessageClaim;

/// The output of a job, of a type that only the caller knows.
pub(crate) type JobOutput = Box<dyn Any + Send>;

/// The work of a job. It may be called more than once; only one call is committed.
pub(crate) enum Work {
    /// A function, the row that it locks first, and the message that it claims. It takes the claim by
    /// [`claimed_messages::take`].
    Separate(Option<LockedRow>, Option<MessageClaim>, SeparateWork),
    /// A write that shares its statements with the others of its kind in the transaction.
    Shared(SharedWork),
}

pub(crate) type SeparateWork =
    Box<dyn for<'c> Fn(&'c mut Connection) -> BoxFuture<'c, Result<JobOutput>> + Send + Sync>;

/// Writes of one kind. Those of a transaction share their statements: on PostgreSQL each statement costs a round trip,
/// on SQLite a change of threads.
pub(crate) trait SharedWrite: Sized + Send + Sync + 'static {
    /// The output of a write.
    type Output: Send + 'static;

    /// The place of this kind among the others of a transaction. Transactions that lock rows of several kinds do so in
    /// one order, and do not deadlock.
    const RANK: u8;

    /// The row that the write locks first. Further rows are locked in the order of their keys, so that concurrent
    /// transactions do not deadlock.
    fn locked_row(&self) -> Option<LockedRow> {
        None
    }

    /// The message that the write claims. It takes the claim by [`claimed_messages::take`].
    fn claim(&self) -> Option<&MessageClaim> {
        None
    }

    /// Executes the writes. Returns their outputs, in their order.
    fn execute(
        db: &mut Connection,
        writes: &[&Self],
    ) -> impl Future<Output = Result<Vec<Self::Output>>> + Send;
}

type AnyWrite = dyn Any + Send + Sync;
type ExecuteShared =
    for<'c> fn(&'c mut Connection, Vec<&'c AnyWrite>) -> BoxFuture<'c, Result<Vec<JobOutput>>>;

/// A write of a kind that only the caller knows.
pub(crate) struct SharedWork {
    kind: TypeId,
    rank: u8,
    locked_row: Option<LockedRow>,
    claim: Option<MessageClaim>,
    write: Box<AnyWrite>,
    execute: ExecuteShared,
}

impl Work {
    /// Its place among the others of a transaction: the table of the row that it locks first, and its rank in it.
    pub(crate) fn place(&self) -> (u8, u8) {
        (self.table(), self.rank())
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Separate(..) => 0,
            Self::Shared(work) => work.rank,
        }
    }

    fn table(&self) -> u8 {
        self.locked_row().map_or(0, LockedRow::table)
    }

    /// The row that it locks first.
    pub(crate) const fn locked_row(&self) -> Option<LockedRow> {
        match self {
            Self::Separate(row, ..) => *row,
            Self::Shared(work) => work.locked_row,
        }
    }

    /// The message that it claims.
    const fn claim(&self) -> Option<&MessageClaim> {
        match self {
            Self::Separate(_, claim, _) => claim.as_ref(),
            Self::Shared(work) => work.claim.as_ref(),
        }
    }

    /// Whether both share a call.
    fn shares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Shared(one), Self::Shared(other)) => one.kind == other.kind,
            _ => false,
        }
    }
}

impl SharedWork {
    pub(crate) fn new<W: SharedWrite>(write: W) -> Self {
        Self {
            kind: TypeId::of::<W>(),
            rank: W::RANK,
            locked_row: write.locked_row(),
            claim: write.claim().copied(),
            write: Box::new(write),
            execute: execute_shared::<W>,
        }
    }
}

fn execute_shared<'c, W: SharedWrite>(
    db: &'c mut Connection,
    writes: Vec<&'c AnyWrite>,
) -> BoxFuture<'c, Result<Vec<JobOutput>>> {
    Box::pin(async move {
        let writes: Vec<&W> = writes
            .into_iter()
            .filter_map(|write| write.downcast_ref())
            .collect();
        let outputs = W::execute(db, &writes).await?;
        Ok(outputs
            .into_iter()
            .map(|output| Box::new(output) as JobOutput)
            .collect())
    })
}

/// The work that a failing job rolls back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Isolation {
    /// All jobs of the transaction.
    None,
    /// Only its own. This costs two statements per job.
    Savepoints,
}

/// Why a transaction was not committed. If it is unknown whether it was, the error is an outage.
pub(crate) struct TransactionError {
    pub(crate) error: StoreError,
    /// The job that must not be repeated, because it panicked or took too long.
    pub(crate) culprit: Option<usize>,
    /// Whether a job panicked, so that a statement may be unfinished.
    panicked: bool,
}

impl<E: Into<StoreError>> From<E> for TransactionError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            culprit: None,
            panicked: false,
        }
    }
}

impl TransactionError {
    /// Whether the connection may be used for another transaction after a rollback.
    fn permits_rollback(&self) -> bool {
        !self.panicked && self.culprit.is_none() && !self.error.is_outage()
    }
}

/// The outputs of the jobs of a committed transaction, or the reason why nothing was committed.
pub(crate) type TransactionResult = std::result::Result<Vec<Result<JobOutput>>, TransactionError>;

/// The result of a call of a job, or of jobs of one kind.
enum JobResult {
    /// The outputs, in the order of the jobs.
    Done(Vec<JobOutput>),
    Failed(StoreError),
    Panicked,
}

/// Begins and commits transactions.
pub(crate) struct Transactions {
    connections: Connections,
    /// The statement that begins a transaction with writes.
    begin: &'static str,
    chaining: Arc<ChainContext>,
    /// The waiters that the committed changes wake.
    waiters: Arc<Waiters>,
    /// Hears of each commit, unless it has not yet heard of the one before.
    committed: Option<mpsc::Sender<()>>,
    measurements: Arc<Measurements>,
}

impl Transactions {
    pub(crate) fn new(
        connections: Connections,
        begin: &'static str,
        chaining: Arc<ChainContext>,
        waiters: Arc<Waiters>,
        committed: Option<mpsc::Sender<()>>,
    ) -> Self {
        let measurements = Arc::clone(connections.measurements());
        Self {
            connections,
            begin,
            chaining,
            waiters,
            committed,
            measurements,
        }
    }

    pub(crate) const fn measurements(&self) -> &Arc<Measurements> {
        &self.measurements
    }

    /// Executes the jobs in one transaction and commits it. Without isolation, a failing job rolls all of them back,
    /// and its error is returned.
    ///
    /// # Errors
    /// If nothing was committed. After the deadline the connection is closed, and the result is unknown.
    pub(crate) async fn run(
        &self,
        jobs: &[&Work],
        isolation: Isolation,
        deadline: Instant,
    ) -> TransactionResult {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut lease = timeout_at(deadline, self.connections.lease())
                .await
                .map_err(|_| out_of_time())??;
            lease.end_statements_before(deadline);
            let Ok(begun) = timeout_at(deadline, self.transact(&mut lease, jobs, isolation)).await
            else {
                lease.abandon();
                self.chaining.forget_ends();
                return Err(out_of_time().into());
            };
            let result = match begun {
                Ok(result) => result,
                // The connection was lost while it was idle. Nothing was done, so another one is tried.
                Err(error) if error.is_connection_lost() && attempts == 1 => {
                    lease.end_epoch();
                    self.chaining.forget_ends();
                    continue;
                }
                Err(error) => Err(error.into()),
            };
            match &result {
                Err(TransactionError {
                    error: StoreError::Database(error),
                    ..
                }) => {
                    if error.is_connection_lost() {
                        self.chaining.forget_ends();
                    }
                    lease.end(Some(error));
                }
                Err(failure) if !failure.permits_rollback() => drop(lease),
                _ => lease.give_back(),
            }
            return result;
        }
    }

    /// The outer error is that of `BEGIN`: nothing was done.
    async fn transact(
        &self,
        db: &mut Connection,
        jobs: &[&Work],
        isolation: Isolation,
    ) -> sql::Result<TransactionResult> {
        let begun = Instant::now();
        db.batch(self.begin).await?;
        if waits_briefly(db, isolation) {
            db.batch("SET LOCAL lock_timeout = '500ms'").await?;
        }
        let result = self.commit(db, jobs, isolation).await;
        self.measurements.transactions.record_time(begun.elapsed());
        Ok(result)
    }

    async fn commit(
        &self,
        db: &mut Connection,
        jobs: &[&Work],
        isolation: Isolation,
    ) -> TransactionResult {
        let work = async {
            let (worked, deferred) =
                deferred::collect(pending::collect(run_jobs(db, jobs, isolation))).await;
            let (outcomes, entries) = worked?;
            if waits_briefly(db, isolation) {
                db.batch("SET LOCAL lock_timeout TO DEFAULT").await?;
            }
            let events = entries.events();
            let lane = self.write_end(db, &deferred, entries).await?;
            Ok((outcomes, lane, deferred.changes, events))
        };
        let worked: std::result::Result<_, TransactionError> = work.await;
        match worked {
            Ok((outcomes, lane, changed, events)) => {
                let begun = Instant::now();
                // If this fails, the transaction may be committed all the same, so this instance does not use the lane
                // any more.
                db.batch("COMMIT").await?;
                self.measurements.commits.record_time(begun.elapsed());
                self.measurements.count_events(&events);
                if let Some(lane) = lane {
                    self.chaining.lanes.return_committed(lane);
                }
                self.waiters.wake(&changed);
                if let Some(committed) = &self.committed {
                    let _ = committed.try_send(());
                }
                Ok(outcomes)
            }
            // The connection is closed, which rolls the transaction back.
            Err(failure) if !failure.permits_rollback() => Err(failure),
            Err(failure) => {
                db.batch("ROLLBACK").await?;
                Err(failure)
            }
        }
    }

    /// Executes the writes that the jobs postponed to the end of the transaction. Returns the lane of its audit
    /// entries.
    async fn write_end(
        &self,
        db: &mut Connection,
        deferred: &Deferred,
        mut entries: PendingEntries,
    ) -> Result<Option<HeldLane>> {
        // This comes first and separately, because it locks users: no transaction with a lock on an application may
        // wait for a user.
        prepare(db, &self.chaining, &mut entries).await?;
        deferred::insert_changes(db, deferred).await?;
        let lane = append(db, &self.chaining, entries).await?;
        deferred::write_uses(db, deferred).await?;
        Ok(lane)
    }
}

/// Whether each job waits briefly for locks. At savepoints each waits by itself, and the others wait for it.
const fn waits_briefly(db: &Connection, isolation: Isolation) -> bool {
    matches!(
        (isolation, db.kind()),
        (Isolation::Savepoints, DatabaseKind::Postgres)
    )
}

/// Calls the jobs. At savepoints each claims its own message, because a failing one must leave it unclaimed.
async fn run_jobs(db: &mut Connection, jobs: &[&Work], isolation: Isolation) -> TransactionResult {
    if isolation == Isolation::Savepoints {
        return call_in_order(db, jobs, isolation).await;
    }
    let messages: Vec<&MessageClaim> = jobs.iter().filter_map(|job| job.claim()).collect();
    let claimed = claimed_messages::claim(db, &messages).await?;
    claimed_messages::within(claimed, call_in_order(db, jobs, isolation)).await
}

/// Calls the jobs. Neighbours of one kind share a call, unless a failing job must fail by itself.
async fn call_in_order(
    db: &mut Connection,
    jobs: &[&Work],
    isolation: Isolation,
) -> TransactionResult {
    let mut results = Vec::with_capacity(jobs.len());
    let mut last_table = 0;
    for works in jobs.chunk_by(|one, next| isolation == Isolation::None && one.shares_with(next)) {
        let table = works.first().map_or(0, |work| work.table());
        if isolation == Isolation::None && table != last_table {
            last_table = table;
            let rows = jobs.iter().filter(|job| job.table() == table);
            locked_rows::lock(db, rows.filter_map(|job| job.locked_row()).collect()).await?;
        }
        let called = match isolation {
            Isolation::None => call_jobs(works, db).await,
            Isolation::Savepoints => call_at_savepoint(works, db).await?,
        };
        // If several jobs shared the call, each is called separately in the next attempt.
        let only = (works.len() == 1).then_some(results.len());
        match (called, isolation) {
            (JobResult::Done(outputs), _) if outputs.len() == works.len() => {
                results.extend(outputs.into_iter().map(Ok));
            }
            (JobResult::Done(_), _) => {
                return Err(StoreError::Internal("a write has no output").into());
            }
            (JobResult::Failed(error), Isolation::Savepoints) => results.push(Err(error)),
            (JobResult::Failed(error), Isolation::None) => {
                return Err(TransactionError {
                    culprit: only.filter(|_| takes_too_long(&error)),
                    error,
                    panicked: false,
                });
            }
            (JobResult::Panicked, _) => {
                return Err(TransactionError {
                    error: StoreError::Internal("a write panicked"),
                    culprit: only,
                    panicked: true,
                });
            }
        }
    }
    Ok(results)
}

fn out_of_time() -> StoreError {
    StoreError::Unavailable("the transaction took too long".to_owned())
}

pub(crate) fn takes_too_long(error: &StoreError) -> bool {
    matches!(error, StoreError::Database(error) if error.takes_too_long())
}

/// Calls a job, or jobs of one kind. A panic must not end the writer, because other jobs need it.
async fn call_jobs(works: &[&Work], db: &mut Connection) -> JobResult {
    let call = async {
        match works {
            [Work::Separate(.., work)] => Ok(vec![work(db).await?]),
            works => {
                let shared = works.iter().filter_map(|work| match work {
                    Work::Shared(work) => Some(work),
                    Work::Separate(..) => None,
                });
                let shared: Vec<&SharedWork> = shared.collect();
                match shared.first() {
                    Some(first) => {
                        let writes = shared.iter().map(|work| &*work.write).collect();
                        (first.execute)(db, writes).await
                    }
                    None => Ok(Vec::new()),
                }
            }
        }
    };
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(Ok(outputs)) => JobResult::Done(outputs),
        Ok(Err(error)) => JobResult::Failed(error),
        Err(panic) => {
            let message = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            tracing::error!(
                panic = message.unwrap_or_default(),
                "database write panicked"
            );
            JobResult::Panicked
        }
    }
}

/// Calls the job. If it fails, its work and its audit entries are rolled back, and the transaction continues.
///
/// # Errors
/// If the transaction cannot continue.
async fn call_at_savepoint(
    works: &[&Work],
    db: &mut Connection,
) -> std::result::Result<JobResult, TransactionError> {
    let (entries_before, before) = (pending::pending_entries(), deferred::mark());
    db.batch("SAVEPOINT job").await?;
    let called = match call_jobs(works, db).await {
        // On PostgreSQL this fails if the job continued after a failed statement.
        JobResult::Done(outputs) => match release_savepoint(db).await {
            Ok(()) => JobResult::Done(outputs),
            Err(error) => JobResult::Failed(error),
        },
        other => other,
    };
    if let JobResult::Failed(error) = called {
        if error.lost_to_another() || (error.is_outage() && !takes_too_long(&error)) {
            return Err(error.into());
        }
        db.batch("ROLLBACK TO SAVEPOINT job").await?;
        release_savepoint(db).await?;
        pending::restore(entries_before);
        deferred::restore(&before);
        return Ok(JobResult::Failed(error));
    }
    Ok(called)
}

async fn release_savepoint(db: &mut Connection) -> Result<()> {
    db.batch("RELEASE SAVEPOINT job").await?;
    Ok(())
}
