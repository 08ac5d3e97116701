//! The administration's queries about groups.

use crate::domain::Services;
use crate::domain::admin::{AdminError, Result, registered_application, user};
use assent_model::group::{Group, GroupName, Membership};
use assent_model::id::{Did, GroupId, UserId};
use assent_model::user::User;
use assent_store::{GroupApplication, GroupOrder, GroupSummary};

/// The largest number of groups of a user in a list.
const MOST_GROUPS: u32 = 500;

/// The assignments of an application.
#[derive(Clone, Debug)]
pub struct ApplicationAssignments {
    /// The roles of everyone, if it is assigned to everyone.
    pub everyone: Option<Vec<String>>,
    /// The groups, with the roles of their members.
    pub groups: Vec<(GroupSummary, Vec<String>)>,
}

/// Returns the group with this identifier.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such group.
pub async fn group(services: &Services, id: GroupId) -> Result<Group> {
    let found = services.store.group(id).await?;
    found.ok_or(AdminError::NotFound("group"))
}

/// Returns the group with this identifier and its counts.
///
/// # Errors
/// As [`group`].
pub async fn group_summary(services: &Services, id: GroupId) -> Result<GroupSummary> {
    let found = services.store.group_summary(id).await?;
    found.ok_or(AdminError::NotFound("group"))
}

/// Returns the number of all groups.
pub async fn count_groups(services: &Services) -> Result<u64> {
    Ok(services.store.count_groups().await?)
}

/// Returns up to `limit` groups with this beginning of their names, after the group with the name `after`.
pub async fn groups(
    services: &Services,
    q: Option<&str>,
    order: GroupOrder,
    after: Option<&GroupName>,
    limit: u32,
) -> Result<Vec<GroupSummary>> {
    let prefix = q.unwrap_or_default();
    Ok(services.store.groups(prefix, order, after, limit).await?)
}

/// Returns up to `limit` members of a group after `after`.
///
/// # Errors
/// As [`group`].
pub async fn members_of(
    services: &Services,
    id: GroupId,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<(Membership, User)>> {
    group(services, id).await?;
    Ok(services.store.members_of(id, after, limit).await?)
}

/// Returns the groups of a user, in the order of their names.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn groups_of_user(services: &Services, id: UserId) -> Result<Vec<Group>> {
    user(services, id).await?;
    Ok(services.store.groups_of(id, MOST_GROUPS).await?)
}

/// Returns the applications that are assigned to a group.
///
/// # Errors
/// As [`group`].
pub async fn applications_of_group(
    services: &Services,
    id: GroupId,
) -> Result<Vec<GroupApplication>> {
    group(services, id).await?;
    Ok(services.store.applications_of_group(id).await?)
}

/// Returns the assignments of an application.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn assignments_of(
    services: &Services,
    application: &Did,
) -> Result<ApplicationAssignments> {
    registered_application(services, application).await?;
    let mut groups = Vec::new();
    for assignment in services.store.assignments_of(application).await? {
        // A group that was deleted at this moment has no assignment any more.
        if let Some(group) = services.store.group_summary(assignment.group).await? {
            groups.push((group, assignment.roles));
        }
    }
    Ok(ApplicationAssignments {
        everyone: services.store.roles_of_everyone(application).await?,
        groups,
    })
}

/// Returns the known roles of an application.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn known_roles(services: &Services, application: &Did) -> Result<Vec<String>> {
    registered_application(services, application).await?;
    Ok(services.store.known_roles(application).await?)
}
