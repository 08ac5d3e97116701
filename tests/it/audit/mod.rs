//! The hash chain of the audit log, and its readers.

mod chain;
mod changes;
mod commands;
mod export;
mod lanes;
mod pages;
mod stream;

use assent::domain::audit::verify::Verdict;
use assent::domain::audit::verify::verify;
use assent_model::audit::chain::{Break, Record};
use assent_store::Store;
use assent_store::sql::Connection;

/// Verifies the whole log. Returns the verdict.
pub async fn verified(store: &Store) -> Verdict {
    verify(store, None).await.expect("verified")
}

/// Verifies the whole log. Returns the break, if there is one.
pub async fn broken(store: &Store) -> Option<Break> {
    verified(store).await.broken.map(|broken| broken.what)
}

/// Returns the entries of all lanes from the database, the oldest first.
pub async fn all_records(store: &Store) -> Vec<Record> {
    let mut all = Vec::new();
    for lane in store.audit_lanes().await.expect("read") {
        all.extend(store.audit_records(lane, 0, 1000).await.expect("read"));
    }
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

/// Makes changes in the database that the API does not offer.
pub async fn tamper(connection: &mut Connection, statements: &[&str]) {
    for statement in statements {
        connection.batch(statement).await.expect("done");
    }
}
