//! The lanes of the audit log that this instance holds.
//!
//! A lane is a hash chain with one writer at a time, so no transaction waits for another instance's. The holder knows
//! the head of its lane. Nobody updates a row for each transaction: that row would have a dead version for each, and
//! every lookup would pass them all while a snapshot is open.
//!
//! The lease only says when others may take a lane. That a former holder cannot append is ensured by the statement that
//! appends: it locks the lane's row against a change of its holder. So whoever takes a lane waits for a transaction of
//! the former holder, and then sees its entries.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::Result;
use crate::sql::{self, Connection, DatabaseKind};
use assent_model::audit::chain::{Heads, Mark};
use assent_model::clock::Timestamp;
use assent_model::id::AuditId;

/// How far the time in an entry's id may be ahead of the entry's time, and the clocks of instances apart.
pub const SKEW: Duration = Duration::from_secs(600);

/// For how long a lane is taken.
const LEASE: Duration = Duration::from_secs(60);
/// When a holder extends the lease.
const RENEWAL: Duration = Duration::from_secs(20);

/// The statements that take and hold lanes, by the clock of one kind of database: the leases are of one clock.
pub(super) struct LaneSql {
    renew: &'static str,
    pub(super) take_free: &'static str,
    pub(super) add: &'static str,
}

macro_rules! lane_sql {
    ($now:literal, $lock:literal) => {
        LaneSql {
            renew: concat!(
                "UPDATE audit_lanes SET held_until = $3 + ",
                $now,
                " WHERE lane = $1 AND holder = $2"
            ),
            take_free: concat!(
                "UPDATE audit_lanes SET holder = $1, held_until = $3 + ",
                $now,
                " WHERE lane = (SELECT lane FROM audit_lanes WHERE lane > $2 AND held_until < ",
                $now,
                " ORDER BY lane LIMIT 1",
                $lock,
                ") RETURNING lane"
            ),
            add: concat!(
                "INSERT INTO audit_lanes (lane, holder, held_until) VALUES ($2, $1, $3 + ",
                $now,
                ") ON CONFLICT (lane) DO NOTHING"
            ),
        }
    };
}

impl LaneSql {
    pub(super) const fn for_kind(kind: DatabaseKind) -> Self {
        match kind {
            DatabaseKind::Sqlite => lane_sql!("CAST(strftime('%s', 'now') AS INTEGER) * 1000", ""),
            DatabaseKind::Postgres => lane_sql!(
                "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
                " FOR UPDATE SKIP LOCKED"
            ),
        }
    }
}

pub(super) fn lease_millis() -> i64 {
    i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

/// A lane that this instance holds.
#[derive(Clone, Debug)]
pub(crate) struct HeldLane {
    pub(super) number: i64,
    /// Differs each time that the lane is taken.
    pub(super) holder: String,
    pub(super) head: Mark,
    /// The id of the last entry. Later entries have greater ones.
    pub(super) last_id: Option<AuditId>,
    /// The position up to which the root has the lane, or will have it.
    noted: i64,
    renewed: Instant,
}

impl HeldLane {
    pub(super) fn new(
        (number, holder): (i64, String),
        (head, last_id): (Mark, Option<AuditId>),
        noted: i64,
    ) -> Self {
        Self {
            number,
            holder,
            head,
            last_id,
            noted,
            renewed: Instant::now(),
        }
    }

    /// Whether an entry of this time may follow. If a clock was far ahead, the ids of a lane still are.
    pub(super) fn takes(&self, at: Timestamp) -> bool {
        self.last_id.is_none_or(|last| last.time() <= at + SKEW)
    }

    /// Whether this instance still holds the lane. Extends the lease where it is time.
    pub(super) async fn keep(&mut self, db: &mut Connection) -> Result<bool> {
        if self.renewed.elapsed() <= RENEWAL {
            return Ok(true);
        }
        let renewed = sql::query(LaneSql::for_kind(db.kind()).renew)
            .bind(self.number)
            .bind(self.holder.clone())
            .bind(lease_millis())
            .execute(db)
            .await?;
        self.renewed = Instant::now();
        Ok(renewed == 1)
    }

    /// Whether this instance still holds the lane.
    pub(super) async fn is_held(&self, db: &mut Connection) -> Result<bool> {
        let held: Option<(i64,)> =
            sql::query_as("SELECT lane FROM audit_lanes WHERE lane = $1 AND holder = $2")
                .bind(self.number)
                .bind(self.holder.clone())
                .fetch_optional(db)
                .await?;
        Ok(held.is_some())
    }
}

/// The lanes that this instance holds, and their heads that no root has yet.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// The lane that was used last is used next, so that a quiet instance uses one.
    free: Mutex<Vec<HeldLane>>,
    new_heads: Mutex<Heads>,
    changed: Notify,
}

impl Lanes {
    /// A held lane that no transaction uses, for an entry of this time.
    pub(super) fn take(&self, at: Timestamp) -> Option<HeldLane> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // One whose ids are ahead is dropped. Its lease ends.
        free.retain(|lane| lane.takes(at));
        free.pop()
    }

    /// Nothing was appended to the lane.
    pub(super) fn give_back(&self, lane: HeldLane) {
        self.free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(lane);
    }

    /// What was appended to the lane is committed.
    pub(crate) fn committed(&self, mut lane: HeldLane) {
        if lane.head.seq > lane.noted {
            lane.noted = lane.head.seq;
            self.add_new_head(lane.number, lane.head.clone());
        }
        self.give_back(lane);
    }

    pub(super) fn add_new_head(&self, lane: i64, head: Mark) {
        self.new_heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .advance(lane, head);
        self.changed.notify_one();
    }

    /// The heads that no root has.
    pub(super) fn new_heads(&self) -> Heads {
        self.new_heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Forgets the heads that a root has now.
    pub(super) fn forget_signed(&self, signed: &Heads) {
        self.new_heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(signed);
    }

    /// Waits until there is a head that no root has.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// All lanes that no transaction uses. They are forgotten here.
    pub(crate) fn take_all(&self) -> Vec<HeldLane> {
        std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Lets others take the lanes at once.
pub(crate) async fn release(db: &mut Connection, lanes: &[HeldLane]) -> Result<()> {
    for lane in lanes {
        sql::query("UPDATE audit_lanes SET held_until = 0 WHERE lane = $1 AND holder = $2")
            .bind(lane.number)
            .bind(lane.holder.clone())
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
