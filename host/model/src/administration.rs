//! Authorization in the admin API: permissions, the roles and scopes that grant them, and the kinds of protected
//! actions.

mod admin_scope;
mod permission;
mod protected_action_kind;

pub use admin_scope::{AdminScope, AdminScopes};
pub use permission::Permission;
pub use protected_action_kind::ProtectedActionKind;

#[cfg(test)]
mod tests;
