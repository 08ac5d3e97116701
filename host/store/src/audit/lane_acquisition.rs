//! Acquires lanes of the audit log.

use crate::Result;
use crate::audit::context::{ANCHOR, ChainContext, EndRow, HEAD};
use crate::audit::lanes::{HeldLane, LaneSql, lease_millis};
use crate::audit::root;
use crate::engine::sql;
use crate::engine::sql::Connection;
use assent_model::audit::chain::{End, Mark, Root};
use assent_model::clock::Timestamp;
use assent_model::id::AuditId;

/// Acquires a lane without a holder, within the transaction: the first one with an authentic end, or a new one.
pub(super) async fn acquire(
    db: &mut Connection,
    context: &ChainContext,
    at: Timestamp,
) -> Result<HeldLane> {
    let texts = LaneSql::for_kind(db.kind());
    let holder = context.salt();
    let root = root::read(&mut *db, context).await?;
    if root.authentic {
        context.note_root(root.root.number);
    }
    // Without an authentic root the log is not authenticated, and every verification reports that.
    let root = root.root;
    let mut after = 0;
    loop {
        let taken: Option<(i64,)> = sql::query_as(texts.take_free)
            .bind(&holder)
            .bind(after)
            .bind(lease_millis())
            .fetch_optional(&mut *db)
            .await?;
        let Some((number,)) = taken else { break };
        if let Some((head, last_id)) = authentic_end(db, context, number, &root).await? {
            let noted = root.heads.seq(number);
            let lane = HeldLane::new(number, holder.clone(), head, last_id, noted);
            if lane.takes(at) {
                return Ok(lane);
            }
        }
        // The lane stays acquired until the lease expires, so other instances skip it too.
        after = number;
    }
    let (greatest,): (i64,) = sql::query_as(
        "SELECT COALESCE(MAX(lane), 0)
         FROM (SELECT lane FROM audit_lanes UNION ALL SELECT lane FROM audit_anchors) AS known",
    )
    .fetch_one(&mut *db)
    .await?;
    let mut number = root
        .heads
        .iter()
        .map(|(lane, _)| lane)
        .fold(greatest, i64::max);
    loop {
        number += 1;
        let added = sql::query(texts.add)
            .bind(&holder)
            .bind(number)
            .bind(lease_millis())
            .execute(&mut *db)
            .await?;
        if added == 1 && begin_lane(db, context, number).await? {
            return Ok(HeldLane::new(number, holder, Mark::START, None, 0));
        }
    }
}

/// Sets the anchor of a new lane. Returns `false` if the lane had one.
pub(crate) async fn begin_lane(
    db: &mut Connection,
    context: &ChainContext,
    lane: i64,
) -> Result<bool> {
    let code = context.end_code(End::Anchor, lane, &Mark::START, 0)?;
    let set = sql::query(
        "INSERT INTO audit_anchors (lane, seq, digest, mac) VALUES ($1, 0, $2, $3) ON CONFLICT (lane) DO NOTHING",
    )
    .bind(lane)
    .bind(Mark::START.digest.to_text())
    .bind(code.to_text())
    .execute(db)
    .await?;
    Ok(set == 1)
}

/// The head of a lane and the id of its last entry; `None` if the end was tampered with. Then no instance appends to
/// the lane any more, so that every verification reports it.
async fn authentic_end(
    db: &mut Connection,
    context: &ChainContext,
    lane: i64,
    root: &Root,
) -> Result<Option<(Mark, Option<AuditId>)>> {
    let head: Option<EndRow> = sql::query_as(HEAD)
        .bind(lane)
        .fetch_optional(&mut *db)
        .await?;
    let (end, row) = match head {
        Some(head) => (End::Head, head),
        None => {
            let anchor: Option<EndRow> =
                sql::query_as(ANCHOR).bind(lane).fetch_optional(db).await?;
            (End::Anchor, anchor.unwrap_or_else(EndRow::before_first))
        }
    };
    let stored = context.stored_end(end, lane, &row)?;
    let mark = stored.mark;
    let in_root = root.heads.get(lane);
    let is_known = in_root.is_none_or(|known| {
        known.seq < mark.seq || (known.seq == mark.seq && known.digest == mark.digest)
    });
    if stored.authentic && is_known && stored.known_root <= root.number {
        let last_id = row.id.and_then(|id| id.parse().ok());
        return Ok(Some((mark, last_id)));
    }
    context.report_tampering(Some(lane), "the end of a lane is not authentic");
    Ok(None)
}
