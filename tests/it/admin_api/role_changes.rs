//! Actions on a user who is granted a role at the same moment. The earlier permission check does not apply.

use assent_test_macros::both_databases;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use assent::domain::admin::{
    AccountChange, AdminCommand, AdminContext, AdminError, Caller, CreateAccount, DeleteAccount,
    EndSession, EndSessions, EnrolDevice, NewAccount, Principal, RevokeDevice, UpdateAccount,
    UpdateUser, UserChange, WithdrawConsent,
};
use assent_model::administration::{AdminScope, AdminScopes};
use assent_model::audit::AuditContext;
use assent_model::delivery::ExternalAuthenticator;
use assent_model::id::{AccountId, DeviceId, Did, SessionId, UserId};
use assent_model::user::ConsoleRole;
use assent_store::{StoreError, UserAction, UserGuard};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Database, Json, Parsed, TestHost, TestUser, id, write_user};

/// A user without a role, and an administrator who may act only on such users.
struct RoleChange {
    host: TestHost,
    ada: TestUser,
    user: UserId,
    support: AdminContext,
}

impl RoleChange {
    async fn new(database: Database) -> Self {
        let (host, ada) = TestHost::start_on(database).await.with_ada().await;
        let user = id(&ada.user).parsed();
        let caller = Caller {
            by: AuditContext::SERVER,
            principal: Principal::User(ConsoleRole::Support),
        };
        let support = AdminContext::new(Arc::clone(&host.host), caller);
        Self {
            host,
            ada,
            user,
            support,
        }
    }

    async fn update(&self, change: UserChange) {
        let user = self.user;
        AdminContext::of_operator(Arc::clone(&self.host.host))
            .run(&UpdateUser { user, change })
            .await
            .expect("updated");
    }

    async fn role(&self, role: Option<ConsoleRole>) {
        self.update(UserChange {
            console_role: Some(role),
            ..UserChange::default()
        })
        .await;
    }

    /// Checks that an action planned for a user without a role is neither executed nor planned again once the user has
    /// a role.
    async fn is_refused<C: AdminCommand>(&self, what: &str, command: C) {
        self.is_refused_to(&self.support, what, command).await;
    }

    async fn is_refused_to<C: AdminCommand>(&self, caller: &AdminContext, what: &str, command: C) {
        let plans = AtomicU32::new(0);
        let refused = caller
            .run_with(&command, async || {
                plans.fetch_add(1, Ordering::Relaxed);
                self.role(Some(ConsoleRole::Admin)).await;
            })
            .await;
        assert!(matches!(refused, Err(AdminError::Forbidden(_))), "{what}");
        assert_eq!(
            plans.into_inner(),
            1,
            "{what}: the change was planned before the user had the role, and not executed"
        );
        self.role(None).await;
    }

    async fn items(&self, path: &str) -> usize {
        let list = self.host.admin_ok(Method::GET, path, Value::Null).await;
        list["items"].items().len()
    }
}

#[both_databases]
async fn actions_recheck_the_role_of_their_target_when_they_write(database: Database) {
    let role_change = RoleChange::new(database).await;
    let RoleChange { ada, user, .. } = &role_change;
    let user = *user;

    role_change.is_refused("a link", EnrolDevice(user)).await;
    let device: DeviceId = ada.device.device();
    role_change
        .is_refused("a device", RevokeDevice(device))
        .await;
    let devices = format!("/users/{user}/devices");
    assert_eq!(role_change.items(&devices).await, 1, "{database:?}");

    let account: AccountId = id(&ada.account).parsed();
    let change = AccountChange {
        roles: Some(vec!["root".to_owned()]),
        ..AccountChange::default()
    };
    // Support may not change roles. A service application may change them, but not for users with a console role.
    let operator = Caller {
        by: AuditContext::SERVER,
        principal: Principal::Application(AdminScopes::from_iter([AdminScope::Users])),
    };
    let change = UpdateAccount { account, change };
    let owned = AdminContext::new(Arc::clone(&role_change.host.host), operator);
    role_change
        .is_refused_to(&owned, "a change of an account", change)
        .await;
    role_change
        .is_refused("an account's end", DeleteAccount(account))
        .await;
    let stored = role_change
        .host
        .admin_ok(Method::GET, &format!("/accounts/{account}"), Value::Null)
        .await;
    assert_eq!(stored["roles"], ada.account["roles"], "{database:?}");
    let application: Did = role_change.host.web_application().await.id.parsed();
    let new = NewAccount {
        user_id: user.to_string(),
        name: None,
        roles: None,
        state: None,
    };
    let new = CreateAccount {
        application,
        account: new,
    };
    role_change.is_refused("a new account", new).await;
    assert_eq!(
        role_change.items(&format!("/users/{user}/accounts")).await,
        1,
        "{database:?}"
    );

    // The grant of a role ends the user's sessions, so there is no session to end.
    ada.sign_in(&Browser::new(&role_change.host.base)).await;
    let sessions = role_change
        .host
        .admin_ok(Method::GET, &format!("/users/{user}/sessions"), Value::Null)
        .await;
    let session: SessionId = id(&sessions["items"][0]).parsed();
    role_change
        .is_refused("a session", EndSession { user, session })
        .await;
    role_change.is_refused("sessions", EndSessions(user)).await;
    let application: Did = ada.application.id.parsed();
    role_change
        .is_refused("a consent", WithdrawConsent { user, application })
        .await;

    // An action on a user without a role succeeds after any other change of that user.
    let plans = AtomicU32::new(0);
    role_change
        .support
        .run_with(&EnrolDevice(user), async || {
            let name = match plans.fetch_add(1, Ordering::Relaxed) {
                0 => "countess",
                _ => return,
            };
            role_change
                .update(UserChange {
                    name: Some(name.to_owned()),
                    ..UserChange::default()
                })
                .await;
        })
        .await
        .expect("a link");
    assert_eq!(
        plans.into_inner(),
        2,
        "{database:?}: the first plan was not executed"
    );
}

/// The same rule applies to the removal of an external authenticator and to an import.
#[both_databases]
async fn a_write_applies_to_the_checked_user_only(database: Database) {
    let role_change = RoleChange::new(database).await;
    let (host, store) = (&role_change.host, &role_change.host.host.store);
    let seen = store
        .user(role_change.user)
        .await
        .expect("read")
        .expect("an administrator");
    let now = host.host.now();
    let address = ExternalAuthenticator {
        channel: "vendor".to_owned(),
        identifier: "mallory".to_owned(),
    };
    let guard = UserGuard::from(&seen);
    let setting = UserAction::SetExternalAuthenticator(guard, address);
    let set = write_user(store, setting.clone(), now).await;
    set.expect("set");
    role_change.role(Some(ConsoleRole::Admin)).await;
    let set = write_user(store, setting, now).await;
    assert!(matches!(set, Err(StoreError::Stale)), "{database:?}");
    let removal = UserAction::RemoveExternalAuthenticator(guard, "vendor".to_owned());
    let removed = write_user(store, removal, now).await;
    assert!(matches!(removed, Err(StoreError::Stale)), "{database:?}");
    assert_eq!(
        role_change
            .items(&format!("/users/{}/external-authenticators", seen.id))
            .await,
        1,
        "{database:?}"
    );

    let account = store
        .account(id(&role_change.ada.account).parsed())
        .await
        .expect("read")
        .expect("one");
    let before = Some(account.state);
    let changed = assent_model::account::Account {
        roles: vec!["root".to_owned()],
        ..account
    };
    let write = assent_store::AccountWrite {
        account: changed,
        guard: (&seen).into(),
        before,
        entries: Vec::new(),
    };
    let stored = store.save_accounts(vec![write], now).await;
    assert!(matches!(stored, Err(StoreError::Stale)), "{database:?}");
    let stored = host
        .admin_ok(
            Method::GET,
            &format!("/accounts/{}", id(&role_change.ada.account)),
            Value::Null,
        )
        .await;
    assert_ne!(stored["roles"], json!(["root"]), "{database:?}");
}
