//! The stored names of applications' protocols.

/// OpenID Connect.
pub(crate) const OIDC: &str = "oidc";
/// SAML 2.0.
pub(crate) const SAML: &str = "saml";
