//! Sign-in with a passkey on the login page.

use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::software::Software;
use super::{add, call, message};
use crate::harness::{
    Browser, Database, Device, Page, Respond, TestHost, TestUser, Text, id, jwt_claims,
};
use crate::lifecycle::entries;
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::saml::service_provider::{Response, TestServiceProvider};

const AGREEMENT: &str = "/authenticator/api/device/passkey/sign-in";
const SETTINGS: &str = "[rate_limits]\nunauthenticated_requests = { per_minute = 0 }\n";
const PHR: &str = "http://schemas.openid.net/pape/policies/2007/06/phishing-resistant";

/// Enables sign-in with this passkey, which the device does not have yet.
pub(crate) async fn agree(device: &Device, passkey: &mut Software) {
    let offered = call(device, Method::POST, AGREEMENT, &json!({})).await;
    assert_eq!(offered.status, StatusCode::OK, "{}", offered.body);
    let options = offered.body["options"].clone();
    assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
    create(device, passkey, &options).await;
}

async fn create(device: &Device, passkey: &mut Software, options: &Value) {
    let added = call(
        device,
        Method::PUT,
        AGREEMENT,
        &passkey.create_credential(options),
    )
    .await;
    assert_eq!(added.status, StatusCode::NO_CONTENT, "{}", added.body);
    passkey.handle = options["user"]["id"].clone();
    passkey.counter += 1;
}

/// Sets whether an application permits passkeys.
pub(crate) async fn permit(host: &TestHost, application: &str, permitted: bool) {
    let path = format!("/applications/{application}");
    let change = json!({"passkey_sign_in": permitted});
    let changed = host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(changed["passkey_sign_in"], permitted);
}

/// Returns the status and the challenge for the script of the login page.
async fn challenge(browser: &Browser, login: &Page) -> (StatusCode, Value) {
    let answer = browser
        .request(Method::POST, &format!("{}/passkey/challenge", login.path()))
        .form(&[("csrf", login.csrf())])
        .response()
        .await;
    let status = answer.status();
    let body = answer.text().await.expect("a body");
    (status, serde_json::from_str(&body).unwrap_or_default())
}

/// Returns the assertion of a passkey in the browser's own device, as the script sends it.
fn sent(assertion: &Value) -> String {
    let mut assertion = assertion.clone();
    assertion["authenticatorAttachment"] = "platform".into();
    assertion.to_string()
}

/// Sends an assertion to a login page. Returns the next page.
async fn send(login: &Page, assertion: &str) -> Page {
    let action = format!("{}/passkey", login.path());
    login.submit(&action, &[("assertion", assertion)]).await
}

/// Signs in with this passkey. Returns the page after the assertion.
pub(crate) async fn use_passkey(browser: &Browser, login: &Page, passkey: &Software) -> Page {
    let (status, options) = challenge(browser, login).await;
    assert_eq!(status, StatusCode::OK, "{}", login.body);
    send(login, &sent(&passkey.create_assertion(&options))).await
}

/// Ada's device has a passkey that signs in, and her application permits it.
struct SignIn {
    host: TestHost,
    ada: TestUser,
    passkey: Software,
    browser: Browser,
    login: Page,
}

impl SignIn {
    async fn on(database: Database) -> Self {
        let host = TestHost::start_on_with(database, SETTINGS).await;
        let ada = host.ada().await;
        let mut passkey = Software::new(&host.base);
        agree(&ada.device, &mut passkey).await;
        permit(&host, &ada.application.id, true).await;
        let browser = Browser::new(&host.base);
        let login = ada.application.login_page(&browser, &[]).await;
        Self {
            host,
            ada,
            passkey,
            browser,
            login,
        }
    }

    async fn sqlite() -> Self {
        Self::on(Database::Sqlite).await
    }

    async fn challenge(&self) -> Value {
        let (status, options) = challenge(&self.browser, &self.login).await;
        assert_eq!(status, StatusCode::OK);
        options
    }

    /// Returns an assertion of this passkey for a new challenge.
    async fn assertion_of(&self, passkey: &Software) -> String {
        sent(&passkey.create_assertion(&self.challenge().await))
    }

    /// Checks that this assertion signs no user in: the page still asks for a name, and shows the error.
    async fn assert_rejected(&self, assertion: &str, why: &str) {
        let page = send(&self.login, assertion).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{why}");
        assert!(
            page.body.contains("That passkey can"),
            "{why}: {}",
            page.body
        );
        assert!(page.body.contains("name=\"name\""), "{why}");
        assert!(!self.is_approved().await, "{why}");
    }

    async fn is_approved(&self) -> bool {
        let mut connection = self.host.connection().await;
        let approvals: Vec<(String,)> =
            sql::query_as("SELECT id FROM approvals WHERE kind = 'passkey'")
                .fetch_all(&mut connection)
                .await
                .expect("read");
        !approvals.is_empty()
    }

    /// Returns the claims of the ID token after the browser has continued.
    async fn claims(&self) -> Value {
        let back = self.browser.finish(&self.login.url).await;
        let (status, tokens) = self
            .ada
            .application
            .exchange(&self.host.base, &back.parameter("code"), &[])
            .await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        jwt_claims(tokens["id_token"].text())
    }
}

#[both_databases]
async fn a_passkey_signs_in_without_an_approval(database: Database) {
    let it = SignIn::on(database).await;
    let options = it.challenge().await;
    assert_eq!(options["userVerification"], "required");
    assert_eq!(options["rpId"], "localhost");
    assert_eq!(
        options["allowCredentials"],
        json!([]),
        "without a name, no credential ids"
    );
    send(&it.login, &sent(&it.passkey.create_assertion(&options))).await;
    assert_eq!(it.ada.device.pending_requests(0).await.len(), 0);
    let claims = it.claims().await;
    assert_eq!(claims["amr"], json!(["pop", "user", "mfa"]));
    assert_eq!(claims["acr"], "phr");
    let path = format!("user={}&event=sign-in.approved", id(&it.ada.user));
    let noted = entries(&it.host, &path).await;
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(noted[0]["detail"]["method"], "passkey");
    // A session that a passkey began opens no application without the setting, and no page of the server itself.
    let portal = it.browser.get("/devices").await;
    assert!(portal.location().path().starts_with("/sign-in"));
    let other = it.host.web_application().await;
    it.host.account(&it.ada.user, &other).await;
    let page = it.browser.get(&other.request(&[])).await.opened().await;
    assert!(
        page.body.contains("name=\"name\""),
        "the page asks for a name"
    );
    permit(&it.host, &other.id, true).await;
    let asked = it.browser.get(&other.request(&[])).await.opened().await;
    let back = asked.decide("allow").await;
    assert!(back.parameter("code").starts_with("ac_"));
    for fresh in [("prompt", Some("login")), ("max_age", Some("0"))] {
        let page = other.login_page(&it.browser, &[fresh]).await;
        assert!(page.body.contains("id=\"passkey\""), "{fresh:?}");
    }
}

#[tokio::test]
async fn passkey_sign_in_is_off_by_default() {
    let it = SignIn::sqlite().await;
    let other = it.host.web_application().await;
    let path = format!("/applications/{}", other.id);
    let shown = it.host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(shown["passkey_sign_in"], false);
    let login = other.login_page(&it.browser, &[]).await;
    assert!(!login.body.contains("passkey_sign_in"), "{}", login.body);
    let (status, _) = challenge(&it.browser, &login).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    // A challenge from before the setting was turned off is not valid either.
    let assertion = it.assertion_of(&it.passkey).await;
    permit(&it.host, &it.ada.application.id, false).await;
    let page = send(&it.login, &assertion).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!it.is_approved().await);
}

#[both_databases]
async fn a_challenge_is_answered_once(database: Database) {
    let it = SignIn::on(database).await;
    let options = it.challenge().await;
    let bad = Software {
        verified: false,
        ..it.passkey.clone()
    };
    it.assert_rejected(
        &sent(&bad.create_assertion(&options)),
        "without user verification",
    )
    .await;
    it.assert_rejected(&sent(&it.passkey.create_assertion(&options)), "used up")
        .await;
    let (first, second) = (it.challenge().await, it.challenge().await);
    it.assert_rejected(&sent(&it.passkey.create_assertion(&first)), "replaced")
        .await;
    it.assert_rejected(
        &sent(&it.passkey.create_assertion(&second)),
        "used up by that",
    )
    .await;
    it.assert_rejected(
        &sent(&it.passkey.create_assertion(&json!({"challenge": "AAAA"}))),
        "none",
    )
    .await;
    it.assert_rejected("{}", "not an assertion").await;
    let good = it.assertion_of(&it.passkey).await;
    send(&it.login, &good).await;
    it.claims().await;
    // A replay of the same assertion, in another sign-in of the browser.
    let again = it
        .ada
        .application
        .login_page(&it.browser, &[("prompt", Some("login"))])
        .await;
    challenge(&it.browser, &again).await;
    let page = send(&again, &good).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "replayed");
}

#[both_databases]
async fn of_many_concurrent_assertions_one_counts(database: Database) {
    let it = SignIn::on(database).await;
    let options = it.challenge().await;
    let answers = (0..20).map(|more| {
        let passkey = Software {
            counter: it.passkey.counter + more,
            ..it.passkey.clone()
        };
        let assertion = sent(&passkey.create_assertion(&options));
        let login = &it.login;
        async move { send(login, &assertion).await.status }
    });
    futures_util::future::join_all(answers).await;
    let mut connection = it.host.connection().await;
    let approvals: Vec<(String,)> =
        sql::query_as("SELECT id FROM approvals WHERE kind = 'passkey'")
            .fetch_all(&mut connection)
            .await
            .expect("read");
    assert_eq!(approvals.len(), 1);
    it.claims().await;
}

#[tokio::test]
async fn an_assertion_that_the_script_sends_twice_continues_the_sign_in() {
    let it = SignIn::sqlite().await;
    let good = it.assertion_of(&it.passkey).await;
    let (first, second) = tokio::join!(send(&it.login, &good), send(&it.login, &good));
    for answer in [first, second, send(&it.login, &good).await] {
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    }
    it.claims().await;
}

#[tokio::test]
async fn a_challenge_is_bound_to_one_sign_in_in_one_browser() {
    let it = SignIn::sqlite().await;
    // Another sign-in of the same browser.
    let other = it.ada.application.login_page(&it.browser, &[]).await;
    let (_, options) = challenge(&it.browser, &other).await;
    it.challenge().await;
    it.assert_rejected(
        &sent(&it.passkey.create_assertion(&options)),
        "of another sign-in",
    )
    .await;
    // A relay: the attacker's sign-in, with an assertion from the victim's browser.
    let attacker = Browser::new(&it.host.base);
    let theirs = it.ada.application.login_page(&attacker, &[]).await;
    let (_, options) = challenge(&attacker, &theirs).await;
    let assertion = sent(&it.passkey.create_assertion(&options));
    let (status, _) = challenge(&it.browser, &theirs).await;
    assert_eq!(
        status,
        StatusCode::FORBIDDEN,
        "the CSRF token of the page is bound to its browser"
    );
    for path in [it.login.path(), theirs.path()] {
        let page = it
            .browser
            .post(
                &format!("{path}/passkey"),
                &[("csrf", &it.login.csrf()), ("assertion", &assertion)],
            )
            .await;
        assert!(page.status.is_client_error(), "{path}: {}", page.status);
    }
    // Without any cookie.
    let page = Browser::new(&it.host.base)
        .post(
            &format!("{}/passkey", theirs.path()),
            &[("csrf", &theirs.csrf()), ("assertion", &assertion)],
        )
        .await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(!it.is_approved().await);
}

#[tokio::test]
async fn only_an_assertion_for_this_server_counts() {
    let it = SignIn::sqlite().await;
    let good = || it.passkey.clone();
    let bad = [
        (
            Software {
                origin: "https://id.evil.example".to_owned(),
                ..good()
            },
            "another origin",
        ),
        (
            Software {
                origin: "http://localhost:1".to_owned(),
                ..good()
            },
            "another port",
        ),
        (
            Software {
                rp_id: "evil.example".to_owned(),
                ..good()
            },
            "another relying party",
        ),
        (
            Software {
                verified: false,
                ..good()
            },
            "without user verification",
        ),
        (
            Software {
                cross_origin: true,
                ..good()
            },
            "in a frame of another origin",
        ),
        (
            Software {
                handle: Value::Null,
                ..good()
            },
            "without a user handle",
        ),
        (
            Software {
                handle: "AAAAAAAAAAAAAAAAAAAAAA".into(),
                ..good()
            },
            "another user handle",
        ),
        (Software::new(&it.host.base), "an unknown passkey"),
    ];
    for (passkey, why) in bad {
        it.assert_rejected(&it.assertion_of(&passkey).await, why)
            .await;
    }
    let mut forged = it.passkey.create_assertion(&it.challenge().await);
    let other = it.passkey.create_assertion(&json!({"challenge": "AAAA"}));
    forged["response"]["signature"] = other["response"]["signature"].clone();
    it.assert_rejected(&sent(&forged), "another signature")
        .await;
}

/// The server accepts at most one of two copies of a key, and records the suspected clone.
#[tokio::test]
async fn an_assertion_with_a_decreased_counter_does_not_sign_in() {
    let it = SignIn::sqlite().await;
    let ahead = Software {
        counter: 9,
        ..it.passkey.clone()
    };
    send(&it.login, &it.assertion_of(&ahead).await).await;
    it.claims().await;
    let again = it
        .ada
        .application
        .login_page(&it.browser, &[("prompt", Some("login"))])
        .await;
    let (_, options) = challenge(&it.browser, &again).await;
    let page = send(&again, &sent(&it.passkey.create_assertion(&options))).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    let path = format!("user={}&event=passkey.clone-suspected", id(&it.ada.user));
    assert_eq!(entries(&it.host, &path).await.len(), 1);
}

#[tokio::test]
async fn a_passkey_without_an_agreement_does_not_sign_in() {
    let it = SignIn::sqlite().await;
    let eve = it
        .host
        .user_with_account("eve", it.ada.application.clone())
        .await;
    let mut hers = Software::new(&it.host.base);
    add(&eve.device, &hers).await;
    hers.counter = 2;
    it.assert_rejected(&it.assertion_of(&hers).await, "for approvals only")
        .await;
    // Enabling sign-in needs her existing passkey, and creates another one.
    let bare = call(&eve.device, Method::POST, AGREEMENT, &json!({})).await;
    assert_eq!(message(&bare), (StatusCode::CONFLICT, "passkey_required"));
    let unproven = json!({"passkey": it.passkey.create_assertion(&bare.body["options"])});
    let refused = call(&eve.device, Method::POST, AGREEMENT, &unproven).await;
    assert_eq!(
        message(&refused),
        (StatusCode::FORBIDDEN, "invalid_passkey")
    );
    let bare = call(&eve.device, Method::POST, AGREEMENT, &json!({})).await;
    let proven = json!({"passkey": hers.create_assertion(&bare.body["options"])});
    let offered = call(&eve.device, Method::POST, AGREEMENT, &proven).await;
    assert_eq!(offered.status, StatusCode::OK, "{}", offered.body);
    let mut discoverable = Software::new(&it.host.base);
    create(&eve.device, &mut discoverable, &offered.body["options"]).await;
    send(&it.login, &it.assertion_of(&discoverable).await).await;
    let back = it.browser.finish(&it.login.url).await;
    assert!(back.parameter("code").starts_with("ac_"));
    // The old passkey is removed for approvals as well.
    let options = call(&eve.device, Method::POST, super::REMOVAL, &json!({})).await;
    let allowed = &options.body["options"]["allowCredentials"];
    assert_eq!(allowed.as_array().map(Vec::len), Some(1), "{allowed}");
}

#[tokio::test]
async fn an_agreement_is_withdrawn_on_the_device_and_in_the_portal_and_given_again() {
    let it = SignIn::sqlite().await;
    let device = &it.ada.device;
    let mut passkey = it.passkey.clone();
    for portal in [false, true] {
        if portal {
            let own = Browser::new(&it.host.base);
            let login = own.get("/devices").await.opened().await.opened().await;
            let waiting = login.submit_name("ada").await;
            let request = device.pending_requests(5).await.remove(0);
            let number = waiting.number();
            let proof = super::proof(device, &request, &number, None);
            let asked = super::send(device, &request, &proof).await;
            let shown = passkey.create_assertion(&asked.body["options"]);
            passkey.counter += 1;
            let proof = super::proof(device, &request, &number, Some(shown));
            super::send(device, &request, &proof).await;
            own.finish(&login.url).await;
            let devices = own.get("/devices").await;
            let path = format!("/devices/{}/passkey-sign-in", device.device());
            assert!(devices.body.contains(&path), "{}", devices.body);
            devices.submit(&path, &[]).await;
            assert!(!own.get("/devices").await.body.contains(&path));
        } else {
            let stopped = call(device, Method::DELETE, AGREEMENT, &Value::Null).await;
            assert_eq!(stopped.status, StatusCode::NO_CONTENT, "{}", stopped.body);
        }
        it.assert_rejected(&it.assertion_of(&passkey).await, "withdrawn")
            .await;
        // The same passkey is sufficient to enable sign-in again.
        let bare = call(device, Method::POST, AGREEMENT, &json!({})).await;
        let proven = json!({"passkey": passkey.create_assertion(&bare.body["options"])});
        passkey.counter += 1;
        let agreed = call(device, Method::POST, AGREEMENT, &proven).await;
        assert_eq!(agreed.body["options"], Value::Null, "{}", agreed.body);
    }
    send(&it.login, &it.assertion_of(&passkey).await).await;
    it.claims().await;
    let about = |event: &str| format!("user={}&event={event}", id(&it.ada.user));
    for (event, times) in [
        ("passkey.sign-in-allowed", 3),
        ("passkey.sign-in-stopped", 2),
    ] {
        let noted = entries(&it.host, &about(event)).await;
        assert_eq!(noted.len(), times, "{event}: {noted:?}");
    }
}

#[tokio::test]
async fn a_revoked_device_and_a_suspended_user_are_rejected() {
    let it = SignIn::sqlite().await;
    let path = format!("/users/{}", id(&it.ada.user));
    let set = async |state: &str| {
        let change = json!({"state": state});
        it.host.admin_ok(Method::PATCH, &path, change).await
    };
    set("suspended").await;
    it.assert_rejected(&it.assertion_of(&it.passkey).await, "suspended")
        .await;
    set("active").await;
    let account = format!("/accounts/{}", id(&it.ada.account));
    let suspended = json!({"state": "suspended"});
    it.host.admin_ok(Method::PATCH, &account, suspended).await;
    let next = Software {
        counter: it.passkey.counter + 1,
        ..it.passkey.clone()
    };
    it.assert_rejected(&it.assertion_of(&next).await, "a suspended account")
        .await;
    let active = json!({"state": "active"});
    it.host.admin_ok(Method::PATCH, &account, active).await;
    let assertion = it.assertion_of(&it.passkey).await;
    let revoked = call(
        &it.ada.device,
        Method::DELETE,
        "/authenticator/api/device",
        &Value::Null,
    )
    .await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    it.assert_rejected(&assertion, "revoked").await;
}

#[tokio::test]
async fn a_disabled_application_receives_no_sign_in() {
    let it = SignIn::sqlite().await;
    let assertion = it.assertion_of(&it.passkey).await;
    let path = format!("/applications/{}", it.ada.application.id);
    it.host
        .admin_ok(Method::PATCH, &path, json!({"enabled": false}))
        .await;
    let page = send(&it.login, &assertion).await;
    assert!(page.followed().await.body.contains("disabled"));
    let (status, _) = challenge(&it.browser, &it.login).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(!it.is_approved().await);
}

/// A revocation or a withdrawal before the response to the application ends the approval.
#[tokio::test]
async fn an_approval_ends_with_the_agreement() {
    let it = SignIn::sqlite().await;
    let consent = [("prompt", Some("consent"))];
    let login = it.ada.application.login_page(&it.browser, &consent).await;
    let (_, options) = challenge(&it.browser, &login).await;
    send(&login, &sent(&it.passkey.create_assertion(&options))).await;
    let asked = it.browser.get(&login.url).await;
    assert!(asked.asks_for_consent(), "{}", asked.body);
    call(&it.ada.device, Method::DELETE, AGREEMENT, &Value::Null).await;
    let page = asked.decide("allow").await;
    let page = page.followed().await;
    assert!(!page.body.contains("code="), "{}", page.body);
    assert!(!page.body.contains("id=\"number\""), "{}", page.body);
}

/// A passkey in another device, through the browser's hybrid transport. Its owner may not be the user of the browser.
#[tokio::test]
async fn a_passkey_of_another_device_requires_confirmation_of_the_account() {
    let it = SignIn::sqlite().await;
    let mut assertion = it.passkey.create_assertion(&it.challenge().await);
    assertion["authenticatorAttachment"] = "cross-platform".into();
    send(&it.login, &assertion.to_string()).await;
    let page = it.browser.get(&it.login.url).await;
    assert!(page.asks_to_confirm(), "{}", page.body);
    let mut back = page.confirm().await;
    if back.asks_for_consent() {
        back = back.decide("allow").await;
    }
    assert!(back.parameter("code").starts_with("ac_"));
    // The browser is known to the user now.
    let again = it
        .ada
        .application
        .login_page(&it.browser, &[("prompt", Some("login"))])
        .await;
    let (_, options) = challenge(&it.browser, &again).await;
    let next = Software {
        counter: it.passkey.counter + 1,
        ..it.passkey.clone()
    };
    let mut assertion = next.create_assertion(&options);
    assertion["authenticatorAttachment"] = "cross-platform".into();
    send(&again, &assertion.to_string()).await;
    let back = it.browser.get(&again.url).await;
    assert!(back.parameter("code").starts_with("ac_"));
}

/// Neither a stranger who submits the name nor the resulting cooldown affects the user's own passkey.
#[tokio::test]
async fn a_cooldown_does_not_block_a_passkey() {
    let it = SignIn::sqlite().await;
    let stranger = Browser::new(&it.host.base);
    it.ada.begin_sign_in(&stranger, &[]).await;
    let request = it.ada.device.pending_requests(5).await.remove(0);
    it.ada.device.submit_report(&request).await;
    assert!(it.ada.device.cooldown_end().await.is_some());
    send(&it.login, &it.assertion_of(&it.passkey).await).await;
    it.claims().await;
    assert!(it.ada.device.cooldown_end().await.is_some());
}

#[tokio::test]
async fn an_application_can_require_a_passkey() {
    const REQUIRED: &str = r#"{"id_token": {"acr": {"essential": true, "value": "phr"}}}"#;
    let it = SignIn::sqlite().await;
    let claims = [("claims", Some(REQUIRED))];
    let login = it.ada.application.login_page(&it.browser, &claims).await;
    let (_, options) = challenge(&it.browser, &login).await;
    send(&login, &sent(&it.passkey.create_assertion(&options))).await;
    let back = it.browser.finish(&login.url).await;
    assert!(back.parameter("code").starts_with("ac_"));
    // An approval does not meet this requirement.
    let own = Browser::new(&it.host.base);
    let bob = it
        .host
        .user_with_account("bob", it.ada.application.clone())
        .await;
    let waiting = bob.begin_sign_in(&own, &claims).await;
    bob.approve(&waiting).await;
    let back = own.finish(&waiting.url).await;
    assert_eq!(back.parameter("error"), "unmet_authentication_requirements");
    // The page offers no passkey for a request that only an approval meets.
    const DEVICE: &str =
        r#"{"id_token": {"acr": {"essential": true, "value": "urn:assent:acr:device"}}}"#;
    let login = it
        .ada
        .application
        .login_page(&Browser::new(&it.host.base), &[("claims", Some(DEVICE))])
        .await;
    assert!(!login.body.contains("id=\"passkey\""));
    // Without the setting, the requirement cannot be met.
    permit(&it.host, &it.ada.application.id, false).await;
    let back = own.get(&it.ada.application.request(&claims)).await;
    assert_eq!(back.parameter("error"), "unmet_authentication_requirements");
}

#[tokio::test]
async fn refresh_tokens_end_with_the_setting() {
    let it = SignIn::sqlite().await;
    let login = it.ada.application.login_page(&it.browser, &OFFLINE).await;
    let (_, options) = challenge(&it.browser, &login).await;
    send(&login, &sent(&it.passkey.create_assertion(&options))).await;
    let mut page = it.browser.get(&login.url).await;
    if page.asks_for_consent() {
        page = page.decide("allow").await;
    }
    let (status, tokens) = it
        .ada
        .application
        .exchange(&it.host.base, &page.parameter("code"), &[])
        .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let (status, tokens) = refresh(
        &it.host.base,
        &it.ada.application,
        refresh_token(&tokens),
        &[],
    )
    .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    permit(&it.host, &it.ada.application.id, false).await;
    let (status, error) = refresh(
        &it.host.base,
        &it.ada.application,
        refresh_token(&tokens),
        &[],
    )
    .await;
    assert_eq!(
        (status, error["error"].text()),
        (StatusCode::BAD_REQUEST, "invalid_grant")
    );
}

#[tokio::test]
async fn a_service_provider_receives_the_class_of_phishing_resistant_sign_ins() {
    let it = SignIn::sqlite().await;
    let provider = TestServiceProvider::register(&it.host, json!({"passkey_sign_in": true})).await;
    it.host.account(&it.ada.user, &provider.application()).await;
    let mut passkey = it.passkey.clone();
    let context = |class: &str| {
        format!(
            "<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>{class}</saml:AuthnContextClassRef>\
             </samlp:RequestedAuthnContext>"
        )
    };
    const PASSWORD: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
    for (content, class) in [
        (String::new(), PHR),
        (context(PHR), PHR),
        (context(PASSWORD), PASSWORD),
    ] {
        let browser = Browser::new(&it.host.base);
        let request = provider.request(&it.host).containing(&content);
        let login = provider.begin(&browser, &request, None).await;
        let (status, options) = challenge(&browser, &login).await;
        assert_eq!(status, StatusCode::OK, "{class}: {}", login.body);
        send(&login, &sent(&passkey.create_assertion(&options))).await;
        passkey.counter += 1;
        let response = Response::from_page(&browser.get(&login.url).await);
        assert!(response.is_success(), "{class}");
        assert_eq!(response.text("AuthnContextClassRef"), class);
    }
    // An approval does not meet this requirement.
    let bob = it.host.user("bob").await;
    let device = it.host.authenticator(&bob).await;
    let account = it.host.account(&bob, &provider.application()).await;
    let bob = TestUser {
        user: bob,
        account,
        device,
        application: provider.application(),
    };
    let browser = Browser::new(&it.host.base);
    let request = provider.request(&it.host).containing(&context(PHR));
    let page = provider.sign_in(&bob, &browser, &request).await;
    let response = Response::from_page(&page);
    assert!(!response.is_success());
    assert!(
        response
            .status()
            .iter()
            .any(|status| status.ends_with("NoAuthnContext"))
    );
}

/// The pages and the challenge do not depend on a name, so they reveal none.
#[tokio::test]
async fn the_challenge_does_not_depend_on_the_login_hint() {
    let it = SignIn::sqlite().await;
    let mut seen = Vec::new();
    for name in ["ada", "nobody-here", "eve"] {
        let browser = Browser::new(&it.host.base);
        let login = it
            .ada
            .application
            .login_page(&browser, &[("login_hint", Some(name))])
            .await;
        let (status, mut options) = challenge(&browser, &login).await;
        options["challenge"] = Value::Null;
        seen.push((status, options));
    }
    assert_eq!(seen[0].0, StatusCode::OK);
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
}

#[tokio::test]
async fn the_setting_is_audited_before_and_after() {
    let it = SignIn::sqlite().await;
    let path = format!(
        "application={}&event=application.updated",
        it.ada.application.id
    );
    let noted = entries(&it.host, &path).await;
    let detail = &noted[0]["detail"];
    assert_eq!(
        (
            &detail["before"]["passkey_sign_in"],
            &detail["after"]["passkey_sign_in"]
        ),
        (&json!(false), &json!(true)),
        "{detail}"
    );
}
