//! Who may change groups, and what the audit log records of it.

use crate::domain::admin::Result;
use crate::domain::{Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::{Authorization, Caller};
use assent_model::group::Group;

/// Groups give access and roles, so they need the permission to give these.
pub(in crate::domain::admin) fn authorize(caller: &Caller) -> Result<Authorization> {
    Ok(caller.authorize(
        Permission::AccountsWrite,
        "you may not change groups and their access",
    )?)
}

/// An entry of the audit log about a group. It has the name of that time, which is no personal data.
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
