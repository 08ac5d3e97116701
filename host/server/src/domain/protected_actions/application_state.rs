//! The states of applications before and after a change, for protected actions.

use serde::{Deserialize, Serialize};

use assent_model::application::{Application, OidcSettings};
use assent_model::command::MemberValue;
use assent_model::saml::{SamlSettings, ServiceProvider};

/// The name and settings of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientState {
    /// The name that users see.
    pub name: String,
    /// The settings.
    pub settings: Box<OidcSettings>,
}

impl ClientState {
    /// Returns the state of this client.
    pub fn from_client(client: &Application) -> Self {
        Self {
            name: client.name.clone(),
            settings: Box::new(client.settings.clone()),
        }
    }
}

/// The name and settings of a service provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceProviderState {
    /// The name that users see.
    pub name: String,
    /// The settings.
    pub settings: Box<SamlSettings>,
}

impl ServiceProviderState {
    /// Returns the state of this service provider.
    pub fn from_provider(provider: &ServiceProvider) -> Self {
        Self {
            name: provider.name.clone(),
            settings: Box::new(provider.settings.clone()),
        }
    }
}

/// A member of a request that changes an application, with its requested value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedMember {
    /// The name of the member in the admin API.
    pub name: String,
    /// The requested value.
    pub value: MemberValue,
}
