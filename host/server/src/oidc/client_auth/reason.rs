//! The reason of a failed client authentication.

/// The reason of a failed client authentication, for the client's developer. It contains only facts that every client
/// with knowledge of the client ID may know.
pub(super) type Reason = &'static str;
