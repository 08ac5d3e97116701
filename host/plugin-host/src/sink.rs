//! The destinations of claims.

use serde::{Deserialize, Serialize};

/// The destination of claims. A preview uses the sink that it previews, so a plugin cannot detect a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sink {
    /// OpenID Connect Core 1.0, section 2.
    IdToken,
    /// OpenID Connect Core 1.0, section 5.3.
    Userinfo,
    /// RFC 7662.
    Introspection,
    /// SAML 2.0 Core, section 2.7.3.
    SamlAssertion,
}

impl Sink {
    /// All destinations.
    pub const ALL: [Self; 4] = [
        Self::IdToken,
        Self::Userinfo,
        Self::Introspection,
        Self::SamlAssertion,
    ];

    /// Returns its name in the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdToken => "id-token",
            Self::Userinfo => "userinfo",
            Self::Introspection => "introspection",
            Self::SamlAssertion => "saml-assertion",
        }
    }
}
