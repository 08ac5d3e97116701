//! The hash chain of the audit log, and its readers.

mod chain;
mod changes;
mod commands;
mod export;
mod lanes;
mod pages;
mod stream;

use assent::domain::audit::{Verdict, verify};
use assent_model::audit::chain::{Break, Record};
use assent_store::Store;
use assent_store::sql::Connection;

/// What a verification of all comes to.
pub async fn verified(store: &Store) -> Verdict {
    verify(store, None).await.expect("looked at")
}

/// The break that a verification of all finds.
pub async fn broken(store: &Store) -> Option<Break> {
    verified(store).await.broken.map(|broken| broken.what)
}

/// The entries of all lanes, as the database has them, the oldest first.
pub async fn all_records(store: &Store) -> Vec<Record> {
    let mut all = Vec::new();
    for lane in store.audit_lanes().await.expect("read") {
        all.extend(store.audit_records(lane, 0, 1000).await.expect("read"));
    }
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

/// Does to the database what its interface has no words for.
pub async fn tamper(connection: &mut Connection, statements: &[&str]) {
    for statement in statements {
        connection.batch(statement).await.expect("done");
    }
}
