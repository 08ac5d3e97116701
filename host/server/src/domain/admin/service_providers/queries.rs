//! The registered service providers.

use std::sync::Arc;

use crate::domain::admin::{AdminError, Result};
use crate::domain::services::Services;
use assent_model::id::Did;
use assent_model::saml::ServiceProvider;

/// Returns the service provider with this identifier.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such SAML application. Otherwise if the database fails.
pub async fn service_provider(services: &Services, id: &Did) -> Result<ServiceProvider> {
    let found = services.store.service_provider(id).await?;
    found
        .map(Arc::unwrap_or_clone)
        .ok_or(AdminError::NotFound("SAML application"))
}
