//! The security profiles of an OpenID Connect client, and their algorithms.

use serde::{Deserialize, Serialize};

/// A security profile. Beside the rules for the settings, an application with a profile has codes of 60 seconds and
/// refresh tokens that are not rotated, and signs only with the algorithms of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum SecurityProfile {
    /// FAPI 2.0 Security Profile.
    Fapi2,
    /// FAPI 2.0 Message Signing: the same with signed requests.
    Fapi2MessageSigning,
    /// FAPI: Client Initiated Backchannel Authentication Profile, with the rules of FAPI 1.0 for its tokens.
    FapiCiba,
}
crate::enum_texts!(SecurityProfile);

impl SecurityProfile {
    /// The algorithms with which applications and this server sign (FAPI 2.0 Security Profile section 5.4.1, FAPI 1.0
    /// Advanced section 8.6).
    pub const fn algorithms(self) -> &'static [&'static str] {
        match self {
            Self::Fapi2 | Self::Fapi2MessageSigning => &["PS256", "ES256", "EdDSA"],
            Self::FapiCiba => &["PS256", "ES256"],
        }
    }
}
