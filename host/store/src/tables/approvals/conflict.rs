//! Conflicts between typed requests that a delegated channel without letters may carry.
//!
//! The user of such a channel compares nothing, so of two requests from two browsers the user could approve an
//! attacker's. None of them may be approved then. An ended request counts until it expires. Otherwise an attacker with
//! a request every few seconds would have every second request carried. The conflict depends on typed names, browsers,
//! applications and settings only, never on the user. So it does not reveal which names exist.
//!
//! A rejected request conflicts too, no matter which limit rejects it. Its page waits for nothing, but its user has
//! just typed the name, and could approve the prompt of an attacker's request. Otherwise an attacker would exhaust a
//! limit on purpose, so that the user's request does not end the attacker's. A rejected request has no row; the rows of
//! the name and of the user record it.

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::Result;
use crate::tables::approvals::delivery;
use crate::tables::approvals::limit::is_typed;
use crate::tables::approvals::request::{ApprovalRequest, RefusedRequest, UnexpiredRequest};
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// The value of the column `conflicted` for a request that ended in a conflict and shows it on its page.
pub(crate) const SHOWN: i64 = 1;
/// The value for a request that shows nothing on its page.
const HIDDEN: i64 = 2;

/// The requests that conflict with a request.
#[derive(Debug, Default)]
pub(crate) struct Conflict {
    /// Requests with the same typed name. Their pages and that of the new request show the conflict.
    shown: Vec<String>,
    /// Requests of the same user by another name. Their pages wait until the requests expire, as does that of the new
    /// request: a notice would reveal that both names belong to one user.
    hidden: Vec<String>,
    /// Whether there is a conflict. The only conflicting request may be a rejected one, which has no row.
    is_found: bool,
    /// Whether a conflicting request has the same typed name, so that the page of the new request shows the conflict
    /// too.
    is_of_name: bool,
}

impl Conflict {
    /// Adds the new request, which ends like the others.
    pub(crate) fn with_request(mut self, new: ApprovalId) -> Self {
        let list = if self.is_of_name {
            &mut self.shown
        } else {
            &mut self.hidden
        };
        list.push(new.to_string());
        self
    }
}

crate::engine::sql::row! {
    /// Rejected requests of a name or user that still count.
    pub(crate) struct RefusalRow {
        /// The user's id, or the digest of the typed name.
        subject: String,
        /// The digest of the cookie of their browser; empty if they came from several.
        rejected_browser: String,
    }
}

/// Finds the conflicts of a new request; `None` if there are none. `refusals` are the rejected requests that matter to
/// it.
pub(crate) fn find_conflict(
    unexpired: &[UnexpiredRequest],
    refusals: &[RefusalRow],
    request: &ApprovalRequest,
) -> Option<Conflict> {
    if !is_typed(request.kind.as_str()) {
        return None;
    }
    let (browser, name) = (
        request.approval.browser.to_text(),
        request.approval.name_digest.to_text(),
    );
    let mut conflict = conflict_of(unexpired, &browser, &name, request.without_binding);
    for refusal in refusals
        .iter()
        .filter(|refusal| refusal.rejected_browser != browser)
    {
        conflict.is_found = true;
        conflict.is_of_name |= refusal.subject == name;
    }
    conflict.is_found.then_some(conflict)
}

/// The requests of other browsers that conflict with a request of this browser and name. Either of the two must be
/// `without_binding`.
fn conflict_of(
    unexpired: &[UnexpiredRequest],
    browser: &str,
    name: &str,
    without_binding: bool,
) -> Conflict {
    let mut conflict = Conflict::default();
    for other in unexpired {
        // A page must not reveal that a request of another browser was withdrawn or reported. Neither must it reveal a
        // hidden conflict of a request with the same name.
        let is_same_name = other.name_digest == name;
        let ended = other.conflicted == SHOWN || (other.conflicted == HIDDEN && !is_same_name);
        let counts =
            ended || matches!(other.state.as_str(), "requested" | "withdrawn" | "reported");
        let carried = without_binding || other.without_binding != 0;
        if !counts || !carried || other.browser == browser || !is_typed(&other.kind) {
            continue;
        }
        let list = if is_same_name {
            &mut conflict.shown
        } else {
            &mut conflict.hidden
        };
        list.push(other.id.clone());
        conflict.is_found = true;
        conflict.is_of_name |= is_same_name;
    }
    conflict
}

/// The rejected requests of this name and user that still count.
pub(crate) async fn active_refusals(
    db: &mut Connection,
    name: String,
    user: String,
    now: Timestamp,
) -> Result<Vec<RefusalRow>> {
    let rows = sql::query_as(
        "SELECT subject, rejected_browser FROM approval_subjects
         WHERE (subject = $1 OR subject = $2) AND rejected_until > $3",
    )
    .bind(name)
    .bind(user)
    .bind(now.millis())
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Ends the requests that a channel without letters may carry and that conflict with a rejected request. From then on
/// the rejected request counts. The rows of the name and of the user are locked.
pub(crate) async fn record_refusal(
    db: &mut Connection,
    unexpired: &[UnexpiredRequest],
    refused: &RefusedRequest,
) -> Result<()> {
    let (browser, now) = (refused.browser.to_text(), refused.refused_at);
    let (name, user) = refused.subjects();
    end_requests(db, conflict_of(unexpired, &browser, &name, false), now).await?;
    for subject in [name, user] {
        sql::query(
            "UPDATE approval_subjects
             SET rejected_browser = CASE WHEN rejected_until > $2 AND rejected_browser <> $3 THEN '' ELSE $3 END,
                 rejected_until = $4
             WHERE subject = $1",
        )
        .bind(subject)
        .bind(now.millis())
        .bind(&browser)
        .bind(refused.counts_until.millis())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

/// Ends the requests of a conflict.
pub(crate) async fn end_requests(
    db: &mut Connection,
    conflict: Conflict,
    now: Timestamp,
) -> Result<()> {
    let Conflict { shown, hidden, .. } = conflict;
    let shown = shown.into_iter().map(|id| (id, "cancelled", SHOWN));
    for (id, state, conflicted) in
        shown.chain(hidden.into_iter().map(|id| (id, "withdrawn", HIDDEN)))
    {
        sql::query(
            "UPDATE approvals SET state = $2, decided_at = $3, conflicted = $4
             WHERE id = $1 AND state IN ('requested', 'withdrawn', 'reported')",
        )
        .bind(&id)
        .bind(state)
        .bind(now.millis())
        .bind(conflicted)
        .execute(&mut *db)
        .await?;
        delivery::approval_ended(db, &id).await?;
    }
    Ok(())
}
