//! A form of the portal changes nothing if another user signed in in the same browser after its page was shown.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{actions, signed_in};
use crate::harness::{Page, TestHost, Text, id};
use crate::saml::service_provider::TestServiceProvider;

/// Returns the forms of a page of the portal: the target path and the token of each.
fn forms(page: &Page) -> Vec<(String, String)> {
    page.body
        .split("<form ")
        .skip(1)
        .filter(|form| form.contains("name=\"csrf\""))
        .map(|form| {
            let value = |start: &str| {
                let (_, rest) = form.split_once(start).expect("an attribute");
                rest.split('"').next().expect("a value").to_owned()
            };
            (value("action=\""), value("name=\"csrf\" value=\""))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_form_of_another_users_page_changes_anything() {
    let host = TestHost::start().await;
    let provider = TestServiceProvider::register(&host, json!({"idp_initiated": true})).await;
    let ada = provider.ada(&host).await;
    let bob = host
        .user_with_account("bob", host.web_application().await)
        .await;
    host.authenticator(&ada.user).await;
    let books = host.web_application().await;
    host.account(&ada.user, &books).await;
    let browser = signed_in(&host, &ada).await;
    let mut page = browser.get(&books.request(&[])).await;
    if page.status.is_redirection() {
        page = page.followed().await;
    }
    assert!(page.asks_for_consent(), "{}", page.body);
    page.decide("allow").await;
    let mut pages = vec![];
    for path in [
        "/",
        "/devices",
        "/devices/recovery-codes",
        "/sessions",
        "/consents",
        "/requests",
        "/activity",
        "/profile",
        "/session/end",
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        pages.push(page);
    }
    let revoke = actions(&pages[1], "/devices/")
        .iter()
        .find_map(|action| {
            action
                .strip_suffix("/name")
                .map(|device| format!("{device}/revoke"))
        })
        .expect("a device");
    pages.push(browser.get(&revoke).await);
    let mut shown: Vec<(String, String)> = pages.iter().flat_map(forms).collect();
    shown.sort();
    shown.dedup();
    for expected in [
        "/sign-out",
        "/session/end",
        "/sessions/end-all",
        "/devices/recovery-codes",
        "/consents/withdraw",
        provider.sign_on().as_str(),
        revoke.as_str(),
    ] {
        assert!(
            shown.iter().any(|(action, _)| action == expected),
            "{expected} of {shown:?}"
        );
    }

    let login = browser.get("/sign-in").await.followed().await;
    let form = [("name", "bob"), ("user", &login.user_token())];
    let waiting = login.submit(&login.path(), &form).await.followed().await;
    bob.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    if page.asks_to_confirm() {
        page.confirm().await;
    }
    let name = browser.get("/profile").await;
    assert!(name.body.contains("bob"), "{}", name.body);
    let sessions = async |user: &serde_json::Value| {
        let path = format!("/users/{}/sessions", id(user));
        host.admin_ok(Method::GET, &path, serde_json::Value::Null)
            .await["items"]
            .as_array()
            .map_or(0, Vec::len)
    };
    let before = sessions(&bob.user).await;
    for (action, token) in &shown {
        let form = [
            ("csrf", token.as_str()),
            ("answer", "yes"),
            ("name", "changed"),
            ("application", books.id.as_str()),
        ];
        let page = browser.post(action, &form).await;
        assert_eq!(page.status, StatusCode::CONFLICT, "{action}: {}", page.body);
        assert!(
            page.body.contains("Another account is signed in")
                && page.body.contains(">Load the page again</a>"),
            "{action}: {}",
            page.body
        );
        assert!(!page.body.contains("bob@"), "{action}: {}", page.body);
    }
    assert_eq!(sessions(&bob.user).await, before, "Bob is still signed in");
    let devices = browser.get("/devices").await;
    assert!(!devices.body.contains("changed"), "{}", devices.body);

    // The token of a page counts only for its user, its form and its browser.
    let sign_out = shown.iter().find(|(action, _)| action == "/sign-out");
    let (_, adas) = sign_out.expect("a form");
    let (_, proof) = adas.split_once('.').expect("a token with a user");
    let forged = [
        format!("{}.{proof}", id(&bob.user)),
        proof.to_owned(),
        format!(".{proof}"),
        format!("{}.", id(&ada.user)),
        String::new(),
    ];
    for token in &forged {
        let page = browser.post("/sign-out", &[("csrf", token)]).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{token}");
    }
    let elsewhere = signed_in(&host, &ada).await;
    let page = elsewhere.post("/sign-out", &[("csrf", adas)]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "another browser");
    // The page that is loaded again works.
    let page = browser.get("/profile").await.submit("/sign-out", &[]).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(
        sessions(&bob.user).await,
        before - 1,
        "{}",
        bob.user["name"].text()
    );
}
