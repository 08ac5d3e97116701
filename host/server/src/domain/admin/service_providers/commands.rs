//! Commands about service providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::change::{apply, changed_service_provider};
use super::document::ServiceProviderChange;
use crate::domain::admin::changes::AuditedSettings;
use crate::domain::admin::command::{
    AdminCommand, AdminContext, ApprovedPlan, Execution, Planned, changed_members,
};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::keys::saml_keys;
use crate::domain::protected_actions::{ProtectedAction, ServiceProviderState};
use crate::domain::{Services, audit};
use crate::keys::fresh_did;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::command::{Change, MemberClass};
use assent_model::id::Did;
use assent_model::saml::{NameIdFormat, SamlSettings, ServiceProvider};
use assent_store::VersionedWrite;

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
        let provider = made(services, change.clone())?;
        // No user uses a new service provider yet, so the data that it receives and the receiving addresses are
        // harmless.
        Ok(Planned::harmless(authorization, provider))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<ServiceProvider>,
        by: &AuditContext,
    ) -> Result<Execution<ServiceProvider>> {
        let provider = approved.into_plan();
        let services = &context.services;
        let key = saml_keys::create_first_key(services, &provider.id).await?;
        let entry = audit::entry(services, Event::ApplicationCreated, by)
            .in_application(provider.id.clone());
        let entry = AuditedSettings::of_service_provider(&provider).made(entry);
        services
            .store
            .insert_service_provider(provider.clone(), key, vec![entry])
            .await?;
        tracing::info!(application = %provider.id, "service provider created");
        Ok(Execution::Done(provider))
    }
}

/// Returns a service provider with default settings.
pub(super) fn unnamed(services: &Services, entity_id: String) -> Result<ServiceProvider> {
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
pub(super) fn made(services: &Services, change: ServiceProviderChange) -> Result<ServiceProvider> {
    let entity_id = change.entity_id.clone();
    let entity_id = entity_id.ok_or_else(|| {
        invalid(
            "entity_id",
            "expected the entity ID of the service provider",
        )
    })?;
    let mut provider = unnamed(services, entity_id)?;
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
        context: &AdminContext,
        approved: ApprovedPlan<ServiceProviderUpdate>,
        by: &AuditContext,
    ) -> Result<Execution<ServiceProvider>> {
        let ServiceProviderUpdate { before, after } = approved.into_plan();
        let services = &context.services;
        let entry = audit::entry(services, Event::ApplicationUpdated, by);
        let replaced = replace(services, &before, after, entry).await?;
        Ok(replaced.map_or(Execution::Overtaken, Execution::Done))
    }
}

/// Stores the approved update of a service provider by its metadata. Returns `None` and stores nothing if the service
/// provider changed since the plan read it.
///
/// # Errors
/// If the database fails.
pub async fn replace_service_provider(
    services: &Services,
    approved: ApprovedPlan<ServiceProviderUpdate>,
    by: &AuditContext,
) -> Result<Option<ServiceProvider>> {
    let ServiceProviderUpdate { before, after } = approved.into_plan();
    let entry = audit::entry(services, Event::MetadataApplied, by);
    replace(services, &before, after, entry).await
}

async fn replace(
    services: &Services,
    before: &ServiceProvider,
    mut provider: ServiceProvider,
    entry: Entry,
) -> Result<Option<ServiceProvider>> {
    provider.updated_at = services.now();
    let settings = AuditedSettings::of_service_provider;
    let entry = settings(before).change(
        settings(&provider),
        entry.in_application(provider.id.clone()),
    );
    let written = services
        .store
        .update_service_provider(provider.clone(), entry.into_iter().collect())
        .await?;
    if written == VersionedWrite::Stale {
        return Ok(None);
    }
    provider.version += 1;
    tracing::info!(application = %provider.id, "service provider updated");
    Ok(Some(provider))
}

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
