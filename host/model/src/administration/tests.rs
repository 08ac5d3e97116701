use super::*;
use crate::user::ConsoleRole;

#[test]
fn nobody_but_an_owner_gives_roles_and_no_scope_does() {
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
fn who_only_reads_changes_nothing() {
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
