//! Service providers that a manifest describes: a missing member has the value of a new service provider.

use super::change::apply;
use super::commands::{new_service_provider, unnamed_service_provider};
use super::document::ServiceProviderChange;
use crate::domain::Services;
use crate::domain::admin::{Result, invalid};
use assent_model::saml::ServiceProvider;

/// Returns the service provider that a manifest describes. An existing service provider keeps its identifier, and with
/// it its certificates.
pub(in crate::domain::admin) fn described_service_provider(
    services: &Services,
    change: ServiceProviderChange,
    known: Option<&ServiceProvider>,
) -> Result<ServiceProvider> {
    let Some(known) = known else {
        return new_service_provider(services, change);
    };
    let entity_id = change.entity_id.clone().ok_or_else(|| {
        invalid(
            "entity_id",
            "expected the entity ID of the service provider",
        )
    })?;
    if change.name.is_none() {
        return Err(invalid("name", "expected a name"));
    }
    let fresh = unnamed_service_provider(services, entity_id)?;
    let mut after = ServiceProvider {
        settings: fresh.settings,
        updated_at: fresh.updated_at,
        ..known.clone()
    };
    apply(services, &mut after, change)?;
    Ok(after)
}

/// Returns a service provider with default settings, for comparison with others.
pub(in crate::domain::admin) fn default_service_provider(
    services: &Services,
    entity_id: String,
) -> Result<ServiceProvider> {
    unnamed_service_provider(services, entity_id)
}
