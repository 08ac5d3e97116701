//! Planning of assignments.

use std::collections::{HashMap, HashSet};

use super::applications::Applications;
use super::change::{ChangeAction, Deleted, ObjectKind, Operation, PlannedChange, roles_change};
use super::groups::Groups;
use super::manifest::ManifestAssignment;
use super::planner::{ManifestPosition, OwnerState, Planner, Referenced};
use crate::domain::admin::Result;
use crate::domain::admin::groups::{AssignmentPlan, TOO_MANY_ASSIGNMENTS, assignment_roles};
use assent_model::group::{Assignee, Group, MOST_ASSIGNMENTS};
use assent_model::id::Did;
use assent_model::management::ManifestKey;

/// The assignments of an application.
#[derive(Default)]
struct Current {
    roles: HashMap<Assignee, Vec<String>>,
    groups: usize,
}

/// Plans the assignments of a manifest.
///
/// # Errors
/// [`AdminError`](crate::domain::admin::AdminError) if the error is not about a value of the manifest.
pub(super) async fn plan(
    planner: &mut Planner<'_>,
    assignments: &[ManifestAssignment],
    applications: &Applications,
    groups: &Groups,
) -> Result<()> {
    let managed = managed_assignments(&planner.state);
    let mut known: HashMap<Did, Current> = HashMap::new();
    let mut named: HashSet<(Did, Assignee)> = HashSet::new();
    for (index, assignment) in assignments.iter().enumerate() {
        let key = key_of(&assignment.application, assignment.group.as_ref());
        let position = ManifestPosition {
            list: "assignments",
            index,
            key: &key,
        };
        let Some(application) = applications.get(&assignment.application) else {
            planner.reject_reference(&position, ObjectKind::Application, &assignment.application);
            continue;
        };
        let group = match &assignment.group {
            None => None,
            Some(key) => match groups.get(key) {
                Some((referenced, group)) => {
                    let found = referenced.version.map(|version| (group.id, version));
                    planner.expected.groups.extend(found);
                    Some(group.clone())
                }
                None => {
                    planner.reject_reference(&position, ObjectKind::Group, key);
                    continue;
                }
            },
        };
        let assignee = assignee_of(group.as_ref());
        if !named.insert((application.id.clone(), assignee)) {
            planner.reject(&position, "application", "expected each assignment once");
            continue;
        }
        let roles = assignment_roles(assignment.roles.clone());
        let Some(roles) = planner.accept(&position, roles)? else {
            continue;
        };
        if !known.contains_key(&application.id) {
            let current = current(planner, application).await?;
            known.insert(application.id.clone(), current);
        }
        let Some(current) = known.get_mut(&application.id) else {
            continue;
        };
        let before = current.roles.get(&assignee).cloned();
        if before.is_none() && group.is_some() {
            current.groups += 1;
            if current.groups > MOST_ASSIGNMENTS {
                planner.reject(&position, "group", TOO_MANY_ASSIGNMENTS);
                continue;
            }
        }
        let is_managed = managed.contains(&(application.id.clone(), assignee));
        plan_one(
            planner,
            key,
            application,
            group,
            roles,
            before.as_ref(),
            is_managed,
        );
    }
    plan_others(planner, &named);
    Ok(())
}

fn key_of(application: &ManifestKey, group: Option<&ManifestKey>) -> String {
    match group {
        Some(group) => format!("{application}/{group}"),
        None => format!("{application}/everyone"),
    }
}

fn assignee_of(group: Option<&Group>) -> Assignee {
    group.map_or(Assignee::Everyone, |group| Assignee::Group(group.id))
}

/// Returns the current assignments of an application, managed or not.
async fn current(planner: &Planner<'_>, application: &Referenced<Did>) -> Result<Current> {
    let mut current = Current::default();
    if application.version.is_none() {
        return Ok(current);
    }
    let store = &planner.context.services.store;
    if let Some(roles) = store.roles_of_everyone(&application.id).await? {
        current.roles.insert(Assignee::Everyone, roles);
    }
    for assignment in store.assignments_of(&application.id).await? {
        current.groups += 1;
        current
            .roles
            .insert(Assignee::Group(assignment.group), assignment.roles);
    }
    Ok(current)
}

/// Returns the assignments that the owner manages.
fn managed_assignments(state: &OwnerState) -> HashSet<(Did, Assignee)> {
    let groups = state
        .assignments
        .iter()
        .map(|one| (one.application.clone(), Assignee::Group(one.group)));
    let everyone = state
        .everyone
        .iter()
        .map(|(id, _)| (id.clone(), Assignee::Everyone));
    groups.chain(everyone).collect()
}

fn plan_one(
    planner: &mut Planner<'_>,
    key: String,
    application: &Referenced<Did>,
    group: Option<Group>,
    roles: Vec<String>,
    before: Option<&Vec<String>>,
    is_managed: bool,
) {
    let action = match before {
        None => ChangeAction::Create,
        Some(_) if !is_managed => ChangeAction::Adopt,
        Some(before) if *before == roles => return,
        Some(_) => ChangeAction::Update,
    };
    let fields = if before == Some(&roles) {
        Vec::new()
    } else {
        vec![roles_change(before.map(Vec::as_slice), Some(&roles))]
    };
    if let Some(version) = application.version {
        planner
            .expected
            .applications
            .push((application.id.clone(), version));
    }
    planner.changes.push(PlannedChange {
        action,
        kind: ObjectKind::Assignment,
        key,
        id: None,
        fields,
        version: application.version,
        users: Vec::new(),
        operation: Operation::Assign(AssignmentPlan {
            application: application.id.clone(),
            to: group,
            roles,
        }),
    });
}

/// Plans the managed assignments that the manifest does not name. The assignments of a deleted application or group are
/// deleted with it.
fn plan_others(planner: &mut Planner<'_>, named: &HashSet<(Did, Assignee)>) {
    let state = &planner.state;
    let mut others: Vec<(String, AssignmentPlan, i64)> = Vec::new();
    for assignment in &state.assignments {
        let found = state.application_key(&assignment.application);
        let of_application = found.and_then(|key| Some((key, state.applications.get(key)?)));
        let of_group = state.group_key(assignment.group);
        let of_group = of_group.and_then(|key| Some((key, state.groups.get(key)?)));
        let is_named = named.contains(&(
            assignment.application.clone(),
            Assignee::Group(assignment.group),
        ));
        if let (Some((key, application)), Some((group_key, group)), false) =
            (of_application, of_group, is_named)
        {
            let plan = AssignmentPlan {
                application: assignment.application.clone(),
                to: Some(group.clone()),
                roles: assignment.roles.clone(),
            };
            others.push((key_of(key, Some(group_key)), plan, application.version()));
        }
    }
    for (id, roles) in &state.everyone {
        let found = state.application_key(id);
        let of_application = found.and_then(|key| Some((key, state.applications.get(key)?)));
        let is_named = named.contains(&(id.clone(), Assignee::Everyone));
        if let (Some((key, application)), false) = (of_application, is_named) {
            let plan = AssignmentPlan {
                application: id.clone(),
                to: None,
                roles: roles.clone(),
            };
            others.push((key_of(key, None), plan, application.version()));
        }
    }
    others.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let deleted = Deleted::of(&planner.changes);
    for (key, plan, version) in others {
        let to_deleted = |group: &Group| deleted.groups.contains(&group.id);
        if deleted.applications.contains(&plan.application)
            || plan.to.as_ref().is_some_and(to_deleted)
            || !planner.deletes(ObjectKind::Assignment, &key)
        {
            continue;
        }
        planner
            .expected
            .applications
            .push((plan.application.clone(), version));
        planner.changes.push(PlannedChange {
            action: ChangeAction::Delete,
            kind: ObjectKind::Assignment,
            key,
            id: None,
            fields: vec![roles_change(Some(&plan.roles), None)],
            version: Some(version),
            users: Vec::new(),
            operation: Operation::Unassign(plan),
        });
    }
}
