//! The relay state, which is returned to its sender unchanged.

/// The maximum length of a relay state, in bytes. The standard allows 80 (SAML bindings section 3.4.3), but service
/// providers put complete addresses into it.
pub const RELAY_STATE_BYTES: usize = 2048;

/// The parameter with the relay state.
pub(super) const RELAY_STATE: &str = "RelayState";
