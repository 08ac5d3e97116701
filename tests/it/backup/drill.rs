//! The restore drill: codes, tokens, devices and sessions that were used, revoked or ended after the backup stay
//! invalid.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Restored, back_up, export, query_value, run_ok};
use crate::harness::{
    Application, Browser, Database, Device, HostOptions, TestHost, TestUser, Text, connect, id,
    in_time,
};
use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};
use crate::oidc::token::userinfo;

fn options_on(database: Database) -> HostOptions<'static> {
    HostOptions {
        database,
        ..HostOptions::default()
    }
}

async fn set_state(host: &TestHost, user: &Value, state: &str) {
    let path = format!("/users/{}", id(user));
    host.admin_ok(Method::PATCH, &path, json!({"state": state}))
        .await;
}

async fn state(host: &TestHost, user: &Value) -> String {
    let path = format!("/users/{}", id(user));
    let user = host.admin_ok(Method::GET, &path, Value::Null).await;
    user["state"].text().to_owned()
}

async fn revoke(host: &TestHost, user: &Value, name: &str) {
    let path = format!("/users/{}/devices", id(user));
    let devices = host.admin_ok(Method::GET, &path, Value::Null).await;
    let devices = devices["items"].as_array().expect("a list");
    let device = devices.iter().find(|device| device["name"] == name);
    let path = format!("/devices/{}", id(device.expect("the device")));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
}

/// Returns whether a recovery code is valid.
async fn recovers(host: &TestHost, name: &str, code: &str) -> bool {
    let page = Browser::new(&host.base).get("/recover").await;
    let answer = page
        .submit("/recover", &[("name", name), ("code", code)])
        .await;
    answer.status == StatusCode::SEE_OTHER
}

async fn is_rejected(host: &TestHost, application: &Application, token: &str) {
    let (status, answer) = refresh(&host.base, application, token, &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
}

/// The users of the drill.
struct Cast {
    application: Application,
    /// Does not change after the backup.
    ada: TestUser,
    suspended: TestUser,
    terminated: TestUser,
    erased: TestUser,
    deleted: TestUser,
    /// Loses one of two devices.
    careless: TestUser,
    lost: Device,
    /// Is suspended at the backup, and active again later.
    lifted: TestUser,
    /// Loses the account in the application.
    guest: TestUser,
}

impl Cast {
    async fn enter(host: &TestHost) -> Self {
        let application = host.web_application().await;
        let enter = async |name| host.user_with_account(name, application.clone()).await;
        let careless = enter("careless").await;
        let lost = Device::enrol(&host.enrolment_link(&careless.user).await, "Lost phone").await;
        Self {
            ada: enter("ada").await,
            suspended: enter("suspended").await,
            terminated: enter("terminated").await,
            erased: enter("erased").await,
            deleted: enter("deleted").await,
            lifted: enter("lifted").await,
            guest: enter("guest").await,
            careless,
            lost,
            application,
        }
    }

    async fn change(&self, host: &TestHost) {
        set_state(host, &self.suspended.user, "suspended").await;
        set_state(host, &self.lifted.user, "suspended").await;
        set_state(host, &self.terminated.user, "terminated").await;
        set_state(host, &self.erased.user, "terminated").await;
        set_state(host, &self.lifted.user, "active").await;
        let path = format!("/users/{}/erase", id(&self.erased.user));
        host.admin_ok(Method::POST, &path, Value::Null).await;
        let path = format!("/users/{}", id(&self.deleted.user));
        host.admin_ok(Method::DELETE, &path, Value::Null).await;
        revoke(host, &self.careless.user, "Lost phone").await;
        let path = format!("/accounts/{}", id(&self.guest.account));
        let closed = json!({"state": "suspended"});
        host.admin_ok(Method::PATCH, &path, closed).await;
        let path = format!("/applications/{}/secret/rotate", self.application.id);
        host.admin_ok(Method::POST, &path, Value::Null).await;
        let late = host.user("late").await;
        set_state(host, &late, "suspended").await;
    }
}

#[both_databases]
async fn a_restore_invalidates_credentials_and_reapplies_revocations(database: Database) {
    let host = TestHost::start_on(database).await;
    let cast = Cast::enter(&host).await;
    let application = &cast.application;
    let codes = cast.ada.device.recovery_codes().await;
    let browser = Browser::new(&host.base);
    cast.ada.sign_in(&browser).await;
    let unused_code = cast.ada.sign_in(&Browser::new(&host.base)).await;
    let before = offline_tokens(&host, &cast.ada).await;
    let old_token = host.token.clone();
    let unused_link = host.enrolment_link(&cast.ada.user).await;

    let backup = back_up(&host).await;
    let mode = std::fs::metadata(&backup).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);

    let (_, after) = refresh(&host.base, application, refresh_token(&before), &[]).await;
    let (status, last) = refresh(&host.base, application, refresh_token(&after), &[]).await;
    assert_eq!(status, StatusCode::OK, "{last}");
    assert!(recovers(&host, "ada", &codes[0]).await);
    cast.change(&host).await;
    let export = export(&host).await;

    let restored = Restored::empty(database).await;
    let arguments = ["restore", backup.text(), "--audit-export", export.text()];
    let printed = run_ok(&host, restored.url(), &arguments).await;
    for line in [
        "Applied again: users suspended: 1, terminated: 2, erased: 1, deleted: 1; accounts closed: 1; devices \
         revoked: 1. Changes that the backup contains: 0; of users or devices that it does not contain: 1.",
        "Changes that may have taken rights away: 1. Check each, and repeat it by hand:\n  ",
        " application.secret-rotated application ",
        "The backup does not contain the user",
        "10 recovery codes",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let Restored {
        folder,
        database: url,
    } = restored;
    let url_text = url.url().to_owned();
    let verified = run_ok(&host, &url_text, &["audit", "verify"]).await;
    assert!(verified.contains("Intact"), "{verified}");
    assert!(verified.contains("in 2 lanes"), "{verified}");
    let host = host.replace(url, options_on(database)).await;

    // Tokens, sessions, codes and links.
    for token in [&before, &after, &last] {
        is_rejected(&host, application, refresh_token(token)).await;
        let access = token["access_token"].text();
        assert_eq!(userinfo(&host, access).await.0, StatusCode::UNAUTHORIZED);
    }
    let silent = application.request(&[("prompt", Some("none"))]);
    let answer = browser.get(&silent).await;
    assert_eq!(answer.parameter("error"), "login_required");
    let (status, _) = application.exchange(&host.base, &unused_code, &[]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!recovers(&host, "ada", &codes[0]).await);
    assert!(!recovers(&host, "ada", &codes[1]).await);
    let enrolled =
        assent::authenticator::enrolled::Authenticator::enrol(&unused_link, "Late", None).await;
    assert!(enrolled.is_err(), "a link of the backup");
    let stale = crate::harness::http_client()
        .get(format!("{}/admin/api/v1/users", host.base))
        .bearer_auth(old_token);
    let status = stale.send().await.expect("an answer").status();
    assert_eq!(status, StatusCode::UNAUTHORIZED);

    check_users(&host, &cast).await;
    check_log(&host, &url_text).await;

    // The other users sign in again with their remaining device.
    for user in [&cast.ada, &cast.careless, &cast.lifted] {
        let browser = Browser::new(&host.base);
        let waiting = user.begin_sign_in(&browser, &[]).await;
        user.approve(&waiting).await;
        let code = browser.finish(&waiting.url).await.parameter("code");
        let (status, tokens) = application.exchange(&host.base, &code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        let access = tokens["access_token"].text();
        assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    }
    drop(folder);
}

async fn check_users(host: &TestHost, cast: &Cast) {
    assert_eq!(state(host, &cast.suspended.user).await, "suspended");
    assert_eq!(state(host, &cast.terminated.user).await, "terminated");
    assert_eq!(state(host, &cast.lifted.user).await, "active");
    let path = format!("/accounts/{}", id(&cast.guest.account));
    let account = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(account["state"], "suspended");
    let path = format!("/users/{}", id(&cast.erased.user));
    let erased = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(erased["name"], format!("erased-{}", id(&cast.erased.user)));
    let path = format!("/users/{}", id(&cast.deleted.user));
    let (status, _) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(cast.lost.waiting(1).await.is_err(), "a revoked device");
    let browser = Browser::new(&host.base);
    cast.suspended.begin_sign_in(&browser, &[]).await;
    let requests = cast.suspended.device.waiting(1).await;
    assert!(
        requests.map_or(true, |requests| requests.is_empty()),
        "a suspended user receives no request"
    );
}

async fn check_log(host: &TestHost, url: &str) {
    let events = host
        .admin_ok(
            Method::GET,
            "/audit?event=database.restored&limit=5",
            Value::Null,
        )
        .await;
    let entry = &events["items"][0];
    assert_eq!(entry["actor"]["kind"], "server", "{entry}");
    let detail = &entry["detail"];
    assert!(detail["backup_at"].is_i64(), "{detail}");
    for (name, count) in [
        ("recovery_codes", 10),
        ("users_suspended", 1),
        ("users_erased", 1),
        ("devices_revoked", 1),
        ("unknown", 1),
    ] {
        assert_eq!(detail[name], count, "{detail}");
    }
    assert_eq!(detail["audit_export"], true, "{detail}");
    let mut connection = connect(url).await;
    let markers: i64 = query_value(&mut connection, "SELECT COUNT(*) FROM approvals").await;
    assert_eq!(markers, 1, "only the entry of the suspended user's sign-in");
    connection.close().await;
}

/// Without an export, the operator must accept the risk.
#[both_databases]
async fn a_restore_without_an_export_needs_consent(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(database).await;
    let message = super::run_err(&host, restored.url(), &["restore", backup.text()]).await;
    assert!(message.contains("--accept-lost-revocations"), "{message}");
    assert!(message.contains("suspended"), "{message}");
    assert!(restored.is_untouched().await);

    let checked = run_ok(
        &host,
        restored.url(),
        &["restore", backup.text(), "--check"],
    )
    .await;
    assert!(checked.contains("can be restored"), "{checked}");
    assert!(restored.is_untouched().await);

    let arguments = ["restore", backup.text(), "--accept-lost-revocations"];
    let printed = run_ok(&host, restored.url(), &arguments).await;
    assert!(
        printed.contains("Suspend, terminate and erase again"),
        "{printed}"
    );
    let Restored {
        folder,
        database: url,
    } = restored;
    let host = host.replace(url, options_on(database)).await;
    is_rejected(&host, &ada.application, refresh_token(&tokens)).await;
    drop(folder);
}

/// The backup contains the state of one moment: a user and the user's account are both in it or both absent.
#[both_databases]
async fn a_backup_under_writes_is_consistent(database: Database) {
    let host = Arc::new(TestHost::start_on(database).await);
    let application = host.web_application().await;
    let stop = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(tokio::sync::Semaphore::new(0));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let (host, stop) = (Arc::clone(&host), Arc::clone(&stop));
        let (application, begun) = (application.clone(), Arc::clone(&begun));
        writers.spawn(async move {
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                let name = format!("user-{writer}-{count}");
                let user = host.user(&name).await;
                host.account(&user, &application).await;
                count += 1;
                begun.add_permits(1);
            }
        });
    }
    // Some users exist before the backup.
    in_time(begun.acquire_many(8))
        .await
        .expect("written")
        .forget();
    let backup = back_up(&host).await;
    stop.store(true, Ordering::Relaxed);
    in_time(writers.join_all()).await;

    let restored = Restored::empty(database).await;
    let arguments = ["restore", backup.text(), "--accept-lost-revocations"];
    run_ok(&host, restored.url(), &arguments).await;
    let verified = run_ok(&host, restored.url(), &["audit", "verify"]).await;
    assert!(verified.contains("Intact"), "{verified}");
    let mut connection = connect(restored.url()).await;
    // Each user has an audit entry, and each entry has its user. The same applies to accounts.
    for (event, table) in [
        (
            "SELECT COUNT(*) FROM audit_entries WHERE event = 'user.created'",
            "SELECT COUNT(*) FROM users",
        ),
        (
            "SELECT COUNT(*) FROM audit_entries WHERE event = 'account.created'",
            "SELECT COUNT(*) FROM accounts",
        ),
    ] {
        let events: i64 = query_value(&mut connection, event).await;
        let rows: i64 = query_value(&mut connection, table).await;
        assert_eq!(events, rows, "{table}");
        assert!(rows > 0, "{table}");
    }
    connection.close().await;
}
