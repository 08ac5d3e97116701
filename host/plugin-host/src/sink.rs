//! The destinations of claims.

use serde::{Deserialize, Serialize};

/// The destination of claims. A preview uses the sink that it previews, so a plugin cannot detect a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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
assent_model::enum_texts!(Sink);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_are_serialized_as_their_texts() {
        for variant in Sink::ALL {
            assert_eq!(serde_json::json!(variant), variant.as_str());
        }
    }
}
