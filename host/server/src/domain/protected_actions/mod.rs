//! Protected actions: what an administrator does in the console only with a fresh approval on their own device, for
//! that very action.
//!
//! [`ProtectedAction`] says what is to be done, in types. [`summarize`] renders it with the current names; the
//! administrator's device shows and signs the text, in its own language. The store keeps the action and the digest of
//! its English summary, and no text. An approval holds for the same action with the same summary, and for nothing else.

mod action;
mod application_summary;
mod escape;
mod group_summary;
mod joined;
mod past_action;
mod summary;

pub use action::{
    Authenticators, ChangedMember, ClientState, ImportedTable, ManifestChanges,
    ProtectedAccountChange, ProtectedAction, ProtectedUserChange, ServiceProviderState,
};
pub use past_action::{ActionTarget, PastAction, TargetNames, outline_of, with_outline};
pub use summary::{Summary, SummaryError, summarize};
