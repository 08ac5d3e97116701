//! Logout of other users, and the end of sessions.

use super::*;
use crate::harness::Text;

#[tokio::test]
async fn a_hint_of_another_user_asks_before_the_redirect() {
    let it = Fixture::new().await;
    let eve = it.host.user("eve").await;
    let device = it.host.authenticator(&eve).await;
    let account = it.host.account(&eve, &it.ada.application).await;
    let eve = TestUser {
        user: eve,
        device,
        application: it.ada.application.clone(),
        account,
    };
    let browser = Browser::new(&it.host.base);
    let login = eve.application.login_page(&browser, &[]).await;
    let waiting = login.submit_name("eve").await;
    eve.approve(&waiting).await;
    assert!(
        !browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .is_empty()
    );
    // The ID token of Ada in Eve's browser.
    let parameters = [
        ("id_token_hint", it.id_token.as_str()),
        ("post_logout_redirect_uri", AFTER),
        ("state", "x"),
    ];
    let page = browser.get(&request(&parameters)).await;
    assert!(
        page.status == StatusCode::OK && page.body.contains("Do you want to sign out?"),
        "{}",
        page.body
    );
    assert!(
        page.body
            .contains("<bdi>Books &#38; &#60;Co&#62;</bdi> asks to sign you out."),
        "{}",
        page.body
    );
    let policy = page.headers["content-security-policy"].text();
    assert!(policy.contains("form-action 'self' https:;"), "{policy}");
    let no = page
        .submit(
            "/session/end",
            &[("request", &hidden(&page)), ("answer", "no")],
        )
        .await;
    assert_eq!(no.location().path(), "/");
    assert!(browser.get("/").await.body.contains("Hello,"));
    let yes = page
        .submit(
            "/session/end",
            &[("request", &hidden(&page)), ("answer", "yes")],
        )
        .await;
    assert_eq!(
        yes.location().as_str(),
        "https://rp.example/signed-out?state=x"
    );
    assert!(!browser.get("/").await.body.contains("Hello,"));
    assert!(it.is_signed_in().await, "Ada's own session continues");
}

#[tokio::test]
async fn logout_confirmation_requires_the_csrf_token_and_revalidates_the_request() {
    let it = Fixture::new().await;
    let forged = it.browser.post("/session/end", &[("answer", "yes")]).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    let theirs = Browser::new(&it.host.base).get("/oidc/session/end").await;
    assert_eq!(theirs.status, StatusCode::SEE_OTHER, "no user to ask");
    let forged = it
        .browser
        .post("/session/end", &[("answer", "yes"), ("csrf", "nonsense")])
        .await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert!(it.is_signed_in().await);
    let page = it.end(&[]).await;
    let evil = format!(
        "id_token_hint={}&post_logout_redirect_uri=https://evil.example/",
        it.id_token
    );
    it.assert_refused(
        &page
            .submit("/session/end", &[("request", &evil), ("answer", "yes")])
            .await,
    )
    .await;
}

#[tokio::test]
async fn the_start_page_signs_out() {
    let it = Fixture::new().await;
    let home = it.browser.get("/").await;
    let ended = home.submit("/sign-out", &[]).await;
    assert_eq!(ended.location().path(), "/session/ended");
    let page = ended.followed().await;
    assert!(page.body.contains("You are signed out of"), "{}", page.body);
    assert!(!it.is_signed_in().await);
    assert_eq!(
        userinfo(&it.host, &it.access_token).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_reactivated_user_has_no_session() {
    let it = Fixture::new().await;
    let path = format!("/users/{}", id(&it.ada.user));
    it.host
        .admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    it.host
        .admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert!(!it.is_signed_in().await);
    assert_eq!(
        userinfo(&it.host, &it.access_token).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_suspended_account_ends_its_grants_but_no_session() {
    let it = Fixture::new().await;
    let path = format!("/accounts/{}", id(&it.ada.account));
    it.host
        .admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    it.host
        .admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert_eq!(
        userinfo(&it.host, &it.access_token).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert!(it.is_signed_in().await);
}

#[tokio::test]
async fn sessions_have_an_idle_and_an_absolute_timeout() {
    for (settings, uses_until) in [
        ("", 3600),
        (
            "[session]\nidle_timeout = \"1h\"\nabsolute_timeout = \"2h\"",
            7200,
        ),
    ] {
        let host = TestHost::start_with_settings(settings).await;
        let ada = host.ada().await;
        let browser = Browser::new(&host.base);
        let page = ada.begin_sign_in(&browser, &[]).await;
        ada.approve(&page).await;
        // The timeout counts from the approval, and not from the later answer.
        host.advance(30);
        let answered = browser.finish(&page.url).await;
        let cookie = answered.headers["set-cookie"].text();
        assert!(
            cookie.contains(&format!("Max-Age={uses_until}")),
            "{cookie}"
        );
        for used in (30..uses_until).step_by(1200) {
            assert!(
                browser.get("/").await.body.contains("Hello,"),
                "{settings}: {used} s"
            );
            host.advance(1200.min(uses_until - used));
        }
        assert!(
            !browser.get("/").await.body.contains("Hello,"),
            "{settings}"
        );
    }
}
