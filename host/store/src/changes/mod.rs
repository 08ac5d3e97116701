//! Changes that requests wait for, on all instances.
//!
//! A change is one row of the table `changes`, which is written in the transaction of the change. After the commit the
//! instance that wrote it wakes its own waiters. One poller for each instance reads what other processes wrote.

pub(crate) mod poller;
pub(crate) mod reader;
pub(crate) mod waiters;
