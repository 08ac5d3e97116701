//! The start page: a user's applications and their addresses.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{signed_in, through_login};
use crate::harness::{Application, Browser, Database, TestHost, Text, id};

async fn patch(host: &TestHost, application: &Application, change: Value) -> (StatusCode, Value) {
    host.admin(
        Method::PATCH,
        &format!("/applications/{}", application.id),
        change,
    )
    .await
}

#[both_databases]
async fn a_user_sees_only_their_applications(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let pocket = host.native_application().await;
    let browser = signed_in(&host, &ada).await;
    let home = browser.get("/").await;
    assert!(
        home.body.contains("<bdi>Books &#38; &#60;Co&#62;</bdi>"),
        "{database:?}: {}",
        home.body
    );
    assert!(
        home.body.contains(
            "<a href=\"https://rp.example\"><bdi dir=\"ltr\">https://rp.example</bdi></a>"
        ),
        "no sign-in begins here, so the page leads to the origin: {}",
        home.body
    );
    assert!(
        !home.body.contains("Pocket Books"),
        "no account in the application"
    );
    let account = host.account(&ada.user, &pocket).await;
    let home = browser.get("/").await;
    assert!(
        home.body.contains("Pocket Books"),
        "an invited account may be used"
    );
    assert!(
        home.body.contains("Open it in the app itself"),
        "a native application has no origin: {}",
        home.body
    );
    for (state, there) in [
        ("active", true),
        ("suspended", false),
        ("active", true),
        ("terminated", false),
    ] {
        host.admin_ok(
            Method::PATCH,
            &format!("/accounts/{}", id(&account)),
            json!({"state": state}),
        )
        .await;
        assert_eq!(
            browser.get("/").await.body.contains("Pocket Books"),
            there,
            "{database:?}: {state}"
        );
    }
}

#[tokio::test]
async fn an_application_opens_at_its_initiate_login_uri() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let set = json!({"initiate_login_uri": "https://rp.example/start?tenant=a"});
    let (_, view) = patch(&host, &ada.application, set).await;
    assert_eq!(
        view["initiate_login_uri"],
        "https://rp.example/start?tenant=a"
    );
    let browser = signed_in(&host, &ada).await;
    let start = format!("/applications/{}/start", ada.application.id);
    assert!(
        browser
            .get("/")
            .await
            .body
            .contains(&format!("href=\"{start}\""))
    );
    let issuer = url::form_urlencoded::byte_serialize(host.issuer().as_bytes()).collect::<String>();
    let expected = format!("https://rp.example/start?tenant=a&iss={issuer}");
    assert_eq!(browser.get(&start).await.location().as_str(), expected);
    // A link may name a page of the application, and no other page.
    for (target, is_passed) in [
        ("https://rp.example/reports/7", true),
        ("https://evil.example/reports/7", false),
        ("http://rp.example/reports/7", false),
        ("javascript:alert(1)", false),
        ("/reports/7", false),
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("target_link_uri", target)
            .finish();
        let address = browser.get(&format!("{start}?{query}")).await.location();
        let expected = match is_passed {
            true => format!("{expected}&{query}"),
            false => expected.clone(),
        };
        assert_eq!(address.as_str(), expected, "{target}");
    }

    // The server redirects neither a user without an account there nor a browser without a session.
    let eve = host.user("eve").await;
    let device = host.authenticator(&eve).await;
    let eve = crate::harness::TestUser {
        user: eve,
        device,
        ..host
            .user_with_account("zoe", host.web_application().await)
            .await
    };
    let strangers = signed_in(&host, &eve).await;
    let refused = strangers.get(&start).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    assert!(!refused.body.contains("rp.example"));
    assert_eq!(
        Browser::new(&host.base).get(&start).await.location().path(),
        "/sign-in"
    );
    let back = through_login(&ada, &Browser::new(&host.base).get(&start).await).await;
    assert_eq!(back.path(), "/", "the user presses the button");

    let (_, view) = patch(&host, &ada.application, json!({"initiate_login_uri": null})).await;
    assert_eq!(view["initiate_login_uri"], Value::Null);
    assert_eq!(browser.get(&start).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn applications_that_open_elsewhere_come_last() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let pocket = host.native_application().await;
    host.account(&ada.user, &pocket).await;
    let set = json!({"name": "Zebra", "initiate_login_uri": "https://rp.example/start"});
    patch(&host, &ada.application, set).await;
    let home = signed_in(&host, &ada).await.get("/").await;
    let [zebra, pocket] = ["<bdi>Zebra", "<bdi>Pocket Books"].map(|name| home.body.find(name));
    assert!(zebra.is_some() && zebra < pocket, "{}", home.body);
}

#[tokio::test]
async fn an_initiate_login_uri_must_be_https_or_loopback() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    for good in [
        "https://rp.example/start",
        "http://localhost:3000/start",
        "http://127.0.0.1/",
        "http://[::1]:1/",
    ] {
        let (status, view) = patch(&host, &application, json!({"initiate_login_uri": good})).await;
        assert_eq!(
            (status, view["initiate_login_uri"].as_str()),
            (StatusCode::OK, Some(good))
        );
    }
    for bad in [
        "http://rp.example/start",
        "https://rp.example/start#here",
        "https://ada:secret@rp.example/",
        "javascript:alert(1)",
        "com.example.books://start",
        "http://localhost.rp.example/",
        "/start",
        "",
    ] {
        let (status, problem) =
            patch(&host, &application, json!({"initiate_login_uri": bad})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
        let detail = problem["detail"].text();
        assert!(
            detail.starts_with("initiate_login_uri: expected an address that starts with https://"),
            "{detail}"
        );
    }
    let (_, view) = patch(&host, &application, json!({"name": "Books"})).await;
    assert_eq!(
        view["initiate_login_uri"], "http://[::1]:1/",
        "another change does not affect it"
    );
}
