//! Takes lanes of the audit log.

use crate::Result;
use crate::audit::context::ChainContext;
use crate::audit::lanes::{HeldLane, LaneSql, lease_millis};
use crate::audit::root;
use crate::sql::{self, Connection};
use assent_model::audit::chain::{End, Mark};
use assent_model::clock::Timestamp;
use assent_model::id::AuditId;
use assent_model::secret::Digest;

/// Takes a lane that nobody holds, within the transaction: the first whose end is authentic, or a new one.
pub(super) async fn acquire(
    db: &mut Connection,
    context: &ChainContext,
    at: Timestamp,
) -> Result<HeldLane> {
    let texts = LaneSql::for_kind(db.kind());
    let holder = context.salt();
    let root = root::read(&mut *db, context).await?;
    let mut after = 0;
    loop {
        let taken: Option<(i64,)> = sql::query_as(texts.take_free)
            .bind(holder.clone())
            .bind(after)
            .bind(lease_millis())
            .fetch_optional(&mut *db)
            .await?;
        let Some((number,)) = taken else { break };
        let known = root
            .authentic
            .then(|| root.root.heads.get(number))
            .flatten();
        if let Some((head, last_id)) = authentic_end(db, context, number, known).await? {
            let noted = known.map_or(0, |known| known.seq);
            let lane = HeldLane::new((number, holder.clone()), (head, last_id), noted);
            if lane.takes(at) {
                return Ok(lane);
            }
        }
        // It stays taken until the lease ends, so the others do not look at it either.
        after = number;
    }
    let (greatest,): (i64,) = sql::query_as(
        "SELECT COALESCE(MAX(lane), 0)
         FROM (SELECT lane FROM audit_lanes UNION ALL SELECT lane FROM audit_anchors) AS known",
    )
    .fetch_one(&mut *db)
    .await?;
    let mut number = root
        .root
        .heads
        .iter()
        .map(|(lane, _)| lane)
        .fold(greatest, i64::max);
    loop {
        number += 1;
        let added = sql::query(texts.add)
            .bind(holder.clone())
            .bind(number)
            .bind(lease_millis())
            .execute(&mut *db)
            .await?;
        if added == 1 && begin(db, context, number).await? {
            return Ok(HeldLane::new((number, holder), (Mark::START, None), 0));
        }
    }
}

/// Sets the anchor of a new lane. Whether the lane had none.
async fn begin(db: &mut Connection, context: &ChainContext, lane: i64) -> Result<bool> {
    let code = context.end_code(End::Anchor, lane, &Mark::START)?;
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

/// The head of a lane and the id of its last entry; `None` if somebody else changed the end. Then nobody appends to the
/// lane any more, so that every verification shows it.
async fn authentic_end(
    db: &mut Connection,
    context: &ChainContext,
    lane: i64,
    in_root: Option<&Mark>,
) -> Result<Option<(Mark, Option<AuditId>)>> {
    let last: Option<(i64, String, Option<String>, String)> = sql::query_as(
        "SELECT seq, digest, mac, id FROM audit_entries WHERE lane = $1 ORDER BY seq DESC, id DESC LIMIT 1",
    )
    .bind(lane)
    .fetch_optional(&mut *db)
    .await?;
    let (end, (seq, digest, mac), last_id) = match last {
        Some((seq, digest, mac, id)) => (
            End::Head,
            (seq, digest, mac.unwrap_or_default()),
            id.parse().ok(),
        ),
        None => {
            let anchor: Option<(i64, String, String)> =
                sql::query_as("SELECT seq, digest, mac FROM audit_anchors WHERE lane = $1")
                    .bind(lane)
                    .fetch_optional(db)
                    .await?;
            (End::Anchor, anchor.unwrap_or_default(), None)
        }
    };
    let digest = Digest::from_text(&digest);
    let mark = Mark {
        seq,
        digest: digest.unwrap_or(Mark::START.digest),
    };
    let is_known = in_root.is_none_or(|known| {
        known.seq < mark.seq || (known.seq == mark.seq && known.digest == mark.digest)
    });
    if digest.is_some() && is_known && context.verify_end(end, lane, &mark, &mac)? {
        return Ok(Some((mark, last_id)));
    }
    context.report_tampering(Some(lane), "the end of a lane is not authentic");
    Ok(None)
}
