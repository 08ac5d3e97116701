//! What is done to a person who is given a role at that very moment: what was checked before does not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assent::domain::admin::{self, AccountChange, Caller, Refused, Standing, UserChange};
use assent::id::{AccountId, DeviceId, Did, SessionId, UserId};
use assent::model::audit::By;
use assent::model::delivery::ApprovalAddress;
use assent::model::user::{ConsoleRole, User};
use assent::store::{Person, StoreError};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::harness::{Ada, Browser, Database, TestHost, Wish, id};

/// A person without a role, and an administrator's check of them, during which the person is given one.
struct Overtaken {
    host: TestHost,
    ada: Ada,
    user: UserId,
    support: Caller,
    is_first: AtomicBool,
}

impl Overtaken {
    async fn new(database: Database) -> Self {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let ada = host.ada().await;
        let user = id(&ada.user).parse().expect("an id");
        let support = Caller { by: By::HOST, standing: Standing::Person(ConsoleRole::Support) };
        Self { host, ada, user, support, is_first: AtomicBool::new(true) }
    }

    async fn role(&self, role: Option<ConsoleRole>) {
        let change = UserChange { console_role: Some(role), ..UserChange::default() };
        admin::change_user(&self.host.host, self.user, change, &By::HOST, &admin::whatever_it_is)
            .await
            .expect("changed");
    }

    /// The check of a caller who may act upon whoever has no role.
    fn check(&self, user: &User) -> Result<(), Refused> {
        let checked = self.support.must_reach(user);
        if self.is_first.swap(false, Ordering::Relaxed) {
            assert!(checked.is_ok(), "the person has no role yet");
            tokio::task::block_in_place(|| Handle::current().block_on(self.role(Some(ConsoleRole::Admin))));
        }
        checked
    }

    /// That it was refused; and the person has no role again.
    async fn was_refused<T>(&self, what: &str, outcome: Result<T, Refused>) {
        assert!(matches!(outcome, Err(Refused::Forbidden(_))), "{what}");
        self.role(None).await;
        self.is_first.store(true, Ordering::Relaxed);
    }

    async fn items(&self, path: &str) -> usize {
        let list = self.host.admin_ok(Method::GET, path, Value::Null).await;
        list["items"].as_array().expect("items").len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_to_who_was_given_a_role_since_they_were_checked_on_both_databases() {
    for database in Database::BOTH {
        let overtaken = Overtaken::new(database).await;
        let Overtaken { host: TestHost { host, .. }, ada, user, .. } = &overtaken;
        let host: &Arc<_> = host;
        let guard = |user: &User| overtaken.check(user);
        let of_account = |person: &Person| overtaken.check(&person.user);
        let (user, by) = (*user, &By::HOST);

        overtaken.was_refused("a link", admin::create_enrolment(host, user, by, &guard).await).await;
        let device: DeviceId = ada.phone.device();
        overtaken.was_refused("a device", admin::revoke_device(host, device, by, &guard).await).await;
        let devices = format!("/users/{user}/devices");
        assert_eq!(overtaken.items(&devices).await, 1, "{database:?}");

        let account: AccountId = id(&ada.account).parse().expect("an id");
        let change = AccountChange { roles: Some(vec!["root".to_owned()]), ..AccountChange::default() };
        let changed = admin::change_account(host, account, change.clone(), by, &of_account).await;
        overtaken.was_refused("an account", changed).await;
        overtaken.was_refused("an account's end", admin::delete_account(host, account, by, &of_account).await).await;
        let kept = overtaken.host.admin_ok(Method::GET, &format!("/accounts/{account}"), Value::Null).await;
        assert_eq!(kept["roles"], ada.account["roles"], "{database:?}");
        let other: Did = overtaken.host.web_application().await.id.parse().expect("an id");
        let made = admin::create_account(host, user, &other, change, by, &guard).await;
        overtaken.was_refused("a new account", made).await;
        assert_eq!(overtaken.items(&format!("/users/{user}/accounts")).await, 1, "{database:?}");

        // Sessions end with a role, so there is none to be ended.
        ada.sign_in(&Browser::new(&overtaken.host.base)).await;
        let sessions = overtaken.host.admin_ok(Method::GET, &format!("/users/{user}/sessions"), Value::Null).await;
        let session: SessionId = id(&sessions["items"][0]).parse().expect("an id");
        overtaken.was_refused("a session", admin::end_session(host, user, session, by, &guard).await).await;
        overtaken.was_refused("sessions", admin::end_sessions(host, user, by, &guard).await).await;
        let application: Did = ada.application.id.parse().expect("an id");
        let withdrawn = admin::withdraw_consent(host, user, application, by, &guard).await;
        overtaken.was_refused("a consent", withdrawn).await;

        // Who has no role is acted upon, whatever else was changed of them meanwhile.
        overtaken.is_first.store(false, Ordering::Relaxed);
        let is_first = AtomicBool::new(true);
        let renamed = |known: &User| {
            if is_first.swap(false, Ordering::Relaxed) {
                let change = UserChange { name: Some("countess".to_owned()), ..UserChange::default() };
                let renaming = admin::change_user(host, known.id, change, by, &admin::whatever_it_is);
                tokio::task::block_in_place(|| Handle::current().block_on(renaming)).expect("renamed");
            }
            Ok(())
        };
        admin::create_enrolment(host, user, by, &renamed).await.expect("a link");
    }
}

/// The same of what takes a vendor's channel, and of a table.
#[tokio::test]
async fn a_write_is_for_the_person_who_was_checked_on_both_databases() {
    for database in Database::BOTH {
        let overtaken = Overtaken::new(database).await;
        let (host, store) = (&overtaken.host, &overtaken.host.host.store);
        let seen = store.user(overtaken.user).await.expect("read").expect("somebody");
        let now = host.host.now();
        let address = ApprovalAddress { channel: "vendor".to_owned(), address: "mallory".to_owned() };
        assert!(store.set_approval_address(&seen, address.clone(), Vec::new(), None, now).await.expect("set"));
        overtaken.role(Some(ConsoleRole::Admin)).await;
        let set = store.set_approval_address(&seen, address, Vec::new(), None, now).await;
        assert!(matches!(set, Err(StoreError::Stale)), "{database:?}");
        let removed = store.remove_approval_address(&seen, "vendor", Vec::new()).await;
        assert!(matches!(removed, Err(StoreError::Stale)), "{database:?}");
        assert_eq!(overtaken.items(&format!("/users/{}/approval-addresses", seen.id)).await, 1, "{database:?}");

        let account =
            store.account(id(&overtaken.ada.account).parse().expect("an id")).await.expect("read").expect("one");
        let before = Some(account.state);
        let changed = assent::model::account::Account { roles: vec!["root".to_owned()], ..account };
        let write = assent::store::AccountWrite { account: changed, whom: (&seen).into(), before, entries: Vec::new() };
        let kept = store.keep_accounts(vec![write], now).await;
        assert!(matches!(kept, Err(StoreError::Stale)), "{database:?}");
        let kept = host.admin_ok(Method::GET, &format!("/accounts/{}", id(&overtaken.ada.account)), Value::Null).await;
        assert_ne!(kept["roles"], json!(["root"]), "{database:?}");
    }
}
