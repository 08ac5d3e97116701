//! Plans: the changes that result from a manifest.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::change::{ChangeAction, LogoFetch, ObjectKind, Operation, PlannedChange};
use super::groups::{Users, authorize_groups};
use super::manifest::{Manifest, ManifestApplication};
use super::planner::{OwnerState, Planner, UnnamedObjects};
use super::{accounts, applications, assignments, groups, logos};
use crate::domain::InternalError;
use crate::domain::admin::{AdminContext, AdminError, ManifestError, Result};
use assent_model::administration::Permission;
use assent_model::application::RegisteredApplication;
use assent_model::caller::Authorization;
use assent_model::id::Did;
use assent_model::management::{ManifestKey, ManifestOwner};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_store::ExpectedVersions;

/// The version of the digested text's format.
const FORMAT: &str = "assent-manifest-plan-1";
/// The largest number of objects of each kind in a manifest, because all changes are one transaction.
const MOST_OBJECTS: usize = 500;
/// The largest number of accounts in a manifest.
const MOST_ACCOUNTS: usize = 5_000;

/// The changes that result from a manifest.
#[derive(Debug)]
pub struct ManifestPlan {
    /// The owner of the manifest.
    pub owner: ManifestOwner,
    /// Whether objects of the owner that the manifest does not name are deleted.
    pub prune: bool,
    /// The changes.
    pub changes: Vec<PlannedChange>,
    /// Warnings for the manifest owner.
    pub warnings: Vec<String>,
    /// The digest of the owner and the changes.
    pub digest: Digest,
    /// The applications of the owner, with their names after the changes.
    pub(super) applications: Vec<(Did, String)>,
    pub(super) expected: ExpectedVersions,
    /// The logos that the execution fetches.
    pub(super) logo_fetches: Vec<LogoFetch>,
}

impl ManifestPlan {
    /// Returns the number of changes with this action.
    pub fn count(&self, action: ChangeAction) -> u64 {
        let changes = self.changes.iter();
        changes.filter(|change| change.action == action).count() as u64
    }
}

#[derive(Serialize)]
struct DigestedPlan<'a> {
    format: &'static str,
    owner: &'a ManifestOwner,
    prune: bool,
    changes: &'a [PlannedChange],
    /// The identifiers of applications and groups to which the changes refer.
    references: BTreeSet<String>,
}

/// Plans a manifest, without any change of the stored objects.
///
/// # Errors
/// [`AdminError::Manifest`] if objects of the manifest are invalid. [`AdminError::Forbidden`] if the caller lacks the
/// permission for one of the changes.
pub async fn plan_manifest(
    context: &AdminContext,
    manifest: &Manifest,
    prune: bool,
) -> Result<(Authorization, ManifestPlan)> {
    let unnamed = if prune {
        UnnamedObjects::Deleted
    } else {
        UnnamedObjects::Retained
    };
    let state = OwnerState::read(&context.services, &manifest.owner).await?;
    plan(context, manifest, state, unnamed).await
}

/// Plans a single application, and ignores the owner's other objects. The version that the caller expects must be the
/// version that the plan changes. It is 0 if the application does not exist.
///
/// # Errors
/// As [`plan_manifest`], and if the application has another version.
pub(super) async fn plan_application(
    context: &AdminContext,
    owner: ManifestOwner,
    application: ManifestApplication,
) -> Result<(Authorization, ManifestPlan)> {
    let state = OwnerState::read(&context.services, &owner).await?;
    let existing = state.applications.get(&application.common().key);
    let version = existing.map_or(0, RegisteredApplication::version);
    context.expected.check(version)?;
    let manifest = Manifest::of_application(owner, application);
    plan(context, &manifest, state, UnnamedObjects::Ignored).await
}

async fn plan(
    context: &AdminContext,
    manifest: &Manifest,
    state: OwnerState,
    unnamed: UnnamedObjects,
) -> Result<(Authorization, ManifestPlan)> {
    let authorization = context.caller.authorize(
        Permission::ApplicationsRead,
        "you may not read applications",
    )?;
    must_be_bounded(manifest)?;
    let mut planner = Planner {
        context,
        unnamed,
        state,
        changes: Vec::new(),
        logo_fetches: Vec::new(),
        warnings: Vec::new(),
        errors: Vec::new(),
        expected: ExpectedVersions::default(),
        authorizations: Vec::new(),
        described: described_keys(manifest),
    };
    let applications = applications::plan(&mut planner, &manifest.applications).await?;
    logos::plan(&mut planner, &manifest.applications, &applications).await?;
    let plans_access = manifest.names_access()
        || (unnamed != UnnamedObjects::Ignored && planner.state.has_access());
    if plans_access {
        authorize_groups(&mut planner)?;
        let users = users_of(context, manifest).await?;
        let groups = groups::plan(&mut planner, &manifest.groups, &users).await?;
        assignments::plan(&mut planner, &manifest.assignments, &applications, &groups).await?;
        accounts::plan(&mut planner, &manifest.accounts, &applications, &users).await?;
    }
    let applications = named_applications(&planner);
    let Planner {
        changes,
        logo_fetches,
        warnings,
        errors,
        expected,
        authorizations,
        ..
    } = planner;
    if !errors.is_empty() {
        return Err(AdminError::Manifest(errors));
    }
    let prune = unnamed == UnnamedObjects::Deleted;
    let digested = DigestedPlan {
        format: FORMAT,
        owner: &manifest.owner,
        prune,
        changes: &changes,
        references: references(&expected),
    };
    let digest = serde_json::to_vec(&digested).map_err(InternalError::from)?;
    let authorization = authorizations
        .into_iter()
        .fold(authorization, Authorization::and);
    let plan = ManifestPlan {
        owner: manifest.owner.clone(),
        prune,
        warnings,
        digest: Digest::sha256(&digest),
        applications,
        expected,
        changes,
        logo_fetches,
    };
    Ok((authorization, plan))
}

/// Returns the applications to which changes can refer, with their names after the changes.
fn named_applications(planner: &Planner<'_>) -> Vec<(Did, String)> {
    let known = planner.state.applications.values();
    let known = known.map(|known| (known.id().clone(), known.name().to_owned()));
    let changed = planner
        .changes
        .iter()
        .filter_map(|change| match &change.operation {
            Operation::CreateClient(after, _) | Operation::UpdateClient { after, .. } => {
                Some((after.id.clone(), after.name.clone()))
            }
            Operation::CreateServiceProvider(after, _)
            | Operation::UpdateServiceProvider { after, .. } => {
                Some((after.id.clone(), after.name.clone()))
            }
            _ => None,
        });
    known.chain(changed).collect()
}

/// Returns the identifiers of the applications and groups that the plan read, because their keys may belong to other
/// objects later.
fn references(expected: &ExpectedVersions) -> BTreeSet<String> {
    let applications = expected.applications.iter().map(|(id, _)| id.to_string());
    let groups = expected.groups.iter().map(|(id, _)| id.to_string());
    applications.chain(groups).collect()
}

fn must_be_bounded(manifest: &Manifest) -> Result<()> {
    let lists = [
        ("applications", manifest.applications.len(), MOST_OBJECTS),
        ("groups", manifest.groups.len(), MOST_OBJECTS),
        ("assignments", manifest.assignments.len(), MOST_ACCOUNTS),
        ("accounts", manifest.accounts.len(), MOST_ACCOUNTS),
    ];
    let errors: Vec<ManifestError> = lists
        .into_iter()
        .filter(|(_, count, most)| count > most)
        .map(|(list, _, most)| ManifestError {
            pointer: format!("/manifest/{list}"),
            detail: format!("expected {most} at most; divide the objects among several owners"),
        })
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(AdminError::Manifest(errors))
    }
}

fn described_keys(manifest: &Manifest) -> HashSet<(ObjectKind, ManifestKey)> {
    let applications = manifest.applications.iter().map(|application| {
        let key = application.common().key.clone();
        (ObjectKind::Application, key)
    });
    let groups = manifest
        .groups
        .iter()
        .map(|group| (ObjectKind::Group, group.key.clone()));
    applications.chain(groups).collect()
}

/// Returns the users that a manifest names.
async fn users_of(context: &AdminContext, manifest: &Manifest) -> Result<Users> {
    let members = manifest
        .groups
        .iter()
        .flat_map(|group| group.members.iter().flatten());
    let accounts = manifest.accounts.iter().map(|account| &account.user);
    // A text that is not a valid name is the name of no user.
    let names: BTreeSet<LoginName> = members
        .chain(accounts)
        .filter_map(|name| name.parse().ok())
        .collect();
    let names: Vec<LoginName> = names.into_iter().collect();
    Ok(context.services.store.users_by_logins(&names).await?)
}
