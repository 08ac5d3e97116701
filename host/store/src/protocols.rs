//! The protocols of applications, as they are stored.

/// OpenID Connect.
pub(crate) const OIDC: &str = "oidc";
/// SAML 2.0.
pub(crate) const SAML: &str = "saml";
