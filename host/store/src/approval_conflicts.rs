//! Conflicts between typed requests that a delegated channel without letters may carry.
//!
//! The user of such a channel compares nothing, so of two requests from two browsers the user could approve an
//! attacker's. None of them may be approved then. An ended request counts until it expires. Otherwise an attacker who
//! asks every few seconds would have every second request carried. Whether there is a conflict follows from typed
//! names, browsers, applications and settings only, never from the user, so it does not reveal which names exist.
//!
//! A refused request conflicts too, whichever limit refuses it. Its page waits for nothing, but its user has just typed
//! the name, and could approve the prompt of a stranger's as their own. Else a stranger would use up a limit on
//! purpose, so that the user's request does not end the stranger's. It has no row; the rows of the name and of the user
//! hold what counts.

use crate::sql::{self, Connection};

use crate::requested_approvals::{ApprovalRequest, RefusedRequest, UnexpiredRequest};
use crate::{Result, deliveries};
use assent_model::approval::RequestKind;
use assent_model::clock::Timestamp;
use assent_model::id::ApprovalId;

/// The column `conflicted` of a request that ended in a conflict, where its page shows the conflict.
pub(crate) const SHOWN: i64 = 1;
/// The same where its page shows nothing.
const HIDDEN: i64 = 2;

/// What conflicts with a request.
#[derive(Debug, Default)]
pub(crate) struct Conflict {
    /// Requests with the same typed name. Their pages and that of the new one show the conflict.
    shown: Vec<String>,
    /// Requests of the same user by another name. Their pages wait to their end, as does that of the new one: a notice
    /// would reveal that both names belong to one user.
    hidden: Vec<String>,
    /// Whether there is any, which may be a refused one without a row.
    is_found: bool,
    /// Whether one is of the same typed name, so that the new one's page says what happened too.
    is_of_name: bool,
}

impl Conflict {
    /// The conflict with the new request, which ends like the others.
    pub(crate) fn including(mut self, new: ApprovalId) -> Self {
        let list = if self.is_of_name {
            &mut self.shown
        } else {
            &mut self.hidden
        };
        list.push(new.to_string());
        self
    }
}

crate::sql::row! {
    /// Refused requests of a name or user that still count.
    pub(crate) struct RefusalRow {
        /// The user's id, or the digest of the typed name.
        subject: String,
        /// The digest of the cookie of their browser; empty if they came from several.
        rejected_browser: String,
    }
}

/// Finds what conflicts with a new request; `None` if it may go its way. `refusals` are those that matter to it.
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
    let mut conflict = conflicting(unexpired, &browser, &name, request.without_binding);
    for refusal in refusals
        .iter()
        .filter(|refusal| refusal.rejected_browser != browser)
    {
        conflict.is_found = true;
        conflict.is_of_name |= refusal.subject == name;
    }
    conflict.is_found.then_some(conflict)
}

/// Whether a request began with a typed name.
pub(crate) fn is_typed(kind: &str) -> bool {
    [
        RequestKind::Typed,
        RequestKind::KnownBrowser,
        RequestKind::StaleBrowser,
    ]
    .iter()
    .any(|one| one.as_str() == kind)
}

/// The requests of other browsers that conflict with one of this browser and name, which itself may be without_binding.
fn conflicting(
    unexpired: &[UnexpiredRequest],
    browser: &str,
    name: &str,
    without_binding: bool,
) -> Conflict {
    let mut conflict = Conflict::default();
    for other in unexpired {
        // Whether one was withdrawn or reported must not be seen on another's page. Neither must a hidden conflict on
        // one of the same name.
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

/// The refused requests of this name and user that still count.
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

/// Ends the requests that a channel without letters may carry and that conflict with a refused one, and has the refused
/// one count from now on. The rows of the name and of the user are locked.
pub(crate) async fn record_refusal(
    db: &mut Connection,
    unexpired: &[UnexpiredRequest],
    refused: &RefusedRequest,
) -> Result<()> {
    let (browser, now) = (refused.browser.to_text(), refused.refused_at);
    let (name, user) = refused.subjects();
    end_requests(db, conflicting(unexpired, &browser, &name, false), now).await?;
    for subject in [name, user] {
        sql::query(
            "UPDATE approval_subjects
             SET rejected_browser = CASE WHEN rejected_until > $2 AND rejected_browser <> $3 THEN '' ELSE $3 END,
                 rejected_until = $4
             WHERE subject = $1",
        )
        .bind(subject)
        .bind(now.millis())
        .bind(browser.clone())
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
        .bind(id.clone())
        .bind(state)
        .bind(now.millis())
        .bind(conflicted)
        .execute(&mut *db)
        .await?;
        deliveries::approval_ended(db, &id).await?;
    }
    Ok(())
}
