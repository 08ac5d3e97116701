//! The database itself: connections, statements, the writer, batches, changes and migrations.

pub(crate) mod batch;
pub(crate) mod changes;
pub(crate) mod checkpoints;
pub(crate) mod claimed_messages;
pub(crate) mod clock_guard;
pub(crate) mod connect;
pub(crate) mod connections;
pub(crate) mod database_url;
pub(crate) mod deferred;
pub(crate) mod locked_rows;
pub(crate) mod measurements;
pub(crate) mod metrics;
pub(crate) mod migrations;
pub(crate) mod outbox;
pub(crate) mod partitions;
pub(crate) mod postgres_url;
pub(crate) mod rows;
pub mod sql;
pub(crate) mod transactions;
pub(crate) mod under_way;
pub(crate) mod versioned_cache;
pub(crate) mod writer;
