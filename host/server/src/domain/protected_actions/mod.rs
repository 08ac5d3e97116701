//! Protected actions: requests in the console that need a new approval on the administrator's own device for exactly
//! that action.
//!
//! [`ProtectedAction`] describes the action in types. [`summarize`] renders it with the current names. The
//! administrator's device shows and signs the text, in its own language. The store keeps the action and the digest of
//! its English summary, and no text. An approval is valid only for the same action with the same summary.

mod action;
mod application_state;
mod application_summary;
mod details_type_summary;
mod escape;
mod group_summary;
mod joined;
mod manifest_object;
mod manifest_summary;
mod moments;
mod past_action;
mod registration_summary;
mod summary;

pub use action::{
    Authenticators, ConfirmedUser, ImportedTable, LinkedUser, ManifestChanges,
    NewRegistrationToken, ProtectedAccountChange, ProtectedAction, ProtectedUserChange,
    RegisteredType,
};
pub use application_state::{ChangedMember, ClientState, ServiceProviderState};
pub use manifest_object::{
    AccessedApplication, ManagedApplication, ManifestObject, NamedApplication,
};
pub use past_action::{ActionTarget, PastAction, TargetNames, outline_of, with_outline};
pub use summary::{Summary, SummaryError, summarize};
