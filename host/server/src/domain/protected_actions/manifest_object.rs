//! The changes of a manifest, with the values that the administrator's device shows.

use serde::{Deserialize, Serialize};

use super::application_state::{ChangedMember, ClientState, ServiceProviderState};
use assent_model::id::Did;
use assent_model::name::LoginName;

/// A change of a manifest. Names are those at the time of the plan, whose versions the approval covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestObject {
    /// Creates a client.
    NewClient {
        /// The client.
        client: ClientState,
        /// Whether the same manifest gives users access to it.
        gives_access: bool,
    },
    /// Creates a service provider.
    NewServiceProvider {
        /// The service provider.
        provider: ServiceProviderState,
        /// Whether the same manifest gives users access to it.
        gives_access: bool,
    },
    /// Updates a client.
    Client {
        /// The client.
        application: ManagedApplication,
        /// The client before the update.
        before: ClientState,
        /// The client after the update.
        after: ClientState,
    },
    /// Updates a service provider.
    ServiceProvider {
        /// The service provider.
        application: ManagedApplication,
        /// The service provider before the update.
        before: ServiceProviderState,
        /// The service provider after the update.
        after: ServiceProviderState,
    },
    /// Deletes an application with this name and identifier.
    DeletedApplication(String, Did),
    /// Changes the logo of the application with this key.
    Logo(String),
    /// Creates a group, or changes its name, its description or its members.
    Group {
        /// The previous name. `None` for a new group.
        before: Option<String>,
        /// The name.
        name: String,
        /// The key, if the owner adopts the group.
        adopted_as: Option<String>,
        /// The names of the added members.
        added: Vec<String>,
        /// The names of the removed members.
        removed: Vec<String>,
    },
    /// Deletes a group with this name.
    DeletedGroup(String),
    /// Assigns an application.
    Assignment {
        /// The application.
        application: AccessedApplication,
        /// The name of the group. `None` for everyone.
        group: Option<String>,
        /// The roles.
        roles: Vec<String>,
        /// The previous roles. `None` if the assignment is new.
        replaced: Option<Vec<String>>,
    },
    /// Removes an assignment.
    RemovedAssignment {
        /// The application.
        application: NamedApplication,
        /// The name of the group. `None` for everyone.
        group: Option<String>,
    },
    /// Creates an account, or changes its roles.
    Account {
        /// The name of the user.
        user: String,
        /// The application.
        application: AccessedApplication,
        /// The roles.
        roles: Vec<String>,
        /// The previous roles. `None` if the account is new.
        replaced: Option<Vec<String>>,
    },
    /// Deletes an account.
    DeletedAccount {
        /// The name of the user.
        user: String,
        /// The application.
        application: NamedApplication,
    },
}

/// An application by its name and identifier. Other applications may have the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedApplication {
    /// The name.
    pub name: String,
    /// The identifier.
    pub id: Did,
}

/// An application to which a manifest gives access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessedApplication {
    /// The name.
    pub name: String,
    /// The identifier. `None` if the same manifest creates the application, because each plan would have another
    /// identifier, and an approval is only for the same action.
    pub id: Option<Did>,
}

/// An existing application that a manifest changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedApplication {
    /// The application, with its name before the change.
    pub application: NamedApplication,
    /// The changed members: those that are not harmless, if there are some.
    pub members: Vec<ChangedMember>,
    /// Whether all changed members are harmless.
    pub is_harmless: bool,
    /// The key, if the owner adopts the application.
    pub adopted_as: Option<String>,
}

impl ManifestObject {
    /// Returns the names of users in the change, in the form in which names are compared.
    pub(super) fn login_names(&self) -> Vec<LoginName> {
        let names: Vec<&String> = match self {
            Self::Group { added, removed, .. } => added.iter().chain(removed).collect(),
            Self::Account { user, .. } | Self::DeletedAccount { user, .. } => vec![user],
            Self::NewClient { .. }
            | Self::NewServiceProvider { .. }
            | Self::Client { .. }
            | Self::ServiceProvider { .. }
            | Self::DeletedApplication(..)
            | Self::Logo(_)
            | Self::DeletedGroup(_)
            | Self::Assignment { .. }
            | Self::RemovedAssignment { .. } => Vec::new(),
        };
        // The plan has found a user by each of these names, so all of them are names.
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Whether a device must show the change. The others grant no access and change no receiver: a new application
    /// without admin scopes, because no user uses it, unless the manifest gives access to it; a new group without
    /// members; and changes of logos, descriptions and harmless members.
    pub(super) fn is_sensitive(&self) -> bool {
        match self {
            Self::NewClient {
                client,
                gives_access,
            } => *gives_access || client.settings.is_service_account(),
            Self::NewServiceProvider { gives_access, .. } => *gives_access,
            Self::Logo(_) => false,
            Self::Client { application, .. } | Self::ServiceProvider { application, .. } => {
                !application.is_harmless || application.adopted_as.is_some()
            }
            Self::Group {
                before,
                name,
                adopted_as,
                added,
                removed,
            } => {
                before.as_ref().is_some_and(|before| before != name)
                    || adopted_as.is_some()
                    || !added.is_empty()
                    || !removed.is_empty()
            }
            Self::DeletedApplication(..)
            | Self::DeletedGroup(_)
            | Self::Assignment { .. }
            | Self::RemovedAssignment { .. }
            | Self::Account { .. }
            | Self::DeletedAccount { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(object: &ManifestObject) -> Vec<String> {
        let names = object.login_names();
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_names_of_users_have_the_form_in_which_names_are_compared() {
        let group = ManifestObject::Group {
            before: None,
            name: "Staff".to_owned(),
            adopted_as: None,
            added: vec!["ada".to_owned()],
            removed: vec!["bob".to_owned()],
        };
        assert_eq!(names(&group), ["ada", "bob"]);
        // The plan has the name of an existing account as the manifest spells it.
        let account = ManifestObject::Account {
            user: "Ada@Example.ORG".to_owned(),
            application: AccessedApplication {
                name: "Wiki".to_owned(),
                id: None,
            },
            roles: Vec::new(),
            replaced: None,
        };
        assert_eq!(names(&account), ["ada@example.org"]);
        assert!(names(&ManifestObject::DeletedGroup("ada".to_owned())).is_empty());
    }
}
