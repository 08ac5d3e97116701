//! The state during planning: the owner's objects, and the plan so far.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::change::{ChangeAction, LogoFetch, ObjectKind, PlannedChange};
use crate::domain::Services;
use crate::domain::admin::{AdminContext, AdminError, ManifestError, Result};
use assent_model::application::RegisteredApplication;
use assent_model::caller::Authorization;
use assent_model::group::{Assignment, Group};
use assent_model::id::{Did, GroupId};
use assent_model::management::{ManifestKey, ManifestOwner};
use assent_store::{ExpectedVersions, UserAccount};

/// The objects of a manifest owner.
pub(super) struct OwnerState {
    pub(super) applications: BTreeMap<ManifestKey, RegisteredApplication>,
    pub(super) groups: BTreeMap<ManifestKey, Group>,
    /// The managed assignments of the owner's applications to groups.
    pub(super) assignments: Vec<Assignment>,
    /// The managed assignments of the owner's applications to everyone, with the roles.
    pub(super) everyone: Vec<(Did, Vec<String>)>,
    pub(super) accounts: Vec<UserAccount>,
    application_keys: HashMap<Did, ManifestKey>,
    group_keys: HashMap<GroupId, ManifestKey>,
}

impl OwnerState {
    pub(super) async fn read(services: &Services, owner: &ManifestOwner) -> Result<Self> {
        let store = &services.store;
        let applications = store.managed_applications(owner).await?;
        let groups = store.managed_groups(owner).await?;
        let application_key = |(key, application): &(ManifestKey, RegisteredApplication)| {
            (application.id().clone(), key.clone())
        };
        Ok(Self {
            application_keys: applications.iter().map(application_key).collect(),
            group_keys: groups
                .iter()
                .map(|(key, group)| (group.id, key.clone()))
                .collect(),
            applications: applications.into_iter().collect(),
            groups: groups.into_iter().collect(),
            assignments: store.managed_assignments(owner).await?,
            everyone: store.managed_everyone(owner).await?,
            accounts: store.managed_accounts(owner).await?,
        })
    }

    /// Returns whether the owner manages objects other than applications.
    pub(super) fn has_access(&self) -> bool {
        !(self.groups.is_empty()
            && self.assignments.is_empty()
            && self.everyone.is_empty()
            && self.accounts.is_empty())
    }

    /// Returns the key of one of the owner's applications.
    pub(super) fn application_key(&self, id: &Did) -> Option<&ManifestKey> {
        self.application_keys.get(id)
    }

    /// Returns the key of one of the owner's groups.
    pub(super) fn group_key(&self, id: GroupId) -> Option<&ManifestKey> {
        self.group_keys.get(&id)
    }
}

/// An object to which other objects of the manifest refer.
#[derive(Clone, Debug)]
pub(super) struct Referenced<T> {
    pub(super) id: T,
    /// The version of the existing object; `None` for a new object.
    pub(super) version: Option<i64>,
}

/// The existing object that a manifest names.
#[derive(Clone, Debug)]
pub(super) enum Existing<T> {
    /// There is no such object.
    None,
    /// An object of the owner.
    Owned(T),
    /// An object that no manifest manages, and which the owner adopts.
    Adopted(T),
}

impl<T> Existing<T> {
    pub(super) const fn object(&self) -> Option<&T> {
        match self {
            Self::None => None,
            Self::Owned(object) | Self::Adopted(object) => Some(object),
        }
    }

    /// Returns the action of a change of the existing object.
    pub(super) const fn update(&self) -> ChangeAction {
        match self {
            Self::Adopted(_) => ChangeAction::Adopt,
            Self::None | Self::Owned(_) => ChangeAction::Update,
        }
    }

    pub(super) const fn is_adopted(&self) -> bool {
        matches!(self, Self::Adopted(_))
    }
}

/// The treatment of the owner's objects that the manifest does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnnamedObjects {
    /// They are not part of the plan.
    Ignored,
    /// They remain, and a warning names each.
    Retained,
    /// They are deleted.
    Deleted,
}

/// The plan so far.
pub(super) struct Planner<'a> {
    pub(super) context: &'a AdminContext,
    pub(super) unnamed: UnnamedObjects,
    pub(super) state: OwnerState,
    pub(super) changes: Vec<PlannedChange>,
    /// The logos that the execution fetches.
    pub(super) logo_fetches: Vec<LogoFetch>,
    pub(super) warnings: Vec<String>,
    pub(super) errors: Vec<ManifestError>,
    pub(super) expected: ExpectedVersions,
    pub(super) authorizations: Vec<Authorization>,
    /// The keys of the manifest's applications and groups, valid or not.
    pub(super) described: HashSet<(ObjectKind, ManifestKey)>,
}

/// The position of an object in the manifest.
pub(super) struct ManifestPosition<'a> {
    /// The list.
    pub(super) list: &'static str,
    /// The index of the object in the list.
    pub(super) index: usize,
    /// The key, for messages.
    pub(super) key: &'a str,
}

impl ManifestPosition<'_> {
    /// Returns the JSON pointer (RFC 6901) of a member of the object.
    pub(super) fn pointer(&self, field: &str) -> String {
        let Self { list, index, .. } = self;
        format!("/manifest/{list}/{index}/{field}")
    }
}

impl Planner<'_> {
    /// Records an error of an object.
    pub(super) fn reject(
        &mut self,
        position: &ManifestPosition<'_>,
        field: &str,
        detail: impl AsRef<str>,
    ) {
        let (key, detail) = (position.key, detail.as_ref());
        self.errors.push(ManifestError {
            pointer: position.pointer(field),
            detail: format!("{key}: {detail}"),
        });
    }

    /// Records the error of a rule about an object. Returns `None` after such an error.
    ///
    /// # Errors
    /// All errors that are not about a value of the object, such as a missing permission.
    pub(super) fn accept<T>(
        &mut self,
        position: &ManifestPosition<'_>,
        result: Result<T>,
    ) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(AdminError::Invalid { field, expected }) => {
                self.reject(position, field, expected);
                Ok(None)
            }
            Err(AdminError::TakenAt(field, why)) => {
                self.reject(position, field, why);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Records that an object refers to another one that does not exist. If the manifest describes the other object, an
    /// error about it was recorded already.
    pub(super) fn reject_reference(
        &mut self,
        position: &ManifestPosition<'_>,
        kind: ObjectKind,
        key: &ManifestKey,
    ) {
        let is_noted = !self.errors.is_empty() && self.described.contains(&(kind, key.clone()));
        if !is_noted {
            let kind = kind.as_str();
            self.reject(
                position,
                kind,
                format!("there is no {kind} with the key {key}"),
            );
        }
    }

    /// Returns whether an object of the owner that the manifest does not name is deleted. Adds a warning about an
    /// object that remains.
    pub(super) fn deletes(&mut self, kind: ObjectKind, key: &str) -> bool {
        match self.unnamed {
            UnnamedObjects::Ignored => return false,
            UnnamedObjects::Deleted => return true,
            UnnamedObjects::Retained => {}
        }
        self.warnings.push(format!(
            "the {} {key} is not in the manifest; it stays; set prune (--prune) to delete it",
            kind.as_str()
        ));
        false
    }
}
