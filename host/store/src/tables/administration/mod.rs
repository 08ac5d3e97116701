//! What the admin API stores for itself: its writes, tokens, approvals and idempotent requests.

pub(crate) mod action_approvals;
pub(crate) mod admin_tokens;
pub(crate) mod candidate_approvals;
pub(crate) mod idempotency;
pub(crate) mod idempotent_executions;
pub(crate) mod management;
