//! Planning of groups and their members.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::change::{
    ChangeAction, FieldChange, ObjectKind, Operation, PlannedChange, differences, member_difference,
};
use super::described;
use super::manifest::ManifestGroup;
use super::planner::{Existing, ManifestPosition, Planner, Referenced};
use crate::domain::admin::Result;
use crate::domain::admin::groups::{
    MOST_CHANGED, MemberPlan, authorize, described_group, lasting_members, must_not_be_terminated,
};
use assent_model::group::Group;
use assent_model::id::{GroupId, UserId};
use assent_model::management::ManifestKey;
use assent_model::name::LoginName;
use assent_model::user::User;

/// The groups to which assignments can refer.
pub(super) type Groups = BTreeMap<ManifestKey, (Referenced<GroupId>, Group)>;

/// Users by their names in a manifest.
pub(super) type Users = HashMap<LoginName, User>;

/// Plans the groups of a manifest.
///
/// # Errors
/// [`AdminError`](crate::domain::admin::AdminError) if the error is not about a value of the manifest.
pub(super) async fn plan(
    planner: &mut Planner<'_>,
    groups: &[ManifestGroup],
    users: &Users,
) -> Result<Groups> {
    let mut found = Groups::new();
    let mut names = HashSet::new();
    let mut known: HashSet<GroupId> = HashSet::new();
    for (index, group) in groups.iter().enumerate() {
        let position = ManifestPosition {
            list: "groups",
            index,
            key: group.key.as_str(),
        };
        if found.contains_key(&group.key) {
            planner.reject(&position, "key", "expected each key once");
            continue;
        }
        let Some(existing) = existing_group(planner, &position, group).await? else {
            continue;
        };
        if let Some(object) = existing.object()
            && !known.insert(object.id)
        {
            planner.reject(&position, "adopt", "expected each group once");
            continue;
        }
        let after = described_group(
            planner.context,
            &group.name,
            group.description.as_deref(),
            existing.object(),
        )
        .await;
        let Some(after) = planner.accept(&position, after)? else {
            continue;
        };
        if !names.insert(after.name.key()) {
            planner.reject(
                &position,
                "name",
                "another group of the manifest has the name",
            );
            continue;
        }
        let Some(members) =
            members(planner, &position, group, &after, existing.object(), users).await?
        else {
            continue;
        };
        let version = existing.object().map(|group| group.version);
        found.insert(
            group.key.clone(),
            (
                Referenced {
                    id: after.id,
                    version,
                },
                after.clone(),
            ),
        );
        planner
            .changes
            .extend(change(&group.key, &existing, after, members));
        if let Some(known) = existing.object() {
            planner.expected.groups.push((known.id, known.version));
        }
    }
    plan_others(planner, groups, &mut found);
    Ok(found)
}

/// Returns the existing group. `None` if the manifest may not name it with this key.
async fn existing_group(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    group: &ManifestGroup,
) -> Result<Option<Existing<Group>>> {
    let owned = planner.state.groups.get(&group.key).cloned();
    let Some(adopted) = group.adopt else {
        return Ok(Some(owned.map_or(Existing::None, Existing::Owned)));
    };
    if let Some(owned) = owned {
        if owned.id == adopted {
            return Ok(Some(Existing::Owned(owned)));
        }
        planner.reject(position, "adopt", "another group has the key");
        return Ok(None);
    }
    let store = &planner.context.services.store;
    let Some(found) = store.group(adopted).await? else {
        planner.reject(position, "adopt", "there is no group with this id");
        return Ok(None);
    };
    if let Some(management) = store.management_of_group(adopted).await? {
        let detail = format!(
            "{} manages the group already, by the key {}",
            management.owner, management.key
        );
        planner.reject(position, "adopt", detail);
        return Ok(None);
    }
    Ok(Some(Existing::Adopted(found)))
}

/// Returns the change of the members of a group. `None` if they are invalid.
async fn members(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    described: &ManifestGroup,
    group: &Group,
    known: Option<&Group>,
    users: &Users,
) -> Result<Option<MemberPlan>> {
    let nothing = MemberPlan {
        group: group.clone(),
        added: Vec::new(),
        removed: Vec::new(),
    };
    let Some(names) = &described.members else {
        return Ok(Some(nothing));
    };
    if names.len() > MOST_CHANGED {
        planner.reject(
            position,
            "members",
            format!("expected {MOST_CHANGED} at most"),
        );
        return Ok(None);
    }
    let mut wanted: BTreeMap<UserId, User> = BTreeMap::new();
    let mut fits = true;
    for (at, name) in names.iter().enumerate() {
        let field = format!("members/{at}");
        match find_user(users, name) {
            Some(user) if wanted.insert(user.id, user.clone()).is_some() => {
                planner.reject(position, &field, "expected each user once");
                fits = false;
            }
            Some(_) => {}
            None => {
                planner.reject(
                    position,
                    &field,
                    format!("there is no user with the name {name:?}"),
                );
                fits = false;
            }
        }
    }
    if !fits {
        return Ok(None);
    }
    let services = &planner.context.services;
    let current = match known {
        Some(known) => lasting_members(services, known.id).await?,
        None => Vec::new(),
    };
    let members: BTreeSet<UserId> = current.iter().map(|user| user.id).collect();
    let removed = current
        .into_iter()
        .filter(|user| !wanted.contains_key(&user.id))
        .collect();
    let added: Vec<User> = wanted
        .into_values()
        .filter(|user| !members.contains(&user.id))
        .collect();
    let plan = MemberPlan {
        added,
        removed,
        ..nothing
    };
    let fits = must_not_be_terminated(&plan.added);
    if let Err(crate::domain::admin::AdminError::Invalid { expected, .. }) = fits {
        planner.reject(position, "members", expected);
        return Ok(None);
    }
    for user in plan.added.iter().chain(&plan.removed) {
        let authorization = planner.context.caller.authorize_user_access(user)?;
        planner.authorizations.push(authorization);
    }
    Ok(Some(plan))
}

/// Returns the user with this user name. An email address does not count, because it is another name of the same user.
pub(super) fn find_user<'a>(users: &'a Users, name: &str) -> Option<&'a User> {
    let name: LoginName = name.parse().ok()?;
    users.get(&name).filter(|user| user.name == name)
}

/// Returns the change of a group, if there is one.
fn change(
    key: &ManifestKey,
    existing: &Existing<Group>,
    after: Group,
    members: MemberPlan,
) -> Option<PlannedChange> {
    let before = existing.object().cloned();
    let members_of = |group: Option<&Group>| group.map(described::group).unwrap_or_default();
    let mut fields = differences(&members_of(before.as_ref()), &described::group(&after));
    fields.extend(member_difference(&members).map(|field| match existing {
        Existing::None => FieldChange {
            before: Value::Null,
            ..field
        },
        Existing::Owned(_) | Existing::Adopted(_) => field,
    }));
    let changed = members.added.iter().chain(&members.removed);
    let users = changed.map(|user| user.id).collect();
    let Some(before) = before else {
        let operation = Operation::CreateGroup(after, key.clone(), members);
        let change = PlannedChange::of_new(ObjectKind::Group, key.as_str(), fields, operation);
        return Some(change.concerning(users));
    };
    if fields.is_empty() && !existing.is_adopted() {
        return None;
    }
    let (id, version) = (before.id, before.version);
    let operation = Operation::UpdateGroup {
        before,
        after,
        adopt: existing.is_adopted().then(|| key.clone()),
        members,
    };
    let change = PlannedChange::of_existing(
        existing.update(),
        ObjectKind::Group,
        key.as_str(),
        id.to_string(),
        version,
        fields,
        operation,
    );
    Some(change.concerning(users))
}

/// Plans the groups of the owner that the manifest does not name.
fn plan_others(planner: &mut Planner<'_>, named: &[ManifestGroup], found: &mut Groups) {
    let named: HashSet<&ManifestKey> = named.iter().map(|one| &one.key).collect();
    let others: Vec<(ManifestKey, Group)> = planner
        .state
        .groups
        .iter()
        .filter(|(key, _)| !named.contains(key))
        .map(|(key, group)| (key.clone(), group.clone()))
        .collect();
    for (key, group) in others {
        if !planner.deletes(ObjectKind::Group, key.as_str()) {
            let version = Some(group.version);
            found.insert(
                key,
                (
                    Referenced {
                        id: group.id,
                        version,
                    },
                    group,
                ),
            );
            continue;
        }
        planner.expected.groups.push((group.id, group.version));
        planner.changes.push(PlannedChange::of_existing(
            ChangeAction::Delete,
            ObjectKind::Group,
            key.as_str(),
            group.id.to_string(),
            group.version,
            Vec::new(),
            Operation::DeleteGroup(group),
        ));
    }
}

/// Authorizes changes of groups and of their access.
pub(super) fn authorize_groups(planner: &mut Planner<'_>) -> Result<()> {
    let authorization = authorize(&planner.context.caller)?;
    planner.authorizations.push(authorization);
    Ok(())
}
