//! The entries that the running transaction adds to the audit log. Its last step chains them.

use std::cell::RefCell;
use std::future::Future;

use serde_json::{Map, Value};

use crate::engine::rows::to_json;
use crate::{Result, StoreError};
use assent_model::audit::chain::Record;
use assent_model::audit::{Entry, Event};
use assent_model::id::AuditId;

/// An entry that is not in the log yet.
#[derive(Clone)]
pub(super) struct PendingEntry {
    pub(super) event: Event,
    pub(super) record: Record,
    pub(super) id: AuditId,
    /// Whether it is stored. An entry that is not stored costs the same time.
    pub(super) should_store: bool,
    pub(super) is_account_notification: bool,
    /// The number among the user's account notifications.
    pub(super) notification: Option<i64>,
    /// The known root and the authentication code of the lane's end, in the last entry of the transaction.
    pub(super) end_code: Option<(i64, String)>,
}

tokio::task_local! {
    /// The entries that the running transaction has added so far, in their order.
    static PENDING: RefCell<Vec<PendingEntry>>;
}

/// The entries that a transaction adds to the log.
pub(crate) struct PendingEntries(pub(super) Vec<PendingEntry>);

impl PendingEntries {
    /// The events of the entries that are stored.
    pub(crate) fn events(&self) -> Vec<Event> {
        let stored = self.0.iter().filter(|pending| pending.should_store);
        stored.map(|pending| pending.event).collect()
    }
}

/// Runs the work of a transaction. Returns its outcome and its entries.
pub(crate) async fn collect<T, E>(
    work: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<(T, PendingEntries), E> {
    let with_entries = async {
        let outcome = work.await?;
        Ok((
            outcome,
            PendingEntries(PENDING.try_with(RefCell::take).unwrap_or_default()),
        ))
    };
    PENDING.scope(RefCell::default(), with_entries).await
}

/// Returns a copy of the entries that the running transaction has added so far.
pub(crate) fn pending_entries() -> PendingEntries {
    PendingEntries(
        PENDING
            .try_with(|all| all.borrow().clone())
            .unwrap_or_default(),
    )
}

/// Restores the entries to the state of the copy.
pub(crate) fn restore(PendingEntries(before): PendingEntries) {
    // Without a transaction there are no pending entries.
    let _ = PENDING.try_with(|all| all.replace(before));
}

/// Adds an entry to the running transaction, which chains it later.
pub(super) fn add(entry: &Entry, should_store: bool) -> Result<()> {
    let pending = PendingEntry {
        event: entry.event,
        record: record(entry)?,
        id: entry.id,
        should_store,
        is_account_notification: entry.event.is_account_notification(),
        notification: None,
        end_code: None,
    };
    PENDING
        .try_with(|all| all.borrow_mut().push(pending))
        .map_err(|_| StoreError::Chain(OUTSIDE.to_owned()))
}

const OUTSIDE: &str = "an entry was added outside of a write transaction";

/// Erases the personal data in this transaction's pending entries about a user, and the origin in those of the user's
/// actions.
pub(super) fn erase_pending(user: &str) {
    // Without a transaction there are no pending entries.
    let _ = PENDING.try_with(|all| {
        for pending in all.borrow_mut().iter_mut() {
            if pending.record.user.as_deref() == Some(user) {
                pending.record.personal = None;
            }
            if pending.record.is_by_user(user) {
                pending.record.origin = None;
            }
        }
    });
}

/// The entry without its place in the log.
fn record(entry: &Entry) -> Result<Record> {
    let (origin, personal) = entry.origin_apart();
    let some_json =
        |members: &Map<String, Value>| (!members.is_empty()).then(|| to_json(members)).transpose();
    Ok(Record {
        lane: 0,
        seq: 0,
        previous: String::new(),
        digest: String::new(),
        id: entry.id.to_string(),
        at: entry.at.millis(),
        event: entry.event.as_str().to_owned(),
        actor_kind: entry.actor.kind().to_owned(),
        actor: entry.actor.id(),
        user: entry.user.map(|user| user.to_string()),
        application: entry.application.as_ref().map(ToString::to_string),
        approval: entry.approval.map(|approval| approval.to_string()),
        detail: to_json(&entry.detail)?,
        personal: some_json(&personal)?,
        salt: None,
        personal_digest: None,
        origin: some_json(&origin)?,
        origin_salt: None,
        origin_digest: None,
    })
}
