//! HEAD requests change no state.

use reqwest::StatusCode;

use crate::harness::{Browser, Page, TestHost, Text};

fn assert_without_effect(page: &Page) {
    assert_eq!(page.status, StatusCode::OK, "{}", page.url);
    assert_eq!(page.headers["cache-control"], "no-store", "{}", page.url);
    assert!(page.headers.get("set-cookie").is_none(), "{}", page.url);
    assert_eq!(page.body, "", "{}", page.url);
}

#[tokio::test]
async fn head_requests_sign_no_user_in_or_out() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    assert_without_effect(&browser.head(&ada.application.request(&[])).await);
    assert_without_effect(&browser.head("/admin").await);
    // The result of a sign-in is returned only once. A HEAD request must not use it up.
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&waiting).await;
    assert_without_effect(&browser.head(&waiting.url).await);
    let code = browser.finish(&waiting.url).await.parameter("code");

    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let hint = tokens["id_token"].text();
    assert_without_effect(
        &browser
            .head(&format!("/oidc/session/end?id_token_hint={hint}"))
            .await,
    );
    let posted = browser
        .post("/oidc/session/end", &[("id_token_hint", hint)])
        .await
        .location();
    assert_without_effect(&browser.head(posted.as_str()).await);
    assert!(
        browser.get("/").await.body.contains("Hello,"),
        "the session continues"
    );
    assert_eq!(
        browser.get(posted.as_str()).await.location().path(),
        "/session/ended"
    );
}

#[tokio::test]
async fn head_is_answered_at_safe_endpoints() {
    let host = TestHost::start().await;
    let browser = Browser::new(&host.base);
    for path in [
        "/",
        "/oidc/.well-known/openid-configuration",
        "/oidc/jwks",
        "/healthz",
        "/session/ended",
    ] {
        let page = browser.head(path).await;
        assert_eq!(
            (page.status, page.body.as_str()),
            (StatusCode::OK, ""),
            "{path}"
        );
    }
}
