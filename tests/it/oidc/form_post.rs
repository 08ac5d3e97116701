//! `response_mode=form_post`: the response, success or error, in a form that the browser posts.

use reqwest::StatusCode;

use crate::harness::{Browser, Page, TestHost, Text};

const FORM_POST: (&str, Option<&str>) = ("response_mode", Some("form_post"));

/// Checks that the page posts to the application and to no other address.
fn expect_form(page: &Page, action: &str) {
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(
        page.body.contains(&format!(
            "<form method=\"post\" action=\"{action}\" id=\"answer\">"
        )),
        "{}",
        page.body
    );
    assert!(
        page.body
            .contains("<h1>Back to <bdi>Books &#38; &#60;Co&#62;</bdi></h1>"),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("Continue</button>") && page.body.contains("/assets/form_post"),
        "{}",
        page.body
    );
    let policy = page.headers["content-security-policy"].text();
    assert!(
        policy.contains("form-action https:;") && policy.contains("script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn form_post_succeeds_with_a_new_sign_in_and_with_a_session() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let waiting = ada.begin_sign_in(&browser, &[FORM_POST]).await;
    ada.approve(&waiting).await;
    let fresh = browser.finish(&waiting.url).await;
    assert!(
        fresh.headers.get("set-cookie").is_some(),
        "the session begins"
    );
    let at_once = browser.get(&ada.application.request(&[FORM_POST])).await;
    let silent = browser
        .get(
            &ada.application
                .request(&[FORM_POST, ("prompt", Some("none"))]),
        )
        .await;
    for page in [fresh, at_once, silent] {
        expect_form(&page, "https://rp.example/cb");
        assert_eq!(
            (page.field("state").as_str(), page.field("iss")),
            ("st&te", host.issuer())
        );
        let (status, tokens) = ada
            .application
            .exchange(&host.base, &page.field("code"), &[])
            .await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
    }
}

#[tokio::test]
async fn form_post_returns_errors() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    for (change, error) in [
        (("prompt", Some("none")), "login_required"),
        (("response_type", None), "invalid_request"),
        (("scope", Some("profile")), "invalid_scope"),
        (("request", Some("eyJ")), "request_not_supported"),
    ] {
        let page = browser
            .get(&ada.application.request(&[FORM_POST, change]))
            .await;
        expect_form(&page, "https://rp.example/cb");
        assert_eq!(
            (page.field("error").as_str(), page.field("state").as_str()),
            (error, "st&te")
        );
        assert_eq!(page.field("iss"), host.issuer());
    }
    let waiting = ada.begin_sign_in(&browser, &[FORM_POST]).await;
    ada.approve(&waiting).await;
    let denied = browser.get(&waiting.url).await.decide("deny").await;
    expect_form(&denied, "https://rp.example/cb");
    assert_eq!(denied.field("error"), "access_denied");
    let login = ada.application.login_page(&browser, &[FORM_POST]).await;
    let left = login.leave().await;
    expect_form(&left, "https://rp.example/cb");
    assert_eq!(left.field("error"), "access_denied");
}

/// The script of the page posts each answer once, which it recognises by its id: two errors have the same fields.
#[tokio::test]
async fn each_answer_has_an_id_and_a_repeated_answer_has_the_same() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let id = |page: &Page| page.between("data-answer=\"", "\"");
    let silent = ada
        .application
        .request(&[FORM_POST, ("prompt", Some("none"))]);
    let (first, second) = (browser.get(&silent).await, browser.get(&silent).await);
    assert_eq!(first.form(), second.form());
    assert_ne!(id(&first), id(&second));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let login = ada.application.login_page(&browser, &[FORM_POST]).await;
        let left = login.leave().await;
        assert_eq!(left.field("error"), "access_denied");
        let again = login.leave().await;
        assert_eq!((id(&again), again.form()), (id(&left), left.form()));
        ids.push(id(&left));
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn form_post_escapes_the_state() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let state = "\"><script>alert(1)</script><input name='code' value='";
    let request = web.request(&[FORM_POST, ("prompt", Some("none")), ("state", Some(state))]);
    let page = Browser::new(&host.base).get(&request).await;
    expect_form(&page, "https://rp.example/cb");
    assert!(
        !page.body.contains("<script>alert") && !page.body.contains("<input name='code'"),
        "{}",
        page.body
    );
    assert_eq!(page.field("state"), state);
}

#[tokio::test]
async fn form_post_is_rejected_for_custom_schemes() {
    let host = TestHost::start().await;
    let mut native = host.native_application().await;
    native.redirect_uri = "com.example.books://callback".to_owned();
    let page = Browser::new(&host.base)
        .get(&native.request(&[FORM_POST]))
        .await;
    assert!(
        page.location()
            .as_str()
            .starts_with("com.example.books://callback?"),
        "{}",
        page.location()
    );
    assert_eq!(page.parameter("error"), "invalid_request");
}

#[tokio::test]
async fn a_repeated_response_mode_is_rejected_by_redirect() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let request = format!("{}&response_mode=query", web.request(&[FORM_POST]));
    assert_eq!(
        Browser::new(&host.base)
            .get(&request)
            .await
            .parameter("error"),
        "invalid_request"
    );
}
