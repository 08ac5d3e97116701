//! Protected actions: what an administrator does in the console only with a fresh approval on their own device, for that very action.
//!
//! [`ProtectedAction`] says what is to be done, in types. [`summarize`] renders it for the administrator, whose device signs the
//! text. The approval holds for the same action with the same summary, and for nothing else.

mod action;
mod application_summary;
pub mod approval;
pub(in crate::domain::admin) mod escape;
mod summary;

pub use action::{
    Authenticators, ChangedMember, ClientState, ImportedTable, ProtectedAccountChange,
    ProtectedAction, ProtectedUserChange, ServiceProviderState,
};
pub use summary::summarize;
