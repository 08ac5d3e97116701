//! An application as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::admin::{ClientDocument, ServiceProviderDocument, UsageView};
use assent_model::application::RegisteredApplication;
use assent_model::client_registration::RegistrationSource;
use assent_model::management::Management;

/// An application of either protocol.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Application)]
pub(super) enum RegisteredApplicationView {
    Client(Box<ClientDocument>),
    ServiceProvider(Box<ServiceProviderDocument>),
}

impl RegisteredApplicationView {
    /// Adds the usage of the application.
    pub(super) fn with_usage(mut self, usage: UsageView) -> Self {
        match &mut self {
            Self::Client(view) => view.usage = Some(usage),
            Self::ServiceProvider(view) => view.usage = Some(usage),
        }
        self
    }

    /// Adds the source of an application that registered itself.
    pub(super) fn with_registration(mut self, source: Option<RegistrationSource>) -> Self {
        match &mut self {
            Self::Client(view) => view.registered_by = source.map(Into::into),
            Self::ServiceProvider(_) => {}
        }
        self
    }

    /// Adds the manifest that manages the application.
    pub(super) fn with_management(mut self, management: Option<Management>) -> Self {
        let managed_by = management.map(Into::into);
        match &mut self {
            Self::Client(view) => view.managed_by = managed_by,
            Self::ServiceProvider(view) => view.managed_by = managed_by,
        }
        self
    }
}

impl From<RegisteredApplication> for RegisteredApplicationView {
    fn from(application: RegisteredApplication) -> Self {
        match application {
            RegisteredApplication::Client(client) => {
                Self::Client(Box::new(ClientDocument::new(&client)))
            }
            RegisteredApplication::ServiceProvider(provider) => {
                Self::ServiceProvider(Box::new(ServiceProviderDocument::new(&provider)))
            }
        }
    }
}
