//! The lifecycle states of users and accounts.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{
    Application, Body, Browser, Database, Respond, TestHost, TestUser, Text, http_client, id,
};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::oidc::token::userinfo;

async fn state(host: &TestHost, path: &str) -> Value {
    host.admin_ok(Method::GET, path, Value::Null).await["state"].clone()
}

async fn set(host: &TestHost, path: &str, state: &str) {
    host.admin_ok(Method::PATCH, path, json!({"state": state}))
        .await;
}

#[both_databases]
async fn a_user_is_invited_until_the_first_device_is_enrolled(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let user = host.user("ada").await;
    let path = format!("/users/{}", id(&user));
    assert_eq!(user["state"], "invited", "{database:?}");
    let account = host.account(&user, &application).await;
    let device = host.authenticator(&user).await;
    assert_eq!(state(&host, &path).await, "active", "{database:?}");
    let returned = entries(
        &host,
        &format!("user={}&event=user.lifecycle-changed", id(&user)),
    )
    .await;
    assert_eq!(
        (
            &returned[0]["detail"]["before"],
            &returned[0]["detail"]["after"]
        ),
        (&json!("invited"), &json!("active"))
    );
    assert_eq!(
        returned[0]["actor"],
        json!({"kind": "device", "id": device.device().to_string()})
    );
    // The enrolment of a second device changes nothing.
    host.authenticator(&user).await;
    assert_eq!(
        entries(
            &host,
            &format!("user={}&event=user.lifecycle-changed", id(&user))
        )
        .await
        .len(),
        1
    );
    let ada = TestUser {
        user,
        device,
        application,
        account,
    };
    assert!(
        ada.sign_in(&Browser::new(&host.base))
            .await
            .starts_with("ac_")
    );
}

#[both_databases]
async fn an_enrolment_link_is_invalid_after_suspension_or_termination(database: Database) {
    let host = TestHost::start_on(database).await;
    for (name, closed) in [("ada", "suspended"), ("eve", "terminated")] {
        let user = host.user(name).await;
        let path = format!("/users/{}", id(&user));
        let link = host
            .admin_ok(Method::POST, &format!("{path}/enrolments"), Value::Null)
            .await;
        let link = link["link"].text();
        set(&host, &path, closed).await;
        let refused = assent::authenticator::enrolled::Authenticator::enrol(link, "Phone", None)
            .await
            .expect_err("closed");
        assert!(
            refused.to_string().starts_with("link_withdrawn"),
            "{refused}"
        );
        assert_eq!(state(&host, &path).await, closed);
    }
}

#[both_databases]
async fn an_invited_account_becomes_active_with_its_first_sign_in(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let user = host.user("ada").await;
    let device = host.authenticator(&user).await;
    let path = format!("/applications/{}/accounts", application.id);
    let account = host
        .admin_ok(
            Method::POST,
            &path,
            json!({"user_id": id(&user), "state": "invited"}),
        )
        .await;
    let ada = TestUser {
        user,
        device,
        application,
        account,
    };
    let path = format!("/accounts/{}", id(&ada.account));
    assert_eq!(state(&host, &path).await, "invited");
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    assert_eq!(
        state(&host, &path).await,
        "invited",
        "the user was not signed in yet"
    );
    let code = browser.finish(&page.url).await.parameter("code");
    assert_eq!(state(&host, &path).await, "active", "{database:?}");
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let returned = entries(
        &host,
        &format!(
            "application={}&event=account.lifecycle-changed",
            ada.application.id
        ),
    )
    .await;
    assert_eq!(returned.len(), 1, "{database:?}");
    ada.sign_in(&Browser::new(&host.base)).await;
    assert_eq!(
        events(&entries(&host, "event=account.lifecycle-changed").await).len(),
        1
    );
}

#[tokio::test]
async fn invalid_lifecycle_transitions_are_rejected_with_a_reason() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (user, account) = (
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    );
    for path in [&user, &account] {
        for (states, status, word) in [
            (&["active"][..], 200, ""),
            (
                &["invited"],
                422,
                "state: cannot change from active to invited",
            ),
            (&["suspended", "suspended"], 200, ""),
            (
                &["invited"],
                422,
                "state: cannot change from suspended to invited",
            ),
            (&["terminated", "terminated"], 200, ""),
            (&["suspended"], 422, "stays terminated"),
            (&["active"], 422, "stays terminated"),
        ] {
            for state in states {
                let (got, answer) = host
                    .admin(Method::PATCH, path, json!({"state": state}))
                    .await;
                assert_eq!(got.as_u16(), status, "{path} {state}: {answer}");
                assert!(
                    word.is_empty()
                        || answer["detail"]
                            .as_str()
                            .is_some_and(|detail| detail.contains(word)),
                    "{answer}"
                );
            }
        }
    }
    for (path, body) in [
        (
            "/users".to_owned(),
            json!({"name": "eve", "state": "terminated"}),
        ),
        (
            format!("/applications/{}/accounts", ada.application.id),
            json!({"user_id": id(&host.user("bob").await), "state": "suspended"}),
        ),
    ] {
        assert_eq!(
            host.admin(Method::POST, &path, body).await.0,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{path}"
        );
    }
}

/// Everything that can be open in the name of Ada: codes, tokens, sessions and sign-ins.
struct OpenGrants {
    unexchanged: String,
    access: String,
    refresh: String,
    session: Browser,
    unused: crate::harness::Page,
    open: crate::harness::Page,
}

impl OpenGrants {
    async fn new(host: &TestHost, ada: &TestUser) -> Self {
        let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let session = Browser::new(&host.base);
        let unexchanged = ada.sign_in(&session).await;
        let unused = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        ada.approve(&unused).await;
        let open = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        Self {
            unexchanged,
            access: tokens["access_token"].text().to_owned(),
            refresh: refresh_token(&tokens).to_owned(),
            session,
            unused,
            open,
        }
    }

    /// Checks that none of it is valid.
    async fn assert_revoked(&self, host: &TestHost, ada: &TestUser, when: &str) {
        let (_, answer) = ada
            .application
            .exchange(&host.base, &self.unexchanged, &[])
            .await;
        assert_eq!(answer["error"], "invalid_grant", "{when}: the code");
        assert_eq!(
            userinfo(host, &self.access).await.0,
            StatusCode::UNAUTHORIZED,
            "{when}: the access token"
        );
        let introspected = introspect(host, &ada.application, &self.access).await;
        assert_eq!(
            introspected,
            json!({"active": false}),
            "{when}: at introspection"
        );
        let (_, answer) = refresh(&host.base, &ada.application, &self.refresh, &[]).await;
        assert_eq!(
            answer["error"], "invalid_grant",
            "{when}: the refresh token"
        );
        assert!(
            ada.device.pending_requests(0).await.is_empty(),
            "{when}: the device is not prompted"
        );
        assert_eq!(
            self.open.again().await.number(),
            self.open.number(),
            "{when}: the browser shows no difference"
        );
        let unused = self.unused.again().await;
        assert!(
            unused.headers.get("location").is_none() && unused.headers.get("set-cookie").is_none(),
            "{when}"
        );
    }
}

async fn introspect(host: &TestHost, application: &Application, token: &str) -> Value {
    let url = format!("{}/oidc/token/introspection", host.base);
    let request = http_client()
        .post(url)
        .basic_auth(&application.id, application.secret.as_ref());
    request
        .form(&[("token", token)])
        .response()
        .await
        .read_json()
        .await
}

#[both_databases]
async fn suspension_and_termination_revoke_everything_at_once_and_for_good(database: Database) {
    for closed in ["suspended", "terminated"] {
        let (host, ada) = TestHost::start_on(database).await.with_ada().await;
        let path = format!("/users/{}", id(&ada.user));
        let started = OpenGrants::new(&host, &ada).await;
        set(&host, &path, closed).await;
        started.assert_revoked(&host, &ada, closed).await;
        assert!(
            !started.session.get("/").await.body.contains("Hello,"),
            "{closed}"
        );
        if closed == "suspended" {
            set(&host, &path, "active").await;
            started.assert_revoked(&host, &ada, "active again").await;
            assert!(!started.session.get("/").await.body.contains("Hello,"));
            // A grant in the same millisecond as the suspension counts as earlier.
            host.advance(1);
            let code = ada.sign_in(&Browser::new(&host.base)).await;
            assert_eq!(
                ada.application.exchange(&host.base, &code, &[]).await.0,
                StatusCode::OK,
                "{database:?}"
            );
        }
    }
}

#[both_databases]
async fn a_closed_account_ends_its_grants_but_not_the_session(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let other = host.web_application().await;
    host.account(&ada.user, &other).await;
    let path = format!("/accounts/{}", id(&ada.account));
    let started = OpenGrants::new(&host, &ada).await;
    let at_other = |changes| other.request(changes);
    let login = started.session.get(&at_other(&[])).await.location();
    let code = started
        .session
        .finish(login.as_str())
        .await
        .parameter("code");
    let (_, tokens) = other.exchange(&host.base, &code, &[]).await;
    set(&host, &path, "suspended").await;
    started.assert_revoked(&host, &ada, "suspended").await;
    assert_eq!(
        userinfo(&host, tokens["access_token"].text()).await.0,
        StatusCode::OK
    );
    let silent = started
        .session
        .get(&at_other(&[("prompt", Some("none"))]))
        .await;
    assert!(
        silent.parameter("code").starts_with("ac_"),
        "{database:?}: the session continues"
    );
    let refused = started
        .session
        .get(&ada.application.request(&[("prompt", Some("none"))]))
        .await;
    assert_eq!(refused.parameter("error"), "access_denied");
    set(&host, &path, "active").await;
    started.assert_revoked(&host, &ada, "active again").await;
}

#[tokio::test]
async fn a_closed_account_does_not_end_requests_of_other_applications() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let other = host.web_application().await;
    let account = host.account(&ada.user, &other).await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    set(&host, &format!("/accounts/{}", id(&account)), "suspended").await;
    // A request for the closed account does not replace it either.
    let attacker = Browser::new(&host.base);
    let login = other.login_page(&attacker, &[]).await;
    login.submit(&login.path(), &[("name", "ada")]).await;
    ada.approve(&page).await;
    assert!(
        browser
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[both_databases]
async fn approvals_of_a_revoked_device_are_void(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", ada.device.device()),
        Value::Null,
    )
    .await;
    let left = browser.get(&page.url).await;
    assert!(
        left.headers.get("location").is_none() && left.headers.get("set-cookie").is_none(),
        "{database:?}"
    );
    host.advance(120);
    assert_eq!(browser.get(&page.url).await.outcome(), "expired");
}
