//! What the operator does with the whole database, and what the server does for the operator.

pub(crate) mod backlog;
pub(crate) mod backup;
pub(crate) mod bootstrap;
pub(crate) mod diagnosis;
pub(crate) mod instance;
pub(crate) mod instances;
pub(crate) mod overview;
pub(crate) mod retention;
