//! The objects that manifests manage.

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result};
use assent_model::application::RegisteredApplication;
use assent_model::id::{Did, GroupId};
use assent_model::management::{Management, ManifestOwner};

/// Returns the owners of managed objects, sorted.
pub async fn manifest_owners(services: &Services) -> Result<Vec<ManifestOwner>> {
    Ok(services.store.manifest_owners().await?)
}

/// Returns the application with this key of an owner.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
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

/// Returns the owner and key of an application that a manifest manages.
pub async fn management_of_application(
    services: &Services,
    application: &Did,
) -> Result<Option<Management>> {
    Ok(services
        .store
        .management_of_application(application)
        .await?)
}

/// Returns the owner and key of a group that a manifest manages.
pub async fn management_of_group(
    services: &Services,
    group: GroupId,
) -> Result<Option<Management>> {
    Ok(services.store.management_of_group(group).await?)
}
