//! The lists and the counts agree with the decision at a sign-in, for many combinations of users, accounts, groups and
//! assignments to everyone.

use std::collections::{BTreeMap, BTreeSet};

use assent::domain::accounts::new_account;
use assent::domain::admin::{self, UserAccess};
use assent::domain::sign_in::access::{AccessDenied, access_denial, account_in};
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::group::{Assignee, Group};
use assent_model::id::{Did, GroupId, UserId};
use assent_model::user::{LifecycleState, User};
use assent_store::{AccessFilter, AdminWrite, AdminWrites, MemberChange, Store, UserAction};
use assent_test_macros::both_databases;

use crate::harness::{Database, TestHost};

/// The number of users: each combination of a state of the user, an account and a membership.
const USERS: usize = 4 * 5 * 3;

/// A user's account in an application: none, or its state and whether it grants access itself.
const ACCOUNTS: [Option<(LifecycleState, bool)>; 5] = [
    None,
    Some((LifecycleState::Active, true)),
    Some((LifecycleState::Active, false)),
    Some((LifecycleState::Suspended, true)),
    Some((LifecycleState::Terminated, false)),
];

/// Applications without an assignment, with one group, with two groups, and for everyone.
struct Directory {
    users: Vec<User>,
    applications: [Did; 4],
}

async fn directory(host: &TestHost) -> Directory {
    let services = &host.host;
    let store = &services.store;
    let mut applications = Vec::new();
    for _ in 0..4 {
        let id: Did = host.web_application().await.id.parse().expect("an id");
        applications.push(id);
    }
    let applications: [Did; 4] = applications.try_into().expect("four applications");
    let mut groups = Vec::new();
    for name in ["First", "Second"] {
        let group = Group {
            id: GroupId::new(services.now(), &SystemEntropy),
            name: name.parse().expect("a name"),
            description: String::new(),
            version: 1,
            created_at: services.now(),
        };
        write(
            store,
            AdminWrite::InsertGroup(group.clone(), None),
            services.now(),
        )
        .await;
        groups.push(group.id);
    }
    let (mut users, mut members) = (Vec::new(), [Vec::new(), Vec::new()]);
    for number in 0..USERS {
        let (state, account, membership) = (
            LifecycleState::ALL[number % 4],
            ACCOUNTS[number / 4 % 5],
            number / 20,
        );
        let name = format!("user{number:02}").parse().expect("a name");
        let mut user = admin::new_user(services, name).expect("a user");
        user.state = state;
        let insertion = UserAction::Insert(user.clone());
        write(store, AdminWrite::User(insertion), services.now()).await;
        for application in &applications {
            let Some((state, individual)) = account else {
                continue;
            };
            let mut account = new_account(services, &user, application.clone());
            (account.state, account.individual) = (state, individual);
            account.roles = vec!["own".to_owned()];
            write(store, AdminWrite::InsertAccount(account), services.now()).await;
        }
        // In no group, in the first one, or in both.
        for group in members.iter_mut().take(membership) {
            group.push((user.id, user.version));
        }
        users.push(user);
    }
    let now = services.now();
    let [first, second] = members;
    let change = |added| MemberChange {
        added,
        removed: Vec::new(),
    };
    write(
        store,
        AdminWrite::ChangeMembers(groups[0], change(first)),
        now,
    )
    .await;
    let second = second
        .into_iter()
        .map(|(id, version)| (id, version + 1))
        .collect();
    write(
        store,
        AdminWrite::ChangeMembers(groups[1], change(second)),
        now,
    )
    .await;
    for (application, assignees) in [
        (1, vec![Assignee::Group(groups[0])]),
        (
            2,
            vec![Assignee::Group(groups[0]), Assignee::Group(groups[1])],
        ),
        (3, vec![Assignee::Everyone]),
    ] {
        for assignee in assignees {
            let application = applications[application].clone();
            let roles = vec!["assigned".to_owned()];
            write(store, AdminWrite::Assign(application, assignee, roles), now).await;
        }
    }
    Directory {
        users,
        applications,
    }
}

/// Returns whether a user is listed, and then the decision, by the code of a sign-in.
async fn decided(host: &TestHost, user: &User, application: &Did) -> Option<Option<AccessDenied>> {
    let account = account_in(&host.host, user, application)
        .await
        .expect("read");
    account.filter(|account| account.gives_access())?;
    // An invited user is denied nothing, and needs only a device.
    let mut enrolled = user.clone();
    if user.state == LifecycleState::Invited {
        enrolled.state = LifecycleState::Active;
    }
    let denial = access_denial(&host.host, &enrolled, application)
        .await
        .expect("read");
    Some(denial.filter(|reason| reason.is_decision()))
}

/// Reads a whole list of users, in pages of seven.
async fn listed(host: &TestHost, application: &Did, filter: AccessFilter) -> Vec<UserAccess> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = admin::access_to(&host.host, application, filter, after, 7)
            .await
            .expect("read");
        let is_last = page.len() < 7;
        all.extend(page.into_iter().filter_map(|(_, access)| access));
        if is_last {
            return all;
        }
        after = all.last().map(|access| access.access.user.id);
    }
}

#[both_databases]
async fn lists_and_counts_agree_with_sign_ins(database: Database) {
    let host = TestHost::start_on(database).await;
    let Directory {
        users,
        applications,
    } = directory(&host).await;
    let mut of_users: BTreeMap<UserId, BTreeSet<String>> = BTreeMap::new();
    for application in &applications {
        let found = listed(&host, application, AccessFilter::All).await;
        let mut rows: BTreeMap<UserId, &UserAccess> = BTreeMap::new();
        for row in &found {
            let twice = rows.insert(row.access.user.id, row);
            assert!(
                twice.is_none(),
                "{database:?}: {} is listed twice",
                row.access.user.name
            );
        }
        let (mut granted, mut denied) = (0, BTreeSet::new());
        for user in &users {
            let expected = decided(&host, user, application).await;
            // Everyone does not include terminated users.
            let by_everyone_only = application == &applications[3]
                && user.state == LifecycleState::Terminated
                && !rows.contains_key(&user.id);
            let row = rows.get(&user.id);
            let context = format!("{database:?}: {} in {application}", user.name);
            if by_everyone_only {
                continue;
            }
            assert_eq!(row.map(|row| row.denied), expected, "{context}");
            let Some(row) = row else { continue };
            of_users
                .entry(user.id)
                .or_default()
                .insert(application.to_string());
            match row.denied {
                None => granted += 1,
                Some(_) => {
                    denied.insert(user.id);
                }
            }
            let account = account_in(&host.host, user, application)
                .await
                .expect("read");
            let account = account.expect("an account");
            assert_eq!(row.roles(), account.effective_roles(), "{context}");
            // The search finds exactly the listed users.
            let query = admin::AccessQuery {
                q: user.name.to_string(),
                after: None,
            };
            let found = admin::find_access(&host.host, application, &query, 5)
                .await
                .expect("read");
            assert_eq!(found.len(), 1, "{context}");
        }
        assert!(rows.len() >= granted);
        let only_denied = listed(&host, application, AccessFilter::Denied).await;
        let only_denied: BTreeSet<UserId> =
            only_denied.iter().map(|row| row.access.user.id).collect();
        assert_eq!(only_denied, denied, "{database:?}: {application}");
        let usage = host
            .host
            .store
            .application_usage(std::slice::from_ref(application))
            .await;
        let usage = usage.expect("read")[application].users;
        assert_eq!(usage as usize, granted, "{database:?}: {application}");
    }
    for user in &users {
        let of_user = admin::access_of(&host.host, user.id, None, 50)
            .await
            .expect("read");
        let of_user: BTreeSet<String> = of_user
            .into_iter()
            .filter_map(|(_, access)| access)
            .map(|access| access.access.application.to_string())
            .collect();
        let expected = of_users.remove(&user.id).unwrap_or_default();
        assert_eq!(of_user, expected, "{database:?}: {}", user.name);
    }
}

/// A group of more members than a count reads at once, of which the first ones are denied: the count is exact.
#[both_databases]
async fn a_large_group_is_counted_exactly(database: Database) {
    let host = TestHost::start_on(database).await;
    let services = &host.host;
    let application: Did = host.web_application().await.id.parse().expect("an id");
    let group = Group {
        id: GroupId::new(services.now(), &SystemEntropy),
        name: "Large".parse().expect("a name"),
        description: String::new(),
        version: 1,
        created_at: services.now(),
    };
    let store = &services.store;
    write(
        store,
        AdminWrite::InsertGroup(group.clone(), None),
        services.now(),
    )
    .await;
    let mut writes = Vec::new();
    for number in 0..1600 {
        let name = format!("user{number}").parse().expect("a name");
        let mut user = admin::new_user(services, name).expect("a user");
        user.state = match number {
            0..1590 => LifecycleState::Suspended,
            _ => LifecycleState::Active,
        };
        writes.push(assent_store::UserWrite {
            user,
            before: None,
            entries: Vec::new(),
        });
    }
    let added = writes
        .iter()
        .map(|write| (write.user.id, write.user.version))
        .collect();
    services.store.save_users(writes).await.expect("stored");
    let change = MemberChange {
        added,
        removed: Vec::new(),
    };
    let now = services.now();
    write(store, AdminWrite::ChangeMembers(group.id, change), now).await;
    let to = Assignee::Group(group.id);
    write(
        store,
        AdminWrite::Assign(application.clone(), to, Vec::new()),
        now,
    )
    .await;
    let usage = services
        .store
        .application_usage(std::slice::from_ref(&application))
        .await;
    assert_eq!(usage.expect("read")[&application].users, 10, "{database:?}");
}

/// Executes a write of administration without an audit entry.
async fn write(store: &Store, write: AdminWrite, now: Timestamp) {
    let plan = AdminWrites {
        writes: vec![(write, Vec::new())],
        ..AdminWrites::default()
    };
    store.execute(plan, now).await.expect("written");
}
