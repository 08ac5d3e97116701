//! The transactions of a writer: several jobs share one.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::time::{Instant, timeout_at};

use crate::audit::append::{append, prepare};
use crate::audit::context::ChainContext;
use crate::audit::lanes::HeldLane;
use crate::audit::pending::{self, PendingEntries};
use crate::engine::changes::waiters::Waiters;
use crate::engine::connections::Connections;
use crate::engine::deferred;
use crate::engine::deferred::Deferred;
use crate::engine::measurements::Measurements;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, StoreError};

/// The output of a job, of a type that only the caller knows.
pub(crate) type JobOutput = Box<dyn Any + Send>;
/// The work of a job. It may be called more than once; only one call is committed.
pub(crate) type Work =
    Box<dyn for<'c> Fn(&'c mut Connection) -> BoxFuture<'c, Result<JobOutput>> + Send + Sync>;

/// A job of a transaction.
#[derive(Clone, Copy)]
pub(crate) struct TransactionJob<'j> {
    pub(crate) work: &'j Work,
    /// Whether other independent jobs may execute statements between its own. Row locks do not exclude jobs of the same
    /// transaction, so each of its decisions must be one statement.
    pub(crate) is_independent: bool,
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
}

impl<E: Into<StoreError>> From<E> for TransactionError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            culprit: None,
        }
    }
}

/// The outputs of the jobs of a committed transaction, or the reason why nothing was committed.
pub(crate) type TransactionResult = std::result::Result<Vec<Result<JobOutput>>, TransactionError>;

/// The result of one call of a job.
enum JobResult {
    Done(JobOutput),
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
    measurements: Arc<Measurements>,
}

impl Transactions {
    pub(crate) fn new(
        connections: Connections,
        begin: &'static str,
        chaining: Arc<ChainContext>,
        waiters: Arc<Waiters>,
    ) -> Self {
        let measurements = Arc::clone(connections.measurements());
        Self {
            connections,
            begin,
            chaining,
            waiters,
            measurements,
        }
    }

    pub(crate) const fn measurements(&self) -> &Arc<Measurements> {
        &self.measurements
    }

    /// Executes the jobs in one transaction and commits it. Without isolation, a failing job rolls all of them back,
    /// and its error is returned. Independent jobs come last.
    ///
    /// # Errors
    /// If nothing was committed. After the deadline the connection is closed, and the result is unknown.
    pub(crate) async fn run(
        &self,
        jobs: &[TransactionJob<'_>],
        isolation: Isolation,
        deadline: Instant,
    ) -> TransactionResult {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut lease = timeout_at(deadline, self.connections.lease())
                .await
                .map_err(|_| out_of_time())??;
            lease.set_deadline(Some(deadline.into_std()));
            let Ok(begun) = timeout_at(deadline, self.transact(&mut lease, jobs, isolation)).await
            else {
                // The database may be frozen. Then the other connections are unusable too, and each would cost a
                // timeout.
                lease.end_epoch();
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
                // A job that panicked may have left an unfinished statement.
                Err(failure) if failure.culprit.is_some() || failure.error.is_outage() => {
                    drop(lease);
                }
                _ => lease.give_back(),
            }
            return result;
        }
    }

    /// The outer error is that of `BEGIN`: nothing was done.
    async fn transact(
        &self,
        db: &mut Connection,
        jobs: &[TransactionJob<'_>],
        isolation: Isolation,
    ) -> sql::Result<TransactionResult> {
        let begun = Instant::now();
        db.batch(self.begin).await?;
        let result = self.commit(db, jobs, isolation).await;
        self.measurements.transactions.record_time(begun.elapsed());
        Ok(result)
    }

    async fn commit(
        &self,
        db: &mut Connection,
        jobs: &[TransactionJob<'_>],
        isolation: Isolation,
    ) -> TransactionResult {
        let work = async {
            let (worked, deferred) =
                deferred::collect(pending::collect(run_jobs(db, jobs, isolation))).await;
            let (outcomes, entries) = worked?;
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
                Ok(outcomes)
            }
            // The connection is closed, which rolls the transaction back.
            Err(failure) if failure.culprit.is_some() || failure.error.is_outage() => Err(failure),
            Err(failure) => {
                db.batch("ROLLBACK").await?;
                Err(failure)
            }
        }
    }

    /// Executes the writes that the jobs postponed to the end of the transaction. Returns the lane of its audit
    /// entries. On PostgreSQL the statements are sent without waiting for each other's results.
    async fn write_end(
        &self,
        db: &mut Connection,
        deferred: &Deferred,
        mut entries: PendingEntries,
    ) -> Result<Option<HeldLane>> {
        // This comes first and separately, because it locks users: no transaction with a lock on an application may
        // wait for a user.
        prepare(db, &self.chaining, &mut entries).await?;
        let (Some(mut second), Some(mut third)) = (db.share(), db.share()) else {
            deferred::insert_changes(db, deferred).await?;
            let lane = append(db, &self.chaining, entries).await?;
            deferred::write_uses(db, deferred).await?;
            return Ok(lane);
        };
        let (changes, lane, uses) = tokio::join!(
            deferred::insert_changes(db, deferred),
            append(&mut second, &self.chaining, entries),
            deferred::write_uses(&mut third, deferred),
        );
        let (lane, appended) = match lane {
            Ok(lane) => (lane, None),
            Err(error) => (None, Some(error)),
        };
        match cause([changes.err(), appended, uses.err()].into_iter().flatten()) {
            Some(error) => Err(error),
            None => Ok(lane),
        }
    }
}

/// The first failure that is not only a consequence of another one.
fn cause(failures: impl IntoIterator<Item = StoreError>) -> Option<StoreError> {
    failures.into_iter().min_by_key(is_consequence)
}

async fn run_jobs(
    db: &mut Connection,
    jobs: &[TransactionJob<'_>],
    isolation: Isolation,
) -> TransactionResult {
    let first_independent = jobs.partition_point(|job| !job.is_independent);
    let (mut in_turn, mut at_once) = jobs.split_at(first_independent);
    if isolation == Isolation::Savepoints || at_once.len() < 2 || db.share().is_none() {
        (in_turn, at_once) = (jobs, &[]);
    }
    let mut outcomes = run_in_turn(db, in_turn, isolation).await?;
    outcomes.extend(run_at_once(db, at_once, in_turn.len()).await?);
    Ok(outcomes)
}

async fn run_in_turn(
    db: &mut Connection,
    jobs: &[TransactionJob<'_>],
    isolation: Isolation,
) -> TransactionResult {
    let mut outcomes = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let failure = match isolation {
            Isolation::None => match call_job(job.work, db).await {
                JobResult::Done(outcome) => {
                    outcomes.push(Ok(outcome));
                    continue;
                }
                JobResult::Failed(error) => failure(error, index),
                JobResult::Panicked => panic_error(index),
            },
            Isolation::Savepoints => match call_at_savepoint(job.work, db).await? {
                JobResult::Done(outcome) => {
                    outcomes.push(Ok(outcome));
                    continue;
                }
                JobResult::Failed(error) => {
                    outcomes.push(Err(error));
                    continue;
                }
                JobResult::Panicked => panic_error(index),
            },
        };
        return Err(failure);
    }
    Ok(outcomes)
}

/// Executes independent jobs on PostgreSQL at the same time. Each sends a statement without waiting for the results
/// of the others, so all together take about as many round trips as one. `before` jobs were executed in turn.
async fn run_at_once(
    db: &mut Connection,
    jobs: &[TransactionJob<'_>],
    before: usize,
) -> TransactionResult {
    let calls = jobs.iter().filter_map(|job| {
        let mut db = db.share()?;
        Some(async move { call_job(job.work, &mut db).await })
    });
    let calls: Vec<_> = calls.collect();
    let results = join_all(calls).await;
    let mut outcomes = Vec::with_capacity(results.len());
    let mut failures = Vec::new();
    for (index, result) in results.into_iter().enumerate() {
        match result {
            JobResult::Done(outcome) => outcomes.push(Ok(outcome)),
            JobResult::Failed(error) => failures.push(failure(error, before + index)),
            JobResult::Panicked => failures.push(panic_error(before + index)),
        }
    }
    let cause = failures
        .into_iter()
        .min_by_key(|failure| (is_consequence(&failure.error), failure.culprit.is_none()));
    match cause {
        Some(cause) => Err(cause),
        None => Ok(outcomes),
    }
}

/// Whether PostgreSQL only rejected a statement because another one had failed.
fn is_consequence(error: &StoreError) -> bool {
    match error {
        StoreError::Database(error) => error.follows_another(),
        _ => false,
    }
}

fn failure(error: StoreError, index: usize) -> TransactionError {
    TransactionError {
        culprit: too_long(&error).then_some(index),
        error,
    }
}

fn panic_error(index: usize) -> TransactionError {
    TransactionError {
        error: StoreError::Internal("a write panicked"),
        culprit: Some(index),
    }
}

fn out_of_time() -> StoreError {
    StoreError::Unavailable("the transaction took too long".to_owned())
}

fn too_long(error: &StoreError) -> bool {
    matches!(error, StoreError::Database(error) if error.takes_too_long())
}

/// Calls the job. A panic must not end the writer, because other jobs need it.
async fn call_job(job: &Work, db: &mut Connection) -> JobResult {
    match AssertUnwindSafe(async { job(db).await })
        .catch_unwind()
        .await
    {
        Ok(Ok(outcome)) => JobResult::Done(outcome),
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
    job: &Work,
    db: &mut Connection,
) -> std::result::Result<JobResult, TransactionError> {
    let (entries_before, before) = (pending::pending_entries(), deferred::mark());
    db.batch("SAVEPOINT job").await?;
    let called = match call_job(job, db).await {
        // On PostgreSQL this fails if the job continued after a failed statement.
        JobResult::Done(outcome) => match release_savepoint(db).await {
            Ok(()) => JobResult::Done(outcome),
            Err(error) => JobResult::Failed(error),
        },
        other => other,
    };
    if let JobResult::Failed(error) = called {
        if error.lost_to_another() || (error.is_outage() && !too_long(&error)) {
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
