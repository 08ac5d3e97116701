//! Commands about service providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::change::{apply, changed_service_provider};
use super::document::{ProtectedServiceProviderMembers, ServiceProviderChange};
use crate::domain::Services;
use crate::domain::admin::changes::{service_provider_creation, service_provider_update};
use crate::domain::admin::command::{
    AdminCommand, AdminContext, ApprovedPlan, Planned, changed_members,
};
use crate::domain::admin::execution::{Execution, Recorder};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::keys::saml_keys;
use crate::domain::protected_actions::{ProtectedAction, ServiceProviderState};
use crate::keys::fresh_did;
use assent_model::audit::Event;
use assent_model::command::{Change, MemberClass};
use assent_model::id::Did;
use assent_model::saml::{NameIdFormat, SamlSettings, ServiceProvider};

assent_model::admin_command! {
    /// Creates a service provider, with its own key and certificate. Its identifier is a new DID.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateServiceProvider(classified ServiceProviderChange);
}

impl AdminCommand for CreateServiceProvider {
    type Plan = ServiceProvider;
    type Outcome = ServiceProvider;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ServiceProvider>> {
        let (services, Self(change)) = (&context.services, self);
        let authorization = context.caller.authorize_application_writes()?;
        let provider = new_service_provider(services, change.clone())?;
        // No user uses a new service provider yet, so the data that it receives and the receiving addresses are
        // harmless.
        let ProtectedServiceProviderMembers {
            name: _,
            enabled: _,
            entity_id: _,
            acs: _,
            single_logout: _,
            name_id_format: _,
            other_name_id_formats: _,
            name_id_source: _,
            require_signed_requests: _,
            certificates: _,
            custom_attributes: _,
            idp_initiated: _,
            default_relay_state: _,
            relay_states: _,
            clock_skew_seconds: _,
            not_before_margin_seconds: _,
            idp_entity_id: _,
            metadata_url: _,
            passkey_sign_in: _,
            unconfirmed_email: _,
        } = change.protected();
        Ok(Planned::harmless(authorization, provider))
    }

    async fn execute(
        approved: ApprovedPlan<'_, ServiceProvider>,
    ) -> Result<Execution<ServiceProvider>> {
        let (provider, recorder) = approved.into_parts();
        let services = recorder.services;
        let key = saml_keys::create_first_key(services, &provider.id).await?;
        let writes = service_provider_creation(&recorder, provider.clone(), key, None);
        let written = recorder.write(writes).await?;
        Ok(written.map(|()| {
            tracing::info!(application = %provider.id, "service provider created");
            provider
        }))
    }
}

/// Returns a service provider with default settings.
pub(super) fn unnamed_service_provider(
    services: &Services,
    entity_id: String,
) -> Result<ServiceProvider> {
    let now = services.now();
    let mut settings = SamlSettings::new(entity_id);
    // SimpleSAMLphp and mod_auth_mellon request a transient NameID by default, and that format discloses the least.
    settings.name_id.others = BTreeSet::from([NameIdFormat::Transient]);
    Ok(ServiceProvider {
        id: fresh_did()?,
        name: String::new(),
        settings,
        version: 1,
        created_at: now,
        updated_at: now,
    })
}

/// Returns a new service provider that is not stored yet.
pub(super) fn new_service_provider(
    services: &Services,
    change: ServiceProviderChange,
) -> Result<ServiceProvider> {
    let entity_id = change.entity_id.clone();
    let entity_id = entity_id.ok_or_else(|| {
        invalid(
            "entity_id",
            "expected the entity ID of the service provider",
        )
    })?;
    let mut provider = unnamed_service_provider(services, entity_id)?;
    if change.name.is_none() {
        return Err(invalid("name", "expected a name"));
    }
    apply(services, &mut provider, change)?;
    Ok(provider)
}

assent_model::admin_command! {
    /// Updates a service provider.
    #[derive(Clone, Debug, Serialize)]
    pub struct UpdateServiceProvider {
        /// The service provider.
        target application: Did,
        /// The update.
        classified change: ServiceProviderChange,
    }
}

/// A service provider before and after an update.
#[derive(Clone, Debug)]
pub struct ServiceProviderUpdate {
    /// The service provider before the update.
    pub before: ServiceProvider,
    /// The service provider after the update.
    pub after: ServiceProvider,
}

impl AdminCommand for UpdateServiceProvider {
    type Plan = ServiceProviderUpdate;
    type Outcome = ServiceProvider;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ServiceProviderUpdate>> {
        let services = &context.services;
        let authorization = context.caller.authorize_application_writes()?;
        let before = service_provider(services, &self.application).await?;
        context.expected.check(before.version)?;
        let after = changed_service_provider(services, before.clone(), self.change.clone())?;
        let members = self.change.sent_members();
        let is_protected = members
            .iter()
            .any(|member| member.class != MemberClass::Harmless);
        let action = is_protected.then(|| ProtectedAction::UpdateServiceProvider {
            application: before.id.clone(),
            before: ServiceProviderState::from_provider(&before),
            after: ServiceProviderState::from_provider(&after),
            members: changed_members(members, false),
        });
        let plan = ServiceProviderUpdate { before, after };
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, ServiceProviderUpdate>,
    ) -> Result<Execution<ServiceProvider>> {
        let (ServiceProviderUpdate { before, after }, recorder) = approved.into_parts();
        replace(&recorder, Event::ApplicationUpdated, &before, after).await
    }
}

/// Stores the approved update of a service provider by its metadata.
pub async fn replace_service_provider(
    approved: ApprovedPlan<'_, ServiceProviderUpdate>,
) -> Result<Execution<ServiceProvider>> {
    let (ServiceProviderUpdate { before, after }, recorder) = approved.into_parts();
    replace(&recorder, Event::MetadataApplied, &before, after).await
}

async fn replace(
    recorder: &Recorder<'_>,
    event: Event,
    before: &ServiceProvider,
    mut provider: ServiceProvider,
) -> Result<Execution<ServiceProvider>> {
    provider.updated_at = recorder.services.now();
    let writes = service_provider_update(recorder, event, before, provider.clone(), None);
    let written = recorder.write(writes).await?;
    Ok(written.map(|()| {
        provider.version += 1;
        tracing::info!(application = %provider.id, "service provider updated");
        provider
    }))
}

/// Returns the service provider with this identifier.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such SAML application.
pub async fn service_provider(services: &Services, id: &Did) -> Result<ServiceProvider> {
    let found = services.store.service_provider(id).await?;
    found
        .map(Arc::unwrap_or_clone)
        .ok_or(AdminError::NotFound("SAML application"))
}
