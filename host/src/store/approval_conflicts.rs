//! Conflicts between typed requests that a delegated channel without letters may carry.
//!
//! The user of such a channel compares nothing, so of two requests from two browsers the user could approve a stranger's. None
//! of them may be approved then. An ended request counts until it expires, or a stranger who asks every few seconds would
//! have every second request carried. Whether there is a conflict follows from typed names, browsers, applications and
//! settings only, never from the user, so it does not reveal which names exist.
//!
//! A request that is refused because there are too many ends the carried one too. Its page waits for nothing, but its user has
//! just typed the name, and could approve the prompt of a stranger's as their own.

use sqlx::AnyConnection;

use super::approval_requests::{ApprovalRequest, Unexpired};
use super::{Result, deliveries};
use crate::clock::Timestamp;
use crate::id::ApprovalId;
use crate::model::approval::RequestKind;
use crate::secret::Digest;

/// The column `conflicted` of a request that ended in a conflict of which its page says so.
pub(super) const SHOWN: i64 = 1;
/// The same where its page says nothing.
const HIDDEN: i64 = 2;

/// The requests that conflict with a new one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Those of the same typed name. Their pages and that of the new one say what happened.
    shown: Vec<String>,
    /// Those of the same user by another name. Their pages wait to their end, as does that of the new one: to say it would
    /// reveal that both names belong to one user.
    hidden: Vec<String>,
}

impl Conflict {
    /// The conflict with the new request, which ends like the others.
    pub(super) fn including(mut self, new: ApprovalId) -> Self {
        let list = if self.shown.is_empty() { &mut self.hidden } else { &mut self.shown };
        list.push(new.to_string());
        self
    }
}

/// Finds the requests that conflict with a new one; `None` if it may go its way.
pub(super) fn find(unexpired: &[Unexpired], request: &ApprovalRequest) -> Option<Conflict> {
    if !is_typed(request.kind.as_str()) {
        return None;
    }
    others(unexpired, request.browser, request.approval.name_digest, request.letterless)
}

/// Finds the requests that a channel without letters may carry and that conflict with a typed one that is refused. No channel
/// carries a refused request, so it ends no request that is for the user's devices only.
pub(super) fn find_carried(unexpired: &[Unexpired], request: &ApprovalRequest) -> Option<Conflict> {
    if !is_typed(request.kind.as_str()) {
        return None;
    }
    others(unexpired, request.browser, request.approval.name_digest, false)
}

fn is_typed(kind: &str) -> bool {
    [RequestKind::Typed, RequestKind::KnownBrowser].iter().any(|one| one.as_str() == kind)
}

/// The requests of other browsers of which one is letterless, or all if this one, by the digest of its name, is.
fn others(unexpired: &[Unexpired], browser: Digest, name: Digest, letterless: bool) -> Option<Conflict> {
    let (browser, name) = (browser.to_text(), name.to_text());
    let mut conflict = Conflict::default();
    for other in unexpired {
        // Whether one was withdrawn or reported must not be seen on another's page. Neither must a hidden conflict on one of the
        // same name.
        let is_same_name = other.name_digest == name;
        let ended = other.conflicted == SHOWN || (other.conflicted == HIDDEN && !is_same_name);
        let counts = ended || matches!(other.state.as_str(), "requested" | "withdrawn" | "reported");
        let carried = letterless || other.letterless != 0;
        if !counts || !carried || other.browser == browser || !is_typed(&other.kind) {
            continue;
        }
        let list = if is_same_name { &mut conflict.shown } else { &mut conflict.hidden };
        list.push(other.id.clone());
    }
    (conflict != Conflict::default()).then_some(conflict)
}

/// Ends the requests of a conflict.
pub(super) async fn end(db: &mut AnyConnection, conflict: Conflict, now: Timestamp) -> Result<()> {
    let Conflict { shown, hidden } = conflict;
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
