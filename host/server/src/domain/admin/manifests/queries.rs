//! The objects that manifests manage.

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result};
use assent_model::application::RegisteredApplication;
use assent_model::management::{Management, ManifestOwner};

/// Those who manage objects, sorted.
///
/// # Errors
/// If the database fails.
pub async fn manifest_owners(services: &Services) -> Result<Vec<ManifestOwner>> {
    Ok(services.store.manifest_owners().await?)
}

/// The application with this key of an owner.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application. Otherwise if the database fails.
pub async fn managed_application(
    services: &Services,
    management: &Management,
) -> Result<RegisteredApplication> {
    services
        .store
        .managed_application(management)
        .await?
        .ok_or(AdminError::NotFound("application"))
}
