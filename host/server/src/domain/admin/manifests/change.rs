//! The changes of a plan.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;
use serde_json::{Value, json};
use url::Url;
use utoipa::ToSchema;

use super::described::Members;
use crate::domain::admin::groups::{AssignmentPlan, MemberPlan};
use assent_model::account::Account;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::group::Group;
use assent_model::id::{Did, GroupId, UserId};
use assent_model::logo::ApplicationLogo;
use assent_model::management::ManifestKey;
use assent_model::saml::ServiceProvider;
use assent_model::user::User;
use assent_store::UserAccount;

/// The action of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// Creates the object.
    Create,
    /// Updates the object.
    Update,
    /// Adopts an object that no manifest manages, and updates it.
    Adopt,
    /// Deletes the object.
    Delete,
}

/// The kind of a managed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ObjectKind {
    /// An application.
    Application,
    /// The logo of an application.
    Logo,
    /// A group.
    Group,
    /// An assignment of an application.
    Assignment,
    /// An account.
    Account,
}
assent_model::enum_texts!(ObjectKind);

/// A changed member of an object. For the members of a group, `before` lists the removed members, and `after` the added
/// ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldChange {
    /// The name of the member in the manifest.
    pub name: String,
    /// The value before; `null` if there was none.
    pub before: Value,
    /// The value after; `null` if there is none.
    pub after: Value,
}

/// A change. Its serialized form contains all effects, so that the digest of a plan covers them.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedChange {
    /// The action.
    pub action: ChangeAction,
    /// The kind of the object.
    pub kind: ObjectKind,
    /// The key of the object. For an assignment, the keys of the application and the group. For an account, the key of
    /// the application and the user name.
    pub key: String,
    /// The identifier of the existing object.
    pub id: Option<String>,
    /// The members that change. For a new object, the members that differ from the default.
    pub fields: Vec<FieldChange>,
    /// The version of the existing object.
    pub(super) version: Option<i64>,
    /// The affected users. The digest includes their identifiers, because the names in the manifest may be those of
    /// other users later.
    pub(super) users: Vec<UserId>,
    #[serde(skip)]
    pub(super) operation: Operation,
}

impl PlannedChange {
    /// Returns the change that creates an object.
    pub(super) fn of_new(
        kind: ObjectKind,
        key: impl Into<String>,
        fields: Vec<FieldChange>,
        operation: Operation,
    ) -> Self {
        Self {
            action: ChangeAction::Create,
            kind,
            key: key.into(),
            id: None,
            fields,
            version: None,
            users: Vec::new(),
            operation,
        }
    }

    /// Returns a change of this version of an object.
    pub(super) fn of_existing(
        action: ChangeAction,
        kind: ObjectKind,
        key: impl Into<String>,
        id: String,
        version: i64,
        fields: Vec<FieldChange>,
        operation: Operation,
    ) -> Self {
        Self {
            action,
            id: Some(id),
            version: Some(version),
            ..Self::of_new(kind, key, fields, operation)
        }
    }

    /// Returns the change with these affected users.
    pub(super) fn concerning(self, users: Vec<UserId>) -> Self {
        Self { users, ..self }
    }
}

/// The effect of a change on the stored objects.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    CreateClient(Box<Application>, ManifestKey),
    UpdateClient {
        before: Box<Application>,
        after: Box<Application>,
        /// The key, if the change adopts the client.
        adopt: Option<ManifestKey>,
    },
    CreateServiceProvider(Box<ServiceProvider>, ManifestKey),
    UpdateServiceProvider {
        before: Box<ServiceProvider>,
        after: Box<ServiceProvider>,
        /// The key, if the change adopts the service provider.
        adopt: Option<ManifestKey>,
    },
    DeleteApplication(RegisteredApplication),
    ChangeLogo {
        application: Did,
        /// The digest of the logo, if the application has one.
        before: Option<String>,
        after: Option<ApplicationLogo>,
    },
    CreateGroup(Group, ManifestKey, MemberPlan),
    UpdateGroup {
        before: Group,
        after: Group,
        /// The key, if the change adopts the group.
        adopt: Option<ManifestKey>,
        members: MemberPlan,
    },
    DeleteGroup(Group),
    Assign(AssignmentPlan),
    Unassign(AssignmentPlan),
    CreateAccount(UserAccount),
    UpdateAccount {
        before: Account,
        after: Account,
    },
    DeleteAccount(UserAccount),
}

/// An image that the server fetches when it applies the manifest.
#[derive(Clone, Debug)]
pub(super) struct LogoFetch {
    /// The place of the address: a JSON pointer (RFC 6901) in the manifest.
    pub(super) pointer: String,
    /// The key of the application.
    pub(super) key: ManifestKey,
    pub(super) application: Did,
    /// The digest of the current logo.
    pub(super) before: Option<String>,
    pub(super) uri: Url,
}

/// The applications and groups that changes delete.
#[derive(Default)]
pub(super) struct Deleted {
    pub(super) applications: HashSet<Did>,
    pub(super) groups: HashSet<GroupId>,
}

impl Deleted {
    pub(super) fn of(changes: &[PlannedChange]) -> Self {
        let mut deleted = Self::default();
        for change in changes {
            match &change.operation {
                Operation::DeleteApplication(application) => {
                    deleted.applications.insert(application.id().clone());
                }
                Operation::DeleteGroup(group) => {
                    deleted.groups.insert(group.id);
                }
                _ => {}
            }
        }
        deleted
    }
}

/// Returns the change of the roles of an assignment or an account.
pub(super) fn roles_change(before: Option<&[String]>, after: Option<&[String]>) -> FieldChange {
    let roles = |roles: Option<&[String]>| roles.map_or(Value::Null, |roles| json!(roles));
    FieldChange {
        name: "roles".to_owned(),
        before: roles(before),
        after: roles(after),
    }
}

/// Returns the members that differ, in the order of their names.
pub(super) fn differences(before: &Members, after: &Members) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .map(|name| FieldChange {
            name: name.clone(),
            before: before.get(name).cloned().unwrap_or_default(),
            after: after.get(name).cloned().unwrap_or_default(),
        })
        .filter(|field| field.before != field.after)
        .collect()
}

/// Returns the change of the members of a group, if there is one.
pub(super) fn member_difference(plan: &MemberPlan) -> Option<FieldChange> {
    let names = |users: &[User]| {
        let mut names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
        names.sort_unstable();
        json!(names)
    };
    (!plan.is_empty()).then(|| FieldChange {
        name: "members".to_owned(),
        before: names(&plan.removed),
        after: names(&plan.added),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_serialized_as_their_texts() {
        for variant in ObjectKind::ALL {
            assert_eq!(serde_json::json!(variant), variant.as_str());
        }
    }
}
