//! The rows of the activity page. Entries of the audit log about one event share a row: a request and its answer; an
//! approval and the sign-in or the recovery codes that it permitted.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::pages::{ActivityRow, AnsweredRequest};
use crate::domain::protected_actions::outline_of;
use crate::messages::Message;
use assent_model::administration::ProtectedActionKind;
use assent_model::audit::{Actor, Entry, Event};
use assent_store::StoredEntry;

/// The longest time between an approval and the end of the approved sign-in or action.
const COMPLETION: Duration = Duration::from_secs(30 * 60);
/// A row shows the time of its request if the answer came later by more than this.
const PROMPT_ANSWER: Duration = Duration::from_secs(60);

/// An entry, its row, and its request.
struct Folding {
    entry: StoredEntry,
    row: ActivityRow,
    request: Option<(StoredEntry, ActivityRow)>,
}

/// The rows of the entries of a page, the latest first. An entry whose counterpart is on another page has a row of its
/// own.
pub(super) fn folded_rows(rows: Vec<(StoredEntry, ActivityRow)>) -> Vec<ActivityRow> {
    with_approvals(with_requests(rows))
        .into_iter()
        .map(row_with_request)
        .collect()
}

/// Moves each request to its answer.
fn with_requests(rows: Vec<(StoredEntry, ActivityRow)>) -> VecDeque<Folding> {
    let answered: HashSet<String> = rows
        .iter()
        .filter(|(entry, _)| is_answer(entry.event))
        .filter_map(|(entry, _)| request_of(entry))
        .map(str::to_owned)
        .collect();
    let is_part = |entry: &Entry| {
        entry.event == Event::SignInRequested
            && request_of(entry).is_some_and(|id| answered.contains(id))
    };
    let (parts, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(entry, _)| is_part(entry));
    let mut requests: HashMap<String, (StoredEntry, ActivityRow)> = parts
        .into_iter()
        .filter_map(|part| Some((request_of(&part.0)?.to_owned(), part)))
        .collect();
    let with_request = |(entry, row): (StoredEntry, ActivityRow)| {
        let request = request_of(&entry)
            .filter(|_| is_answer(entry.event))
            .and_then(|id| requests.remove(id));
        Folding {
            entry,
            row,
            request,
        }
    };
    others.into_iter().map(with_request).collect()
}

/// Moves each approval to the entry of the approved sign-in or action.
fn with_approvals(mut rest: VecDeque<Folding>) -> Vec<Folding> {
    let mut joined = Vec::with_capacity(rest.len());
    while let Some(mut later) = rest.pop_front() {
        let approval = rest.iter().position(|earlier| belongs_to(earlier, &later));
        if let Some(approval) = approval.and_then(|index| rest.remove(index)) {
            later.row.approved = Some(if is_by_passkey(&approval.entry) {
                Message::new("activity-approved-by-passkey")
            } else {
                approval
                    .row
                    .by
                    .map_or(Message::new("activity-approved-only"), |by| {
                        Message::new("activity-approved-by").message("by", by)
                    })
            });
            later.request = approval.request;
        }
        joined.push(later);
    }
    joined
}

/// Whether an approval belongs to a later entry: for the same application or action, shortly before, and in the same
/// browser as far as the entries name one.
fn belongs_to(approval: &Folding, later: &Folding) -> bool {
    let (approved, done) = (&approval.entry, &later.entry);
    let action = outline_of(approved).map(|outline| outline.kind);
    let is_of_kind = match done.event {
        Event::SignedIn => {
            action.is_none()
                && approved.application == done.application
                && done.detail.get("new_session") == Some(&true.into())
        }
        // A device creates codes without an approval.
        Event::RecoveryCodesCreated => {
            action == Some(ProtectedActionKind::CreateRecoveryCodes)
                && matches!(done.actor, Actor::User(_))
        }
        _ => false,
    };
    is_of_kind
        && approved.event == Event::SignInApproved
        && done.at <= approved.at + COMPLETION
        && match (asking_browser(approval), browser_of(done)) {
            (Some(asking), Some(browser)) => asking == browser,
            _ => true,
        }
}

/// The browser that requested an approval, unless a device did by scanning its code.
fn asking_browser(approval: &Folding) -> Option<&str> {
    if is_by_passkey(&approval.entry) {
        return browser_of(&approval.entry);
    }
    let request = approval.request.as_ref().map(|(request, _)| request)?;
    browser_of(request).filter(|_| !is_by_device(request))
}

/// Returns the row with the details of its request. There are none if the request came shortly before, from the same
/// browser and place.
fn row_with_request(
    Folding {
        entry,
        row,
        request,
    }: Folding,
) -> ActivityRow {
    let request = request.filter(|(request, requested)| {
        let is_scan = row.approved.is_some() && is_by_device(request);
        !is_scan
            && (entry.at > request.at + PROMPT_ANSWER
                || row.browser != requested.browser
                || row.place != requested.place)
    });
    let request = request.map(|(_, requested)| AnsweredRequest {
        when: requested.when,
        place: requested.place,
        browser: requested.browser,
    });
    ActivityRow { request, ..row }
}

fn request_of(entry: &Entry) -> Option<&str> {
    entry.detail.get("request").and_then(Value::as_str)
}

fn browser_of(entry: &Entry) -> Option<&str> {
    entry.personal.get("browser").and_then(Value::as_str)
}

const fn is_by_device(entry: &Entry) -> bool {
    matches!(entry.actor, Actor::Device(_))
}

fn is_by_passkey(entry: &Entry) -> bool {
    entry.detail.get("method").and_then(Value::as_str) == Some("passkey")
}

const fn is_answer(event: Event) -> bool {
    matches!(
        event,
        Event::SignInApproved
            | Event::SignInDenied
            | Event::SignInReported
            | Event::SignInCancelled
            | Event::SignInExpired
    )
}
