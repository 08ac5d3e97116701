//! The authorization endpoint.

use reqwest::StatusCode;

use crate::harness::{Body, Browser, Log, TestHost, Text, get};

/// Checks that the error is returned to the application with `state` and `iss`.
async fn expect_error(host: &TestHost, request: &str, error: &str) {
    let page = Browser::new(&host.base).get(request).await;
    assert_eq!(
        page.status,
        StatusCode::SEE_OTHER,
        "{request}: {}",
        page.body
    );
    assert_eq!(page.parameter("error"), error, "{request}");
    assert_eq!(page.parameter("iss"), host.issuer());
    assert!(!page.parameter("error_description").is_empty());
    assert_eq!(page.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn errors_are_redirected_once_the_redirect_uri_is_verified() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    for (change, error) in [
        (("response_type", None), "invalid_request"),
        (
            ("response_type", Some("token")),
            "unsupported_response_type",
        ),
        (
            ("response_type", Some("code id_token")),
            "unsupported_response_type",
        ),
        (("response_mode", Some("fragment")), "invalid_request"),
        (("scope", None), "invalid_scope"),
        (("scope", Some("profile")), "invalid_scope"),
        (("code_challenge_method", Some("plain")), "invalid_request"),
        (("code_challenge_method", None), "invalid_request"),
        (("code_challenge", Some("short")), "invalid_request"),
        (("code_challenge", None), "invalid_request"),
        (("request", Some("eyJ")), "request_not_supported"),
        (
            ("request_uri", Some("https://rp.example/r")),
            "request_uri_not_supported",
        ),
        (("prompt", Some("none login")), "invalid_request"),
        (("prompt", Some("dance")), "invalid_request"),
        (("prompt", Some("none")), "login_required"),
        (("max_age", Some("-1")), "invalid_request"),
    ] {
        expect_error(&host, &web.request(&[change]), error).await;
    }
    let page = Browser::new(&host.base)
        .get(&web.request(&[("scope", None)]))
        .await;
    assert_eq!(page.parameter("state"), "st&te");
}

#[tokio::test]
async fn the_log_names_the_application_of_a_rejected_request_and_the_reason() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let log = Log::capture();
    expect_error(&host, &web.request(&[("scope", None)]), "invalid_scope").await;
    let line = [
        "authorization request rejected",
        &format!("application={}", web.id),
        "error=\"invalid_scope\"",
        "description=\"scope must include openid\"",
    ];
    assert!(log.has(&line), "{:?}", log.lines());
}

#[tokio::test]
async fn pkce_is_required_of_public_applications_and_optional_for_web_applications() {
    let host = TestHost::start().await;
    let without = [("code_challenge", None), ("code_challenge_method", None)];
    expect_error(
        &host,
        &host.native_application().await.request(&without),
        "invalid_request",
    )
    .await;
    let page = Browser::new(&host.base)
        .get(&host.web_application().await.request(&without))
        .await;
    assert!(page.location().path().starts_with("/login/"));
}

#[tokio::test]
async fn unknown_parameters_and_scopes_are_ignored() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let request = web.request(&[
        ("scope", Some("openid admin")),
        ("foo", Some("bar")),
        ("display", Some("page")),
    ]);
    assert!(
        Browser::new(&host.base)
            .get(&request)
            .await
            .location()
            .path()
            .starts_with("/login/")
    );
}

#[tokio::test]
async fn authorization_requests_may_be_posted() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let browser = Browser::new(&host.base);
    let request = web.request(&[]);
    let query = request.split_once('?').expect("a query").1;
    let form: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let form: Vec<(&str, &str)> = form
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let page = browser.post("/oidc/auth", &form).await.followed().await;
    assert!(page.location().path().starts_with("/login/"));
}

#[tokio::test]
async fn a_session_completes_a_request_unless_it_is_insufficient() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let at_once = async |changes: &[(&str, Option<&str>)]| {
        let page = browser.get(&ada.application.request(changes)).await;
        page.location().host_str() == Some("rp.example")
    };
    assert!(at_once(&[]).await);
    assert!(at_once(&[("prompt", Some("none"))]).await);
    assert!(!at_once(&[("prompt", Some("login"))]).await);
    host.advance(60);
    assert!(at_once(&[("max_age", Some("60"))]).await);
    host.advance(1);
    assert!(!at_once(&[("max_age", Some("60"))]).await);
    host.advance(3600);
    assert!(!at_once(&[]).await, "a session ends after an hour");
}

#[tokio::test]
async fn discovery_lists_served_endpoints() {
    let host = TestHost::start().await;
    let document = get(format!(
        "{}/.well-known/openid-configuration",
        host.issuer()
    ))
    .await;
    let document: serde_json::Value = document.read_json().await;
    assert_eq!(document["issuer"], host.issuer());
    for (member, path) in [
        ("authorization_endpoint", "auth"),
        ("token_endpoint", "token"),
        ("userinfo_endpoint", "me"),
        ("jwks_uri", "jwks"),
    ] {
        assert_eq!(document[member], format!("{}/{path}", host.issuer()));
    }
    let keys = get(document["jwks_uri"].text()).await;
    let keys: serde_json::Value = keys.read_json().await;
    assert_eq!(keys["keys"][0]["alg"], "RS256");
    for private in ["d", "p", "q", "dp", "dq", "qi"] {
        assert!(
            keys["keys"][0].get(private).is_none(),
            "{private} is private"
        );
    }
}
