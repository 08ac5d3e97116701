use super::*;
use crate::entropy::SystemEntropy;
use crate::group::AssignedGroup;
use crate::id::GroupId;

fn account(individual: bool, assigned: AssignedAccess) -> Account {
    let now = Timestamp::from_millis(1);
    Account {
        id: AccountId::new(now, &SystemEntropy),
        user_id: UserId::new(now, &SystemEntropy),
        application_id: Did::from_ed25519(&[7; 32]),
        name: "ada".to_owned(),
        roles: vec!["editor".to_owned()],
        short_code: "234".to_owned(),
        state: LifecycleState::Active,
        individual,
        assigned,
        version: 1,
        created_at: now,
    }
}

fn roles(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn roles_are_the_union_of_the_account_and_all_assignments() {
    let assigned = AssignedAccess {
        groups: vec![AssignedGroup {
            by: None,
            id: GroupId::new(Timestamp::from_millis(1), &SystemEntropy),
            name: "Staff".to_owned(),
            roles: roles(&["viewer", "editor"]),
            since: Timestamp::from_millis(1),
        }],
        everyone: Some(roles(&["guest", "viewer"])),
    };
    let account = account(true, assigned);
    assert_eq!(account.effective_roles(), ["editor", "viewer", "guest"]);
    assert_eq!(account.assigned.group_names(), ["Staff"]);
}

#[test]
fn an_individual_account_or_an_assignment_to_everyone_grants_access() {
    assert!(account(true, AssignedAccess::default()).gives_access());
    assert!(!account(false, AssignedAccess::default()).gives_access());
    let everyone = AssignedAccess {
        everyone: Some(Vec::new()),
        ..AssignedAccess::default()
    };
    assert!(account(false, everyone).gives_access());
}
