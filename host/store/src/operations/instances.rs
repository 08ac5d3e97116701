//! The runs of server processes. This module checks that the database accepts writes, compares its clock, and leases
//! work that one instance does for all.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::engine::clock_guard::ClockGuard;
use crate::engine::migrations::older_instances::{self, RunningInstance};
use crate::engine::sql;
use crate::engine::sql::DatabaseKind;
use crate::operations::instance::{Heartbeat, RunStart};
use crate::{Result, Store, StoreError};
use assent_model::clock::{Clock, Timestamp};

/// How long the database may take to answer a probe.
const PROBE: Duration = Duration::from_secs(2);
/// How long the result of a probe is reused, because any client may request the readiness.
const FRESH: Duration = Duration::from_secs(1);
/// The longest possible lease. A lease with a later end comes from an instance with a clock that is ahead.
const LONGEST_LEASE: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Writes this run's heartbeat on a separate connection, within two seconds, and compares the clocks. Returns by
    /// how many milliseconds the database's clock is ahead of `clock`; a negative value means behind. SQLite has no
    /// clock of its own, so there it is 0. A result is reused for a second.
    ///
    /// # Errors
    /// If the database does not accept the write in time, or a newer release removed something that this release uses.
    pub async fn probe(&self, clock: &dyn Clock) -> Result<i64> {
        let probed = timeout(PROBE, self.probe_within(clock))
            .await
            .unwrap_or_else(|_| {
                Err(StoreError::Unavailable(
                    "the database did not accept a write in time".to_owned(),
                ))
            });
        self.measurements.note_probe(probed.as_ref().ok().copied());
        probed
    }

    async fn probe_within(&self, clock: &dyn Clock) -> Result<i64> {
        let mut last = self.instance.last.lock().await;
        if let Some((at, difference)) = *last
            && at.elapsed() < FRESH
        {
            return Ok(difference);
        }
        let started_at = self.run_start(clock).await?.started_at;
        let Heartbeat {
            difference,
            contracted,
        } = match self.instance.kind {
            // SQLite permits one writer at a time, and the writer's queue is fair.
            DatabaseKind::Sqlite => {
                let now = clock.now();
                let seen = self.write(Arc::clone(&self.instance), move |db, instance| {
                    let seen = instance.heartbeat(started_at, now);
                    Box::pin(async move { Ok(seen.fetch_one(db).await?) })
                });
                Heartbeat {
                    difference: 0,
                    contracted: seen.await?.1,
                }
            }
            DatabaseKind::Postgres => match self.instance.compare(started_at, clock).await {
                // The connection was lost while it was idle.
                Err(error) if error.is_connection_lost() => {
                    self.instance.compare(started_at, clock).await?
                }
                compared => compared?,
            },
        };
        if contracted {
            return Err(StoreError::Contracted);
        }
        *last = Some((Instant::now(), difference));
        Ok(difference)
    }

    /// The start of this run, which the first call sets.
    async fn run_start(&self, clock: &dyn Clock) -> Result<&RunStart> {
        let begin = || async {
            let started_at = clock.now();
            let guard = match self.instance.kind {
                DatabaseKind::Postgres => ClockGuard::Compared,
                DatabaseKind::Sqlite => {
                    let (newest,): (Option<i64>,) =
                        sql::query_as("SELECT MAX(seen_at) FROM instances WHERE id <> $1")
                            .bind(&self.instance.id)
                            .fetch_one(&self.readers)
                            .await?;
                    ClockGuard::Bounded {
                        start: newest.map_or(started_at, Timestamp::from_millis),
                    }
                }
            };
            Ok(RunStart {
                started_at,
                at: Instant::now(),
                guard,
            })
        };
        self.instance.start.get_or_try_init(begin).await
    }

    /// The time until which this instance may delete rows and do other irreversible work for all instances; `None` if
    /// its clock is not trusted. On PostgreSQL the clock may differ from the database's by 5 s. On SQLite it may be at
    /// most an hour ahead of the newest timestamp of earlier runs.
    ///
    /// # Errors
    /// As [`Store::probe`].
    pub async fn trusted_now(&self, clock: &dyn Clock) -> Result<Option<Timestamp>> {
        let difference = self.probe(clock).await?;
        let began = self.run_start(clock).await?;
        let limit = began
            .guard
            .limit(clock.now(), difference, began.at.elapsed());
        if limit.is_none() {
            tracing::error!(
                difference,
                "clock differs from the database's clock, this instance deletes nothing and rotates no key"
            );
        }
        Ok(limit)
    }

    /// The number of running instances beside this one.
    pub async fn other_instances(&self) -> Result<usize> {
        let instances = self.running_instances().await?;
        let others = instances
            .iter()
            .filter(|other| other.id != self.instance.id);
        Ok(others.count())
    }

    /// The running instances.
    pub(crate) async fn running_instances(&self) -> Result<Vec<RunningInstance>> {
        let mut lease = self.instance.lease().await?;
        let running = older_instances::running(self.instance.kind, &mut lease).await;
        lease.end(running.as_ref().err());
        Ok(running?)
    }

    /// Takes or extends the lease on work that one instance does for all. Returns whether this instance has the lease.
    pub(crate) async fn claim_lease(
        &self,
        name: &'static str,
        length: Duration,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(self.instance.id.clone(), move |db, instance| {
            Box::pin(async move {
                let claimed = sql::query(
                    "INSERT INTO leases (name, instance, leased_until) VALUES ($1, $2, $3)
                     ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, leased_until = excluded.leased_until
                     WHERE leases.instance = excluded.instance OR leases.leased_until <= $4
                        OR leases.leased_until > $5",
                )
                .bind(name)
                .bind(instance)
                .bind((now + length).millis())
                .bind(now.millis())
                .bind((now + LONGEST_LEASE).millis())
                .execute(db)
                .await?;
                Ok(claimed == 1)
            })
        })
        .await
    }
}
