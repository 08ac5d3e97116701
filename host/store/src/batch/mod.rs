//! Batching: calls that wait at the same time share a statement, or a transaction (the DataLoader pattern).

pub(crate) mod batcher;
pub(crate) mod bulk_sql;
pub(crate) mod issuance_queues;
pub(crate) mod loader;
pub(crate) mod token_inserts;
pub(crate) mod token_issuance;
