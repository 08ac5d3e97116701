use super::*;
use crate::user::ConsoleRole;

#[test]
fn only_owners_grant_roles_and_no_admin_scope_does() {
    for role in [
        ConsoleRole::Admin,
        ConsoleRole::Support,
        ConsoleRole::Auditor,
    ] {
        assert!(
            !role.gives(Permission::RolesWrite) && !role.may_act_upon(Some(ConsoleRole::Owner)),
            "{role:?}"
        );
    }
    assert!(
        !AdminScope::ALL
            .into_iter()
            .any(|scope| scope.gives(Permission::RolesWrite))
    );
}

#[test]
fn the_auditor_role_and_the_read_scope_permit_no_changes() {
    for permission in Permission::ALL
        .iter()
        .filter(|one| !one.as_str().ends_with(":read") && **one != Permission::Me)
    {
        assert!(
            !ConsoleRole::Auditor.gives(*permission) && !AdminScope::Read.gives(*permission),
            "{permission:?}"
        );
    }
}
