//! The settings of OpenID Connect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// OpenID Connect.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oidc {
    /// Requires each application to push its authorization requests (RFC 9126). `false` leaves that to the setting of
    /// the application.
    pub require_pushed_authorization_requests: bool,
    /// Requires a nonce of the server in each DPoP proof (RFC 9449 section 8). Then the clocks of clients do not
    /// matter, and each client needs a second request about once in five minutes.
    pub dpop_nonces: bool,
}
