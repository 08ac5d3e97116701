//! The lanes of the audit log that this instance holds.
//!
//! A lane is a hash chain with one writer at a time, so no transaction waits for one of another instance. The holder
//! keeps the head of its lane in memory. No row is updated in each transaction. Such a row would have a dead version
//! for each update, and while a snapshot is open, every lookup would read all of them.
//!
//! The lease only determines when another instance may take a lane. The statement that appends ensures that a former
//! holder cannot append: it locks the lane's row against a change of its holder. So an instance that takes a lane waits
//! for a transaction of the former holder, and then sees its entries.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::Result;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use assent_model::audit::chain::{Heads, Mark};
use assent_model::clock::Timestamp;
use assent_model::id::AuditId;

/// The limit by which the time in an entry's id may be ahead of the entry's time. The clocks of instances may differ by
/// as much.
pub const SKEW: Duration = Duration::from_secs(600);

/// The length of the lease on a lane.
const LEASE: Duration = Duration::from_secs(60);
/// The age at which a holder renews the lease.
const RENEWAL: Duration = Duration::from_secs(20);

/// The statements that take and hold lanes. The times of leases come from the database's clock only.
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
    /// A random value, which is new each time that the lane is taken.
    pub(super) holder: String,
    pub(super) head: Mark,
    /// The id of the last entry. Later entries have greater ids.
    pub(super) last_id: Option<AuditId>,
    /// The position up to which the root contains the lane, or will contain it.
    noted: i64,
    renewed: Instant,
}

impl HeldLane {
    pub(super) fn new(
        number: i64,
        holder: String,
        head: Mark,
        last_id: Option<AuditId>,
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

    /// Whether an entry of this time may follow. After a clock was far ahead, the ids of a lane are still ahead.
    pub(super) fn takes(&self, at: Timestamp) -> bool {
        self.last_id.is_none_or(|last| last.time() <= at + SKEW)
    }

    /// Whether this instance still holds the lane. Renews the lease when it is due.
    pub(super) async fn renew_if_due(&mut self, db: &mut Connection) -> Result<bool> {
        if self.renewed.elapsed() <= RENEWAL {
            return Ok(true);
        }
        let renewed = sql::query(LaneSql::for_kind(db.kind()).renew)
            .bind(self.number)
            .bind(&self.holder)
            .bind(lease_millis())
            .execute(db)
            .await?;
        self.renewed = Instant::now();
        Ok(renewed == 1)
    }

    /// Whether this instance still holds the lane.
    pub(super) async fn is_held(&self, db: &mut Connection) -> Result<bool> {
        Ok(
            sql::query("SELECT lane FROM audit_lanes WHERE lane = $1 AND holder = $2")
                .bind(self.number)
                .bind(&self.holder)
                .exists(db)
                .await?,
        )
    }
}

/// The lanes that this instance holds, and their heads that are not in the root yet.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// The unused lanes. The lane that was used last is taken first, so that an idle instance uses one lane.
    free: Mutex<Vec<HeldLane>>,
    new_heads: Mutex<Heads>,
    changed: Notify,
}

impl Lanes {
    /// Takes a held lane that no transaction uses, for an entry of this time.
    pub(super) fn take(&self, at: Timestamp) -> Option<HeldLane> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // A lane with ids too far ahead is dropped, and its lease expires.
        free.retain(|lane| lane.takes(at));
        free.pop()
    }

    /// Returns an unchanged lane.
    pub(super) fn give_back(&self, lane: HeldLane) {
        self.free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(lane);
    }

    /// Returns a lane after the commit of its new entries.
    pub(crate) fn return_committed(&self, mut lane: HeldLane) {
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

    /// The heads that are not in the root yet.
    pub(super) fn new_heads(&self) -> Heads {
        self.new_heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Removes the heads that are in the root now.
    pub(super) fn forget_signed(&self, signed: &Heads) {
        self.new_heads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(signed);
    }

    /// Waits until there is a head that is not in the root.
    pub(super) async fn wait_for_new_head(&self) {
        self.changed.notified().await;
    }

    /// Removes and returns all lanes that no transaction uses.
    pub(crate) fn take_all(&self) -> Vec<HeldLane> {
        std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Releases the lanes, so that other instances can take them at once.
pub(crate) async fn release(db: &mut Connection, lanes: &[HeldLane]) -> Result<()> {
    for lane in lanes {
        sql::query("UPDATE audit_lanes SET held_until = 0 WHERE lane = $1 AND holder = $2")
            .bind(lane.number)
            .bind(&lane.holder)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
