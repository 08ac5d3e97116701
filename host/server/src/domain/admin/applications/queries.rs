//! The registered applications.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result};
use assent_model::application::{Application, Protocol, RegisteredApplication};
use assent_model::client_registration::RegistrationSource;
use assent_model::id::Did;
use assent_store::{ApplicationCursor, ApplicationOrder, ApplicationUsage};

/// Returns the OpenID Connect client with this identifier.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such OpenID Connect application.
pub async fn application(services: &Services, id: &Did) -> Result<Application> {
    services
        .store
        .application(id)
        .await?
        .map(Arc::unwrap_or_clone)
        .ok_or(AdminError::NotFound("application"))
}

/// Returns the application with this identifier, of either protocol.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn registered_application(
    services: &Services,
    id: &Did,
) -> Result<RegisteredApplication> {
    services
        .store
        .registered(id)
        .await?
        .ok_or(AdminError::NotFound("application"))
}

/// Returns up to `limit` applications with identifiers after `after`.
pub async fn applications(
    services: &Services,
    after: Option<&Did>,
    limit: u32,
) -> Result<Vec<RegisteredApplication>> {
    Ok(services.store.applications(after, limit).await?)
}

/// A query for applications.
#[derive(Clone, Debug, Default)]
pub struct ApplicationQuery {
    /// The beginning of the name, or a whole identifier. Empty: any.
    pub q: String,
    /// Only applications with this protocol.
    pub protocol: Option<Protocol>,
    /// The order of the list.
    pub order: ApplicationOrder,
    /// The last application of the previous page.
    pub after: Option<ApplicationCursor>,
}

/// Returns up to `limit` matching applications, in the order of the query.
pub async fn find_applications(
    services: &Services,
    query: &ApplicationQuery,
    limit: u32,
) -> Result<Vec<RegisteredApplication>> {
    let ApplicationQuery {
        q,
        protocol,
        order,
        after,
    } = query;
    if let Ok(id) = q.trim().parse::<Did>() {
        let fits = |found: &RegisteredApplication| {
            protocol.is_none_or(|protocol| found.protocol() == protocol)
                && after.as_ref().is_none_or(|after| id > after.id)
        };
        return Ok(services
            .store
            .registered(&id)
            .await?
            .filter(fits)
            .into_iter()
            .collect());
    }
    Ok(services
        .store
        .applications_named(q.trim(), *protocol, *order, after.as_ref(), limit)
        .await?)
}

/// Returns the usage of each of these applications.
pub async fn application_usage(
    services: &Services,
    applications: &[Did],
) -> Result<HashMap<Did, ApplicationUsage>> {
    Ok(services.store.application_usage(applications).await?)
}

/// Returns the initial access tokens with which those of these applications registered themselves that did.
pub async fn registration_sources(
    services: &Services,
    applications: &[Did],
) -> Result<HashMap<Did, RegistrationSource>> {
    Ok(services.store.registration_sources(applications).await?)
}
