//! Changes for which requests wait, on all instances.
//!
//! A change is one row of the table `changes`, which the transaction of the change writes. After the commit, the
//! instance wakes its own waiters. One poller per instance reads the changes of other processes.

pub(crate) mod poller;
pub(crate) mod reader;
pub(crate) mod waiters;
