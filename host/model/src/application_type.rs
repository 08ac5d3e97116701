//! The three types of OpenID Connect applications.

use serde::{Deserialize, Serialize};

/// The application types of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApplicationType {
    /// Confidential: runs on a server and keeps a secret.
    Web,
    /// Public: runs in a browser.
    Spa,
    /// Public: runs on a user's device.
    Native,
}

impl ApplicationType {
    /// Returns the name in the admin API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Spa => "spa",
            Self::Native => "native",
        }
    }

    /// Whether the application authenticates at the token endpoint.
    pub const fn is_confidential(self) -> bool {
        matches!(self, Self::Web)
    }
}
