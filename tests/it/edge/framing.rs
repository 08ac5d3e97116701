//! No page can be shown in a frame of another site (clickjacking). The harness checks each page of each test
//! (`Browser`). Here the pages are listed by name.

use reqwest::StatusCode;

use crate::harness::{Browser, Page, TestHost, Text};
use crate::saml::service_provider::TestServiceProvider;

/// Checks that the page cannot be framed: by the policy of current browsers, and by the header for older ones.
fn assert_unframeable(page: &Page, marker: &str) {
    assert!(
        page.body.contains(marker),
        "no {marker} in {} {}: {}",
        page.url,
        page.status,
        page.body
    );
    let policy = page.headers["content-security-policy"].text();
    let ancestors: Vec<&str> = policy
        .split(';')
        .filter(|part| part.trim().starts_with("frame-ancestors"))
        .collect();
    assert_eq!(
        ancestors,
        [" frame-ancestors 'none'"],
        "{}: {policy}",
        page.url
    );
    assert_eq!(
        page.headers
            .get_all("content-security-policy")
            .iter()
            .count(),
        1,
        "{}",
        page.url
    );
    let options: Vec<_> = page.headers.get_all("x-frame-options").iter().collect();
    assert_eq!(options, ["DENY"], "{}", page.url);
}

#[tokio::test]
async fn sign_in_and_sign_out_pages_cannot_be_framed() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    assert_unframeable(&browser.get("/").await, "href=\"/sign-in\"");
    // The login page, and the same page with an error in its form.
    let login = ada.application.login_page(&browser, &[]).await;
    assert_unframeable(&login, "name=\"name\"");
    assert_unframeable(
        &login.submit(&login.path(), &[("name", "no name")]).await,
        "name=\"name\"",
    );
    // Consent, the form that carries a response, and the account selection.
    let browser = Browser::new(&host.base);
    let waiting = ada
        .begin_sign_in(&browser, &[("response_mode", Some("form_post"))])
        .await;
    ada.approve(&waiting).await;
    let consent = browser.get(&waiting.url).await;
    assert_unframeable(&consent, "data-page=\"consent\"");
    assert_unframeable(&consent.decide("allow").await, "name=\"code\"");
    let choice = browser
        .get(
            &ada.application
                .request(&[("prompt", Some("select_account"))]),
        )
        .await
        .followed()
        .await;
    assert_unframeable(&choice, "/continue\"");
    // Logout.
    let question = browser.get("/session/end").await;
    assert_unframeable(&question, "action=\"/session/end\"");
    assert_unframeable(&browser.get("/session/ended").await, "<h1");
    // The waiting page, and the page of a denied sign-in.
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    assert_unframeable(&waiting, "id=\"number\"");
    let request = ada.device.pending_requests(5).await.remove(0);
    ada.device.deny(&request).await;
    assert_unframeable(&waiting.again().await, "data-outcome=");
}

#[tokio::test]
async fn portal_console_authenticator_and_recovery_pages_cannot_be_framed() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    host.set_console_role(&ada.user, "owner").await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let seen = format!("/profile/{}", ada.application.id);
    let revoke = format!("/devices/{}/revoke", ada.device.device());
    for path in [
        "/",
        "/devices",
        "/sessions",
        "/consents",
        "/requests",
        "/activity",
        "/profile",
        &seen,
        &revoke,
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_unframeable(&page, "action=\"/sign-out\"");
    }
    for path in ["/admin/users", "/admin/applications/new", "/admin/nothing"] {
        assert_unframeable(&browser.get(path).await, "id=\"console\"");
    }
    assert_unframeable(&browser.get("/authenticator").await, "<script");
    // The form, the form with an error, and the page of a valid code.
    let codes = ada.device.recovery_codes().await;
    let code = codes[0].as_str();
    let browser = Browser::new(&host.base);
    let form = browser.get("/recover").await;
    assert_unframeable(&form, "name=\"code\"");
    assert_unframeable(
        &form
            .submit("/recover", &[("name", "ada"), ("code", "wrong")])
            .await,
        "name=\"code\"",
    );
    let found = form
        .submit("/recover", &[("name", "ada"), ("code", code)])
        .await
        .followed()
        .await;
    assert_unframeable(&found, "/authenticator#enrol=");
}

#[tokio::test(flavor = "multi_thread")]
async fn saml_and_error_pages_cannot_be_framed() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let response = service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    assert_unframeable(&response, "name=\"SAMLResponse\"");

    let client = host.web_application().await;
    let foreign = client.request(&[("redirect_uri", Some("https://evil.example/"))]);
    let large = "x".repeat(16);
    for (path, status) in [
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/oidc/auth", StatusCode::BAD_REQUEST),
        ("/oidc/auth?client_id=nobody", StatusCode::BAD_REQUEST),
        (foreign.as_str(), StatusCode::BAD_REQUEST),
        ("/login/none", StatusCode::NOT_FOUND),
        (
            "/oidc/session/end?id_token_hint=nonsense",
            StatusCode::BAD_REQUEST,
        ),
        (
            &format!("/sso/SingleSignOnService/{}", service_provider.id),
            StatusCode::OK,
        ),
        (
            &format!(
                "/sso/SingleLogoutService/{}?SAMLRequest={large}",
                service_provider.id
            ),
            StatusCode::BAD_REQUEST,
        ),
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status, status, "{path}: {}", page.body);
        assert_unframeable(&page, "<h1");
    }
    let forged = browser.post("/sign-out", &[("csrf", "forged")]).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert_unframeable(&forged, "<h1");
    // Responses without a page also have the header for older browsers.
    for path in ["/healthz", "/oidc/jwks", "/oidc/me", "/admin/api/v1/users"] {
        assert_eq!(
            browser.get(path).await.headers["x-frame-options"],
            "DENY",
            "{path}"
        );
    }
}
