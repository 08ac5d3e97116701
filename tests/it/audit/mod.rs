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
use sqlx::{AnyConnection, AssertSqlSafe};

/// What a verification of all comes to.
pub async fn verified(store: &Store) -> Verdict {
    verify(store, None).await.expect("looked at")
}

/// The break that a verification of all finds.
pub async fn broken(store: &Store) -> Option<Break> {
    verified(store).await.broken
}

/// Does to the database what its interface has no words for.
pub async fn tamper(connection: &mut AnyConnection, statements: &[&str]) {
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe((*statement).to_owned()))
            .execute(&mut *connection)
            .await
            .expect("done");
    }
}
