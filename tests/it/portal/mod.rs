//! The portal: users see and change only their own data.

mod activity;
mod applications;
mod devices;
mod logos;
mod other_user;
mod profile;
mod recovery_codes;
mod requests;
mod sessions;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Page, TestHost, TestUser, Text, http_client, id};
use crate::javascript::run_with;

/// The pages, except the start page.
const PAGES: [&str; 7] = [
    "/devices",
    "/devices/recovery-codes",
    "/sessions",
    "/consents",
    "/requests",
    "/activity",
    "/profile",
];

/// Follows a redirect to the sign-in, and completes it with the device. Returns the next page.
pub(crate) async fn through_login(ada: &TestUser, redirect: &Page) -> Page {
    let mut login = redirect.followed().await;
    if login.status == StatusCode::SEE_OTHER {
        login = login.followed().await;
    }
    let name = ada.user["name"].text();
    let waiting = login.submit_name(name).await;
    ada.approve(&waiting).await;
    login.browser().get(&waiting.url).await.followed().await
}

/// Signs Ada in to the portal only, with a new browser.
async fn signed_in(host: &TestHost, ada: &TestUser) -> Browser {
    let browser = Browser::new(&host.base);
    let page = through_login(ada, &browser.get("/profile").await).await;
    assert_eq!(
        (page.status, page.path().as_str()),
        (StatusCode::OK, "/profile"),
        "{}",
        page.body
    );
    browser
}

/// Returns the message of the page about a completed action.
fn returned(page: &Page) -> Option<&str> {
    page.body
        .split_once("role=\"status\"><p>")
        .and_then(|(_, rest)| rest.split_once("</p>"))
        .map(|(text, _)| text)
}

/// Returns the paths of the page's forms that begin with `start`.
fn actions(page: &Page, start: &str) -> Vec<String> {
    let actions = page
        .body
        .split("action=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    actions
        .filter(|action| action.starts_with(start))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn an_unauthenticated_user_signs_in_and_returns_to_the_requested_page() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for path in PAGES {
        let browser = Browser::new(&host.base);
        let redirect = browser.get(path).await;
        assert_eq!(redirect.location().path(), "/sign-in", "{path}");
        let page = through_login(&ada, &redirect).await;
        assert_eq!((page.status, page.path().as_str()), (StatusCode::OK, path));
        // The page of the recovery codes belongs to the tab of the devices.
        let tab = path.trim_end_matches("/recovery-codes");
        assert!(
            page.body
                .contains(&format!("href=\"{tab}\" aria-current=\"page\"")),
            "{path}: {}",
            page.body
        );
        assert!(
            page.body.contains("Ada Lovelace") && page.body.contains("action=\"/sign-out\""),
            "{path}"
        );
        assert_eq!(page.headers["cache-control"], "no-store");
        let policy = page.headers["content-security-policy"].text();
        assert!(
            policy.contains("form-action 'self';") && policy.contains("style-src 'self';"),
            "{policy}"
        );
    }
    let front = Browser::new(&host.base).get("/").await;
    assert!(
        front.body.contains("href=\"/sign-in\"") && !front.body.contains("aria-current"),
        "{}",
        front.body
    );
    let home = through_login(&ada, &Browser::new(&host.base).get("/sign-in").await).await;
    assert_eq!(home.path(), "/");
    assert!(home.body.contains("Hello,"));
}

#[tokio::test]
async fn the_return_path_cannot_redirect_elsewhere() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for to in [
        "//evil.example/devices",
        "https://evil.example/",
        "/admin",
        "/devices/x/revoke",
        "%",
    ] {
        let browser = Browser::new(&host.base);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("to", to)
            .finish();
        let login = browser
            .get(&format!("/sign-in?{query}"))
            .await
            .followed()
            .await;
        let waiting = login.submit_name("ada").await;
        ada.approve(&waiting).await;
        let back = browser.get(&waiting.url).await.location();
        let expected = if to.starts_with("/devices/") {
            "/devices"
        } else {
            "/"
        };
        assert_eq!(back.as_str(), format!("{}{expected}", host.base), "{to}");
    }
}

#[tokio::test]
async fn a_form_without_its_csrf_token_is_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let elsewhere = signed_in(&host, &ada).await;
    let devices = browser.get("/devices").await;
    let device = ada.device.device();
    let rename = format!("/devices/{device}/name");
    let revoke = format!("/devices/{device}/revoke");
    let end = actions(&browser.get("/sessions").await, "/sessions/").remove(0);
    let foreign = devices.csrf();
    let sign_out = browser.get("/sessions").await.csrf();
    for action in [
        rename.as_str(),
        &revoke,
        &end,
        "/sessions/end-others",
        "/sessions/end-all",
    ] {
        for csrf in [
            "",
            "x",
            sign_out.as_str(),
            &elsewhere.get("/devices").await.csrf(),
        ] {
            let answer = browser
                .post(action, &[("csrf", csrf), ("name", "Stolen")])
                .await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{action} {csrf}");
        }
        assert_eq!(
            browser.post(action, &[]).await.status,
            StatusCode::FORBIDDEN,
            "{action}"
        );
        // The first token of the page belongs to the sign-out form. Each form has a token of its own.
        assert_eq!(
            browser.post(action, &[("csrf", &foreign)]).await.status,
            StatusCode::FORBIDDEN,
            "{action}"
        );
    }
    let page = browser.get("/devices").await;
    assert!(page.body.contains("Test phone") && !page.body.contains("Stolen"));
    assert!(
        elsewhere.get("/").await.body.contains("Hello,"),
        "no session ended"
    );
}

#[tokio::test]
async fn a_page_of_the_previous_user_cannot_act_for_the_current_user() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    let browser = signed_in(&host, &ada).await;
    let old = browser.get("/sessions").await;
    old.submit("/sign-out", &[]).await;
    let page = through_login(&eve, &browser.get("/sessions").await).await;
    assert_eq!(page.path(), "/sessions");
    let refused = old.submit("/sessions/end-all", &[]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.body);
    assert!(browser.get("/").await.body.contains("Hello,"));
}

#[tokio::test]
async fn confirmations_appear_only_in_the_acting_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (browser, other) = (signed_in(&host, &ada).await, signed_in(&host, &ada).await);
    let rename = format!("/devices/{}/name", ada.device.device());
    let done = browser
        .get("/devices")
        .await
        .submit(&rename, &[("name", "Pocket")])
        .await
        .location();
    assert_eq!(
        returned(&browser.get(done.as_str()).await),
        Some("The device has its new name.")
    );
    assert_eq!(
        returned(&other.get(done.as_str()).await),
        None,
        "another browser"
    );
    let forged = done.as_str().replace("renamed", "revoked");
    assert_eq!(returned(&browser.get(&forged).await), None, "another text");
    assert_eq!(
        returned(&browser.get("/devices?done=renamed").await),
        None,
        "no token"
    );
}

#[tokio::test]
async fn suspended_and_terminated_users_have_no_portal() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for state in ["suspended", "terminated"] {
        let eve = host
            .user_with_account(&format!("eve-{state}"), ada.application.clone())
            .await;
        let browser = signed_in(&host, &eve).await;
        let page = browser.get("/sessions").await;
        host.admin_ok(
            Method::PATCH,
            &format!("/users/{}", id(&eve.user)),
            json!({"state": state}),
        )
        .await;
        for path in PAGES {
            assert_eq!(
                browser.get(path).await.location().path(),
                "/sign-in",
                "{state} {path}"
            );
        }
        assert_eq!(
            page.submit("/sessions/end-all", &[])
                .await
                .location()
                .path(),
            "/sign-in",
            "{state}"
        );
        assert!(!browser.get("/").await.body.contains("Hello,"), "{state}");
    }
}

#[tokio::test]
async fn the_portal_is_available_in_german() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::reading(&host.base, "de");
    through_login(&ada, &browser.get("/devices").await).await;
    for (path, text) in [
        ("/", "Ihre Anwendungen"),
        ("/devices", "Ein Gerät einrichten"),
        ("/sessions", "Firefox</bdi> auf <bdi>Linux"),
        ("/sessions", "<dt>Endet spätestens</dt>"),
        ("/consents", "Zurzeit hat keine Anwendung eine Berechtigung"),
        ("/activity", "Gerät eingerichtet: <bdi>Test phone"),
        ("/profile", "Kontoname"),
    ] {
        let page = browser.get(path).await;
        assert!(
            page.body.contains(text) && page.body.contains("<html lang=\"de\""),
            "{path}: {}",
            page.body
        );
    }
}

#[tokio::test]
async fn a_user_manages_their_account_in_chromium() {
    let host = TestHost::start_with_settings("allow_insecure_redirect_uris = true\n").await;
    let ada = host.ada().await;
    let links = format!("/users/{}/enrolments", id(&ada.user));
    let enrolment = host.admin_ok(Method::POST, &links, Value::Null).await;
    let path = format!("/applications/{}", ada.application.id);
    let start = format!("{}/authenticator", host.base);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"name": "<b>Books</b> & Co", "initiate_login_uri": start}),
    )
    .await;
    let picture = http_client()
        .put(format!("{}/admin/api/v1{path}/logo", host.base))
        .bearer_auth(&host.token)
        .body(include_bytes!("../../../host/server/assets/icons/icon-192.png").as_slice())
        .send();
    assert!(picture.await.expect("an answer").status().is_success());
    let other = host.native_application().await;
    host.account(&ada.user, &other).await;
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", enrolment["link"].text()),
        ("LOGIN_NAME", "ada"),
        ("AUTHORIZE_URL", &request),
    ];
    run_with(&host, "portal.mjs", &variables).await;
}
