//! The statements of each subject, over its tables.

pub(crate) mod accounts;
pub(crate) mod administration;
pub(crate) mod applications;
pub(crate) mod approvals;
pub(crate) mod backchannel;
pub(crate) mod caller_checks;
pub(crate) mod client_requests;
pub(crate) mod devices;
pub(crate) mod effective_access;
pub(crate) mod groups;
pub(crate) mod keys;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod tokens;
pub(crate) mod traces;
pub(crate) mod users;
