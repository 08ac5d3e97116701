//! Why a client is not authenticated.

/// Why a client was not let in, for its developer. It is told only what whoever knows the Client ID may know.
pub(super) type Reason = &'static str;
