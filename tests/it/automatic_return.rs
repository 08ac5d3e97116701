//! A failed sign-in returns to the application automatically, only in the browser that began it.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Browser, Page, TestHost, TestUser, id};

/// Returns the page of a sign-in that the device denied.
async fn denied(ada: &TestUser, browser: &Browser, changes: &[(&str, Option<&str>)]) -> Page {
    let page = ada.begin_sign_in(browser, changes).await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    browser.get(&page.url).await
}

fn returns(page: &Page) -> String {
    page.returns()
        .unwrap_or_else(|| panic!("the page stays: {}", page.body))
}

#[tokio::test]
async fn a_denied_sign_in_returns_once_without_a_click_or_a_script() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let ended = denied(&ada, &browser, &[]).await;
    assert_eq!(ended.outcome(), "denied");
    assert!(
        ended
            .body
            .contains("You return to <bdi>Books &#38; &#60;Co&#62;</bdi> in 10 seconds."),
        "{}",
        ended.body
    );
    // The scripts of the page are for its buttons only.
    let mut scripts = ended.body.split("<script src=\"/assets/").skip(1);
    assert!(
        scripts.all(|name| name.starts_with("forms.") || name.starts_with("copy_reference.")),
        "{}",
        ended.body
    );
    let address = returns(&ended);
    let back = browser.get(&address).await;
    assert_eq!(
        (back.parameter("error").as_str(), back.parameter("state")),
        ("access_denied", "st&te".to_owned())
    );
    assert!(
        back.location()
            .as_str()
            .starts_with("https://rp.example/cb?")
    );
    host.advance(30);
    assert_eq!(
        browser.get(&address).await.status,
        StatusCode::CONFLICT,
        "the request is answered once"
    );
}

#[tokio::test]
async fn a_user_can_stay_or_retry() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let ended = denied(&ada, &browser, &[]).await;
    let address = returns(&ended);
    assert!(
        ended.body.contains(&format!(
            "<a id=\"stay\" href=\"{}?stay\">Stay on this page</a>",
            ended.path()
        )),
        "{}",
        ended.body
    );
    let stays = browser.get(&format!("{}?stay", ended.path())).await;
    assert_eq!(
        (stays.outcome().as_str(), stays.returns()),
        ("denied", None)
    );
    assert!(
        !stays.body.contains("http-equiv=\"refresh\""),
        "{}",
        stays.body
    );
    // After the user tries again, the old page in another tab ends nothing.
    let login = stays.retry().await;
    assert!(
        browser
            .get(&address)
            .await
            .followed()
            .await
            .body
            .contains("name=\"name\"")
    );
    host.advance(60);
    let waiting = login.submit_name("ada").await;
    assert_eq!(
        browser.get(&address).await.followed().await.number(),
        waiting.number()
    );
    ada.approve(&waiting).await;
    assert!(
        browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn the_return_url_works_in_its_browser_only() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let ended = denied(&ada, &browser, &[]).await;
    let address = returns(&ended);
    assert_eq!(
        Browser::new(&host.base).get(&address).await.status,
        StatusCode::NOT_FOUND,
        "the URL of another browser"
    );
    let path = format!("{}/return", ended.path());
    // Without a token, or with a token for another purpose or another sign-in, the server shows the page again.
    let other = returns(&denied_later(&host, &ada, &browser).await);
    let (_, of_other) = other.split_once("token=").expect("a token");
    for query in [
        "",
        "?token=",
        "?token=x",
        &format!("?token={}", ended.csrf()),
        &format!("?token={of_other}"),
    ] {
        let page = browser
            .get(&format!("{path}{query}"))
            .await
            .followed()
            .await;
        assert_eq!(page.outcome(), "denied", "{query}");
    }
    assert_eq!(browser.head(&address).await.status, StatusCode::OK);
    assert_eq!(
        browser.get(&address).await.parameter("error"),
        "access_denied"
    );
}

#[tokio::test]
async fn a_return_token_is_bound_to_its_attempt() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let first = denied(&ada, &browser, &[]).await;
    let old = returns(&first);
    let login = first.retry().await;
    host.advance(1);
    let waiting = login.submit_name("ada").await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    let second = waiting.again().await;
    assert_eq!(
        (second.path(), second.outcome()),
        (first.path(), "denied".to_owned())
    );
    let new = returns(&second);
    assert_ne!(old, new);
    // The page of the first attempt is still open in another tab. Its return shows the page of the second attempt.
    let shown = browser.get(&old).await.followed().await;
    assert_eq!(
        (shown.outcome(), shown.returns()),
        ("denied".to_owned(), Some(new.clone()))
    );
    assert_eq!(browser.get(&new).await.parameter("error"), "access_denied");
}

async fn denied_later(host: &TestHost, ada: &TestUser, browser: &Browser) -> Page {
    host.advance(60);
    denied(ada, browser, &[]).await
}

#[tokio::test]
async fn each_failure_returns_and_a_pending_sign_in_does_not() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let error = async |page: &Page| browser.get(&returns(page)).await.parameter("error");

    let waiting = ada.begin_sign_in(&browser, &[]).await;
    assert_eq!(waiting.returns(), None);
    host.advance(120);
    let expired = browser.get(&waiting.url).await;
    assert_eq!(
        (expired.outcome().as_str(), error(&expired).await.as_str()),
        ("expired", "access_denied")
    );

    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let cancelled = waiting.cancel().await.followed().await;
    assert_eq!(
        (cancelled.outcome().as_str(), cancelled.returns()),
        ("cancelled", None),
        "after a cancellation, the user chooses the next step"
    );

    let (user, account) = (
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    );
    for path in [account, user] {
        for state in ["suspended", "active"] {
            if state == "suspended" {
                let waiting = ada.begin_sign_in(&browser, &[]).await;
                ada.approve(&waiting).await;
                host.admin_ok(Method::PATCH, &path, json!({ "state": state }))
                    .await;
                let refused = browser.get(&waiting.url).await;
                assert_eq!(
                    (refused.outcome().as_str(), error(&refused).await.as_str()),
                    ("rejected", "access_denied")
                );
            } else {
                host.admin_ok(Method::PATCH, &path, json!({ "state": state }))
                    .await;
            }
        }
    }
}

#[tokio::test]
async fn form_post_returns_automatically_and_local_pages_stay() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let ended = denied(&ada, &browser, &[("response_mode", Some("form_post"))]).await;
    let posted = browser.get(&returns(&ended)).await;
    assert_eq!(
        (
            posted.field("error").as_str(),
            posted.field("state").as_str()
        ),
        ("access_denied", "st&te")
    );
    assert!(posted.body.contains("/assets/form_post"), "{}", posted.body);

    host.advance(60);
    let login = browser.get("/sign-in").await.followed().await;
    let waiting = login.submit_name("ada").await;
    host.advance(120);
    let ended = browser.get(&waiting.url).await;
    assert_eq!(
        (ended.outcome().as_str(), ended.returns()),
        ("expired", None)
    );
}
