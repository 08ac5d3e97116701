//! The hash chain of the audit log, and its readers.

mod chain;
mod changes;
mod commands;
mod export;
mod pages;
mod stream;

use assent::domain::audit::{Verdict, verify};
use assent_model::audit::chain::Break;
use assent_store::Store;
use assent_store::sql::Connection;

/// What a verification of all comes to.
pub async fn verified(store: &Store) -> Verdict {
    verify(store, None).await.expect("looked at")
}

/// The break that a verification of all finds.
pub async fn broken(store: &Store) -> Option<Break> {
    verified(store).await.broken
}

/// Does to the database what its interface has no words for.
pub async fn tamper(connection: &mut Connection, statements: &[&str]) {
    for statement in statements {
        connection.batch(statement).await.expect("done");
    }
}
