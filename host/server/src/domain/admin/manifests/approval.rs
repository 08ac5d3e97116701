//! The changes of a plan for an approval, with the values that the administrator's device shows.

use std::collections::{HashMap, HashSet};

use super::change::{Operation, PlannedChange};
use super::plan::ManifestPlan;
use crate::domain::admin::applications::ClientDocument;
use crate::domain::admin::command::changed_members;
use crate::domain::admin::groups::{AssignmentPlan, MemberPlan};
use crate::domain::admin::service_providers::ServiceProviderDocument;
use crate::domain::protected_actions::{
    AccessedApplication, ClientState, ManagedApplication, ManifestObject, NamedApplication,
    ServiceProviderState,
};
use assent_model::application::Application;
use assent_model::command::Member;
use assent_model::group::Group;
use assent_model::id::Did;
use assent_model::management::ManifestKey;
use assent_model::resource::Document;
use assent_model::saml::ServiceProvider;
use assent_model::user::User;

/// Returns the changes of a plan as a device shows them: first those of receivers and permissions, then deletions, then
/// access.
pub(super) fn shown_objects(plan: &ManifestPlan) -> Vec<ManifestObject> {
    let applications = Applications::of(plan);
    let shown = plan
        .changes
        .iter()
        .map(|change| shown_object(change, &applications));
    let mut shown: Vec<(u8, ManifestObject)> =
        shown.map(|object| (rank(&object), object)).collect();
    shown.sort_by_key(|(rank, _)| *rank);
    shown.into_iter().map(|(_, object)| object).collect()
}

/// The applications of a plan.
struct Applications<'a> {
    names: HashMap<&'a Did, &'a str>,
    /// The applications that the plan creates.
    new: HashSet<&'a Did>,
    /// The applications to which the plan gives access.
    accessed: HashSet<&'a Did>,
}

impl<'a> Applications<'a> {
    fn of(plan: &'a ManifestPlan) -> Self {
        let named = plan.applications.iter();
        let mut applications = Self {
            names: named.map(|(id, name)| (id, name.as_str())).collect(),
            new: HashSet::new(),
            accessed: HashSet::new(),
        };
        for change in &plan.changes {
            match &change.operation {
                Operation::CreateClient(client, _) => applications.new.insert(&client.id),
                Operation::CreateServiceProvider(provider, _) => {
                    applications.new.insert(&provider.id)
                }
                Operation::Assign(assignment) => {
                    applications.accessed.insert(&assignment.application)
                }
                Operation::CreateAccount(one) => {
                    applications.accessed.insert(&one.account.application_id)
                }
                _ => false,
            };
        }
        applications
    }

    fn named_application(&self, id: &Did) -> NamedApplication {
        NamedApplication {
            name: self.name(id),
            id: id.clone(),
        }
    }

    fn accessed_application(&self, id: &Did) -> AccessedApplication {
        AccessedApplication {
            name: self.name(id),
            id: (!self.new.contains(id)).then(|| id.clone()),
        }
    }

    fn name(&self, id: &Did) -> String {
        self.names.get(id).copied().unwrap_or_default().to_owned()
    }
}

const fn rank(object: &ManifestObject) -> u8 {
    match object {
        ManifestObject::Client { .. } | ManifestObject::ServiceProvider { .. } => 0,
        ManifestObject::NewClient { .. } | ManifestObject::NewServiceProvider { .. } => 1,
        ManifestObject::DeletedApplication(..) | ManifestObject::DeletedGroup(_) => 2,
        _ => 3,
    }
}

fn shown_object(change: &PlannedChange, applications: &Applications<'_>) -> ManifestObject {
    let replaced = || roles_before(change);
    match &change.operation {
        Operation::CreateClient(client, _) => ManifestObject::NewClient {
            client: ClientState::from_client(client),
            gives_access: applications.accessed.contains(&client.id),
        },
        Operation::UpdateClient {
            before,
            after,
            adopt,
        } => client(before, after, adopt.as_ref()),
        Operation::CreateServiceProvider(provider, _) => ManifestObject::NewServiceProvider {
            provider: ServiceProviderState::from_provider(provider),
            gives_access: applications.accessed.contains(&provider.id),
        },
        Operation::UpdateServiceProvider {
            before,
            after,
            adopt,
        } => service_provider(before, after, adopt.as_ref()),
        Operation::DeleteApplication(application) => ManifestObject::DeletedApplication(
            application.name().to_owned(),
            application.id().clone(),
        ),
        Operation::ChangeLogo { .. } => ManifestObject::Logo(change.key.clone()),
        Operation::CreateGroup(after, _, members) => group(None, after, None, members),
        Operation::UpdateGroup {
            before,
            after,
            adopt,
            members,
        } => group(Some(before), after, adopt.as_ref(), members),
        Operation::DeleteGroup(group) => ManifestObject::DeletedGroup(group.name.to_string()),
        Operation::Assign(AssignmentPlan {
            application,
            to,
            roles,
        }) => ManifestObject::Assignment {
            application: applications.accessed_application(application),
            group: to.as_ref().map(|group| group.name.to_string()),
            roles: roles.clone(),
            replaced: replaced(),
        },
        Operation::Unassign(AssignmentPlan {
            application, to, ..
        }) => ManifestObject::RemovedAssignment {
            application: applications.named_application(application),
            group: to.as_ref().map(|group| group.name.to_string()),
        },
        Operation::CreateAccount(one) => ManifestObject::Account {
            user: one.user.name.to_string(),
            application: applications.accessed_application(&one.account.application_id),
            roles: one.account.roles.clone(),
            replaced: None,
        },
        Operation::UpdateAccount { before, after } => ManifestObject::Account {
            user: change
                .key
                .split_once('/')
                .map_or("", |(_, user)| user)
                .to_owned(),
            application: applications.accessed_application(&after.application_id),
            roles: after.roles.clone(),
            replaced: Some(before.roles.clone()),
        },
        Operation::DeleteAccount(one) => ManifestObject::DeletedAccount {
            user: one.user.name.to_string(),
            application: applications.named_application(&one.account.application_id),
        },
    }
}

fn client(
    before: &Application,
    after: &Application,
    adopt: Option<&ManifestKey>,
) -> ManifestObject {
    let is_service = |client: &Application| client.settings.is_service_account();
    // For a service account, each change is sensitive.
    let are_all = is_service(before) || is_service(after);
    let members = ClientDocument::new(before).members_to(&ClientDocument::new(after));
    ManifestObject::Client {
        application: managed_application(&before.name, &before.id, &members, are_all, adopt),
        before: ClientState::from_client(before),
        after: ClientState::from_client(after),
    }
}

fn service_provider(
    before: &ServiceProvider,
    after: &ServiceProvider,
    adopt: Option<&ManifestKey>,
) -> ManifestObject {
    let members =
        ServiceProviderDocument::new(before).members_to(&ServiceProviderDocument::new(after));
    ManifestObject::ServiceProvider {
        application: managed_application(&before.name, &before.id, &members, false, adopt),
        before: ServiceProviderState::from_provider(before),
        after: ServiceProviderState::from_provider(after),
    }
}

fn managed_application(
    name: &str,
    id: &Did,
    changed: &[Member],
    are_all: bool,
    adopt: Option<&ManifestKey>,
) -> ManagedApplication {
    let sensitive = changed_members(changed.to_vec(), are_all);
    let is_harmless = sensitive.is_empty();
    ManagedApplication {
        members: match is_harmless {
            true => changed_members(changed.to_vec(), true),
            false => sensitive,
        },
        is_harmless,
        application: NamedApplication {
            name: name.to_owned(),
            id: id.clone(),
        },
        adopted_as: adopt.map(ToString::to_string),
    }
}

fn group(
    before: Option<&Group>,
    after: &Group,
    adopt: Option<&ManifestKey>,
    members: &MemberPlan,
) -> ManifestObject {
    let names = |users: &[User]| {
        let mut names: Vec<String> = users.iter().map(|user| user.name.to_string()).collect();
        names.sort_unstable();
        names
    };
    ManifestObject::Group {
        before: before.map(|group| group.name.to_string()),
        name: after.name.to_string(),
        adopted_as: adopt.map(ToString::to_string),
        added: names(&members.added),
        removed: names(&members.removed),
    }
}

/// Returns the previous roles of an assignment. `None` if it is new.
fn roles_before(change: &PlannedChange) -> Option<Vec<String>> {
    let roles = change.fields.iter().find(|field| field.name == "roles")?;
    serde_json::from_value(roles.before.clone()).ok()
}
