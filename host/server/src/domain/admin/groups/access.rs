//! The authorization of changes to groups, and their audit entries.

use crate::domain::admin::Result;
use crate::domain::audit;
use crate::domain::services::Services;
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::{Authorization, Caller};
use assent_model::group::Group;

/// Authorizes a change of a group. Groups grant access and roles, so a change needs the permission to grant these.
pub(in crate::domain::admin) fn authorize(caller: &Caller) -> Result<Authorization> {
    Ok(caller.authorize(
        Permission::AccountsWrite,
        "you may not change groups and their access",
    )?)
}

/// Returns an entry of the audit log about a group. It has the current name of the group, which is not personal data.
pub(in crate::domain::admin) fn about(
    services: &Services,
    event: Event,
    group: &Group,
    by: &AuditContext,
) -> Entry {
    audit::entry(services, event, by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str())
}
