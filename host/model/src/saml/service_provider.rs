//! SAML service providers.

use super::SamlSettings;
use crate::clock::Timestamp;
use crate::id::Did;

/// A SAML service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProvider {
    /// The `{applicationId}` in the application's paths.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// The settings that an administrator can change.
    pub settings: SamlSettings,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}
