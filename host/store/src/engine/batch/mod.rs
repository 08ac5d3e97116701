//! Batching: calls that wait at the same time share a statement, or a transaction (the DataLoader pattern).

pub(crate) mod batcher;
pub(crate) mod bulk_sql;
pub(crate) mod loader;
