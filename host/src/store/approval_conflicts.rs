//! Conflicts between typed requests that a delegated channel without letters may carry.
//!
//! The user of such a channel compares nothing, so of two requests from two browsers the user could approve an attacker's. None
//! of them may be approved then. An ended request counts until it expires. Otherwise an attacker who asks every few seconds
//! would have every second request carried. Whether there is a conflict follows from typed names, browsers, applications and
//! settings only, never from the user, so it does not reveal which names exist.

use sqlx::AnyConnection;

use super::approval_requests::{ApprovalRequest, Unexpired};
use super::{Result, deliveries};
use crate::clock::Timestamp;
use crate::id::ApprovalId;
use crate::model::approval::RequestKind;

/// The column `conflicted` of a request that ended in a conflict, where its page shows the conflict.
pub(super) const SHOWN: i64 = 1;
/// The same where its page shows nothing.
const HIDDEN: i64 = 2;

/// The requests that conflict with a new one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Requests with the same typed name. Their pages and that of the new one show the conflict.
    shown: Vec<String>,
    /// Requests of the same user by another name. Their pages wait to their end, as does that of the new one: a notice would
    /// reveal that both names belong to one user.
    hidden: Vec<String>,
}

/// Finds the requests that conflict with a new one; `None` if it may go its way.
pub(super) fn find(unexpired: &[Unexpired], request: &ApprovalRequest) -> Option<Conflict> {
    let is_typed = |kind: &str| [RequestKind::Typed, RequestKind::KnownBrowser].iter().any(|one| one.as_str() == kind);
    if !is_typed(request.kind.as_str()) {
        return None;
    }
    let (browser, name) = (request.browser.to_text(), request.approval.name_digest.to_text());
    let mut conflict = Conflict::default();
    for other in unexpired {
        // Whether one was withdrawn or reported must not be seen on another's page. Neither must a hidden conflict on one of the
        // same name.
        let is_same_name = other.name_digest == name;
        let ended = other.conflicted == SHOWN || (other.conflicted == HIDDEN && !is_same_name);
        let counts = ended || matches!(other.state.as_str(), "requested" | "withdrawn" | "reported");
        let letterless = request.letterless || other.letterless != 0;
        if !counts || !letterless || other.browser == browser || !is_typed(&other.kind) {
            continue;
        }
        let list = if is_same_name { &mut conflict.shown } else { &mut conflict.hidden };
        list.push(other.id.clone());
    }
    (conflict != Conflict::default()).then_some(conflict)
}

/// Ends the new request and all requests in conflict with it.
pub(super) async fn end(db: &mut AnyConnection, conflict: Conflict, new: ApprovalId, now: Timestamp) -> Result<()> {
    let Conflict { mut shown, mut hidden } = conflict;
    let list = if shown.is_empty() { &mut hidden } else { &mut shown };
    list.push(new.to_string());
    let shown = shown.into_iter().map(|id| (id, "cancelled", SHOWN));
    for (id, state, conflicted) in shown.chain(hidden.into_iter().map(|id| (id, "withdrawn", HIDDEN))) {
        sqlx::query(
            "UPDATE approvals SET state = $2, decided_at = $3, conflicted = $4
             WHERE id = $1 AND state IN ('requested', 'withdrawn', 'reported')",
        )
        .bind(id.clone())
        .bind(state)
        .bind(now.millis())
        .bind(conflicted)
        .execute(&mut *db)
        .await?;
        deliveries::wake(db, &id).await?;
    }
    Ok(())
}
