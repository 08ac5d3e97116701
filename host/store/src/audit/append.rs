//! Appends the entries of a transaction to a lane, as the transaction's last step.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::audit::context::ChainContext;
use crate::audit::lane_acquisition::acquire;
use crate::audit::lanes::HeldLane;
use crate::audit::pending::{PendingEntries, PendingEntry};
use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::{Result, StoreError};
use assent_model::audit::chain::{End, personal_digest};
use assent_model::clock::Timestamp;

/// The most entries that one statement appends.
const ROWS: usize = 64;

/// The outcome of an attempt to append to a lane.
enum AppendOutcome {
    Done,
    /// Another instance has taken the lane. Nothing was appended.
    LaneLost,
}

/// Computes the digests of the entries' personal data, and numbers the account notifications.
pub(crate) async fn prepare(
    db: &mut Connection,
    context: &ChainContext,
    PendingEntries(all): &mut PendingEntries,
) -> Result<()> {
    for pending in all.iter_mut() {
        cover_personal_data(pending, context);
    }
    number_notifications(db, all).await
}

/// Appends the entries, which [`prepare`] has prepared. Returns the lane. The caller gives it back after the commit
/// ([`Lanes::committed`](crate::audit::lanes::Lanes::committed)). If it is unknown whether the transaction was
/// committed, the caller drops the lane, and its lease expires.
///
/// # Errors
/// If an entry cannot be appended. The transaction must be rolled back then.
pub(crate) async fn append(
    db: &mut Connection,
    context: &ChainContext,
    PendingEntries(mut all): PendingEntries,
) -> Result<Option<HeldLane>> {
    let Some(at) = all.iter().map(|pending| pending.record.at).min() else {
        return Ok(None);
    };
    let at = Timestamp::from_millis(at);
    loop {
        let held = context.lanes.take(at);
        let mut lane = match &held {
            Some(lane) => lane.clone(),
            None => acquire(db, context, at).await?,
        };
        match append_to(db, context, &mut lane, &mut all).await {
            Ok(AppendOutcome::Done) => return Ok(Some(lane)),
            Ok(AppendOutcome::LaneLost) => {}
            Err(error) => {
                // The transaction is rolled back, so the earlier state of the lane is still valid.
                if let Some(lane) = held {
                    context.lanes.give_back(lane);
                }
                return Err(error);
            }
        }
    }
}

/// Computes a salted digest of the personal data, and another one of the origin.
fn cover_personal_data(pending: &mut PendingEntry, context: &ChainContext) {
    let record = &mut pending.record;
    if let Some(origin) = &record.origin {
        let salt = context.salt();
        record.origin_digest = Some(personal_digest(&salt, origin).to_text());
        record.origin_salt = Some(salt);
    }
    if let Some(personal) = &record.personal {
        let salt = context.salt();
        record.personal_digest = Some(personal_digest(&salt, personal).to_text());
        record.salt = Some(salt);
    }
}

/// Numbers the account notifications of each user. The user's row is locked until the commit. So if a device has shown
/// a number, no lower one is committed later.
async fn number_notifications(db: &mut Connection, all: &mut [PendingEntry]) -> Result<()> {
    // All transactions lock the users in one order, so that no two of them deadlock.
    let mut by_user: BTreeMap<String, Vec<&mut PendingEntry>> = BTreeMap::new();
    for pending in all {
        if pending.should_store
            && pending.is_account_notification
            && let Some(user) = pending.record.user.clone()
        {
            by_user.entry(user).or_default().push(pending);
        }
    }
    for (user, entries) in by_user {
        let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        let numbered: Option<(i64,)> = sql::query_as(
            "UPDATE users SET notifications = notifications + $2 WHERE id = $1 RETURNING notifications",
        )
        .bind(user)
        .bind(count)
        .fetch_optional(&mut *db)
        .await?;
        // A user that the transaction deletes has no devices.
        let Some((last,)) = numbered else { continue };
        for (number, pending) in (last - count + 1..).zip(entries) {
            pending.notification = Some(number);
        }
    }
    Ok(())
}

async fn append_to(
    db: &mut Connection,
    context: &ChainContext,
    lane: &mut HeldLane,
    all: &mut [PendingEntry],
) -> Result<AppendOutcome> {
    if !lane.renew_if_due(db).await? {
        return Ok(AppendOutcome::LaneLost);
    }
    let holder = lane.holder.clone();
    chain(context, lane, all)?;
    for rows in all.chunks(ROWS) {
        let expected = rows.iter().filter(|pending| pending.should_store).count() as u64;
        let inserted = insert(db, lane.number, &holder, rows).await?;
        if inserted == expected {
            continue;
        }
        return if inserted == 0 && !lane.is_held(db).await? {
            Ok(AppendOutcome::LaneLost)
        } else {
            // An entry that was left out, because another one has its id, would leave a gap.
            Err(StoreError::Taken("an audit entry's id"))
        };
    }
    Ok(AppendOutcome::Done)
}

/// Assigns the entries their positions after the head of the lane. The last one receives the authentication code of the
/// end.
fn chain(context: &ChainContext, lane: &mut HeldLane, all: &mut [PendingEntry]) -> Result<()> {
    let mut last = None;
    for (index, pending) in all.iter_mut().enumerate() {
        pending.end_code = None;
        pending.record.lane = lane.number;
        if !pending.should_store {
            // Computes the digest only so that an entry that is not stored takes the same time.
            pending.record.follow(&lane.head);
            continue;
        }
        // Within a lane the ids have the order of the positions, so that each partition ends at one position of each
        // lane.
        let id = lane
            .last_id
            .map_or(pending.id, |last| pending.id.max(last.next()));
        pending.record.id = id.to_string();
        lane.last_id = Some(id);
        lane.head = pending.record.follow(&lane.head);
        last = Some(index);
    }
    let known_root = context.newest_root();
    let code = context.end_code(End::Head, lane.number, &lane.head, known_root)?;
    if let Some(pending) = last.and_then(|index| all.get_mut(index)) {
        pending.end_code = Some((known_root, code.to_text()));
    }
    Ok(())
}

macro_rules! insert {
    ($lock:literal) => {
        LazyLock::new(|| {
            BulkSql::new(
                concat!(
                    "INSERT INTO audit_entries (lane, seq, previous, digest, known_root, mac, id, happened_at, event,
                       actor_kind, actor, user_id, application_id, approval_id, detail, personal, personal_salt,
                       personal_digest, notification, origin, origin_salt, origin_digest)
                     SELECT held.lane, v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7,
                       v.column8, v.column9, v.column10, v.column11, v.column12, v.column13, v.column14, v.column15,
                       v.column16, v.column17, v.column18, v.column19, v.column20, v.column21
                     FROM (SELECT lane FROM audit_lanes WHERE lane = $1 AND holder = $2",
                    $lock,
                    ") AS held, (VALUES {($, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $)}) AS v
                     WHERE v.column22 = 1 ON CONFLICT (id) DO NOTHING"
                ),
                2,
            )
        })
    };
}

static SQLITE: LazyLock<BulkSql> = insert!("");
/// An instance that takes the lane waits until this transaction ends.
static POSTGRES: LazyLock<BulkSql> = insert!(" FOR SHARE");

/// Inserts the entries if this instance still holds the lane. Returns their number.
async fn insert(
    db: &mut Connection,
    lane: i64,
    holder: &str,
    rows: &[PendingEntry],
) -> Result<u64> {
    let texts = match db.kind() {
        DatabaseKind::Sqlite => &SQLITE,
        DatabaseKind::Postgres => &POSTGRES,
    };
    let mut query = sql::query(texts.sql_for(rows.len()))
        .bind(lane)
        .bind(holder.to_owned());
    for pending in texts.padded(rows) {
        let record = &pending.record;
        let (known_root, mac) = pending.end_code.clone().unzip();
        query = query
            .bind(record.seq)
            .bind(&record.previous)
            .bind(&record.digest)
            .bind(known_root)
            .bind(mac)
            .bind(&record.id)
            .bind(record.at)
            .bind(&record.event)
            .bind(&record.actor_kind)
            .bind(&record.actor)
            .bind(&record.user)
            .bind(&record.application)
            .bind(&record.approval)
            .bind(&record.detail)
            .bind(&record.personal)
            .bind(&record.salt)
            .bind(&record.personal_digest)
            .bind(pending.notification)
            .bind(&record.origin)
            .bind(&record.origin_salt)
            .bind(&record.origin_digest)
            .bind(pending.should_store);
    }
    Ok(query.execute(db).await?)
}
