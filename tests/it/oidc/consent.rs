//! Consent: the question before an application receives claims, and the withdrawal.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::token::userinfo;
use crate::harness::{Browser, Database, Page, TestHost, TestUser, Text};

/// Approves a sign-in on Ada's device. Returns the next page.
async fn approved(ada: &TestUser, browser: &Browser, changes: &[(&str, Option<&str>)]) -> Page {
    let waiting = ada.begin_sign_in(browser, changes).await;
    ada.approve(&waiting).await;
    browser.get(&waiting.url).await
}

/// Sends a request from a browser with a session. Returns the page of the server, or `None` for a redirect to the
/// application.
async fn asks(ada: &TestUser, browser: &Browser, changes: &[(&str, Option<&str>)]) -> Option<Page> {
    let page = browser.get(&ada.application.request(changes)).await;
    let is_login_page = page.location().path().starts_with("/login/");
    if is_login_page {
        Some(page.followed().await)
    } else {
        None
    }
}

#[tokio::test]
async fn consent_is_asked_in_plain_words_before_any_claim_is_disclosed() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = approved(&ada, &browser, &[]).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    assert!(
        page.headers.get("set-cookie").is_none(),
        "no session begins before the answer"
    );
    for text in [
        "Books &#38; &#60;Co&#62;",
        "Ada Lovelace",
        "Confirm your identity",
        "See your email address: <bdi>ada@example.org</bdi>",
        "<span class=\"initial\" aria-hidden=\"true\">B</span><bdi class=\"muted\" dir=\"ltr\">rp.example</bdi>",
    ] {
        assert!(page.body.contains(text), "{text}");
    }
    assert!(
        !page.body.contains("phone number"),
        "scopes that were not requested are not listed"
    );
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(
        browser.get(&page.url).await.asks_for_consent(),
        "the page can be loaded again"
    );

    let back = page.decide("allow").await;
    assert!(back.parameter("code").starts_with("ac_"));
    assert!(back.headers.get("set-cookie").is_some());
    assert!(
        asks(&ada, &browser, &[]).await.is_none(),
        "the answer is remembered"
    );
    assert!(
        asks(&ada, &browser, &[("scope", Some("openid"))])
            .await
            .is_none(),
        "a part of the consent is remembered, too"
    );
}

#[tokio::test]
async fn an_approval_counts_no_longer_than_its_session_would() {
    let host = TestHost::start_with_settings("[session]\nabsolute_timeout = \"10m\"").await;
    let ada = host.ada().await;
    for (seconds, counts) in [(599, true), (600, false)] {
        let browser = Browser::new(&host.base);
        let page = approved(&ada, &browser, &[("prompt", Some("consent"))]).await;
        assert!(page.asks_for_consent(), "{}", page.body);
        host.advance(seconds);
        let answered = page.decide("allow").await;
        let has_code = answered.status.is_redirection()
            && answered
                .location()
                .query_pairs()
                .any(|(name, _)| name == "code");
        assert_eq!(has_code, counts, "{seconds} s: {}", answered.body);
        assert_eq!(answered.headers.contains_key("set-cookie"), counts);
        if !counts {
            let ended = browser.get(&page.url).await;
            assert!(ended.body.contains("Sign-in timed out"), "{}", ended.body);
        }
    }
}

#[tokio::test]
async fn denied_consent_signs_in_no_user_and_returns_access_denied() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = approved(&ada, &browser, &[]).await;
    let back = page.decide("deny").await;
    assert_eq!(
        (
            back.parameter("error").as_str(),
            back.parameter("state").as_str()
        ),
        ("access_denied", "st&te")
    );
    assert!(back.headers.get("set-cookie").is_none());
    assert!(
        !browser.get("/").await.body.contains("Ada Lovelace"),
        "no session began"
    );
    host.advance(30);
    assert_eq!(
        browser.get(&page.url).await.status,
        StatusCode::CONFLICT,
        "the sign-in has ended"
    );
    assert!(
        approved(&ada, &browser, &[]).await.asks_for_consent(),
        "nothing is remembered"
    );
}

#[tokio::test]
async fn denying_further_scopes_keeps_the_session() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let more = [("scope", Some("openid profile email phone"))];
    let page = asks(&ada, &browser, &more).await.expect("a page");
    assert!(page.asks_for_consent() && page.body.contains("See your phone number"));
    assert_eq!(
        page.decide("deny").await.parameter("error"),
        "access_denied"
    );
    assert!(
        browser.get("/").await.body.contains("Ada Lovelace"),
        "the session continues"
    );
    let page = asks(&ada, &browser, &more).await.expect("a page");
    assert!(
        page.decide("allow")
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert!(asks(&ada, &browser, &more).await.is_none());
    assert!(
        asks(&ada, &browser, &[]).await.is_none(),
        "the earlier consent is still valid"
    );
}

#[both_databases]
async fn a_consent_is_remembered_for_fourteen_days(database: Database) {
    let settings = "[session]\nabsolute_timeout = \"2000000s\"";
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    host.advance(14 * 86_400 - 1);
    assert!(asks(&ada, &browser, &[]).await.is_none(), "{database:?}");
    host.advance(1);
    assert!(
        asks(&ada, &browser, &[])
            .await
            .expect("a page")
            .asks_for_consent(),
        "{database:?}"
    );
}

#[tokio::test]
async fn a_new_sign_in_does_not_extend_a_consent() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    // In these two weeks the server does not ask for consent, neither in a new sign-in nor with the existing session.
    for _ in 0..2 {
        host.advance(6 * 86_400);
        let browser = Browser::new(&host.base);
        assert!(
            approved(&ada, &browser, &[])
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        assert!(asks(&ada, &browser, &[]).await.is_none());
        assert!(
            asks(&ada, &browser, &[("prompt", Some("none"))])
                .await
                .is_none()
        );
    }
    host.advance(2 * 86_400);
    assert!(
        approved(&ada, &Browser::new(&host.base), &[])
            .await
            .asks_for_consent()
    );
}

#[tokio::test]
async fn prompt_consent_always_asks() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"consent": "implied"}))
        .await;
    let browser = Browser::new(&host.base);
    let back = approved(&ada, &browser, &[]).await;
    assert!(
        back.parameter("code").starts_with("ac_"),
        "an application with implied consent shows no consent page"
    );
    let forced = [
        ("prompt", Some("consent")),
        ("scope", Some("openid offline_access")),
    ];
    for _ in 0..2 {
        let page = asks(&ada, &browser, &forced).await.expect("a page");
        assert!(page.asks_for_consent() && page.body.contains("Keep access while you are away"));
        assert!(
            page.body.contains("You will be asked again") && !page.body.contains("Remembered"),
            "{}",
            page.body
        );
        assert!(
            page.decide("allow")
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
}

#[tokio::test]
async fn prompt_none_without_consent_is_an_error() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let silent = [("prompt", Some("none")), ("scope", Some("openid phone"))];
    let page = browser.get(&ada.application.request(&silent)).await;
    assert_eq!(page.parameter("error"), "consent_required");
}

#[tokio::test]
async fn claims_requested_by_name_need_consent_to_their_scopes() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let by_name = [("claims", Some(r#"{"userinfo": {"phone_number": null}}"#))];
    let page = asks(&ada, &browser, &by_name).await.expect("a page");
    assert!(page.asks_for_consent() && page.body.contains("See your phone number"));
}

#[tokio::test]
async fn forged_and_foreign_consent_forms_are_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (browser, attacker) = (Browser::new(&host.base), Browser::new(&host.base));
    let page = approved(&ada, &browser, &[]).await;
    let other = ada.application.login_page(&browser, &[]).await;
    let (csrf, token, foreign) = (page.csrf(), page.user_token(), other.csrf());
    let action = format!("{}/consent", page.path());
    for form in [
        vec![("decision", "allow")],
        vec![("decision", "allow"), ("user", &token)],
        vec![("decision", "allow"), ("user", &token), ("csrf", "x")],
        vec![("decision", "allow"), ("user", &token), ("csrf", &foreign)],
    ] {
        assert_eq!(
            browser.post(&action, &form).await.status,
            StatusCode::FORBIDDEN,
            "{form:?}"
        );
    }
    // A valid CSRF token does not prove by itself that the user saw the consent page.
    for form in [
        vec![("decision", "allow"), ("csrf", csrf.as_str())],
        vec![("decision", "allow"), ("csrf", &csrf), ("user", &csrf)],
        vec![("decision", "perhaps"), ("csrf", &csrf), ("user", &token)],
    ] {
        assert!(
            browser
                .post(&action, &form)
                .await
                .followed()
                .await
                .asks_for_consent(),
            "{form:?}"
        );
    }
    let stolen = [
        ("decision", "allow"),
        ("csrf", csrf.as_str()),
        ("user", &token),
    ];
    let answer = attacker.post(&action, &stolen).await;
    assert!(
        [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN].contains(&answer.status),
        "{}",
        answer.status
    );
    assert_eq!(attacker.get(&page.url).await.status, StatusCode::NOT_FOUND);
    assert!(
        page.decide("allow")
            .await
            .parameter("code")
            .starts_with("ac_"),
        "the user can still consent"
    );
}

#[tokio::test]
async fn another_user_in_the_browser_cannot_consent_for_the_first() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let page = asks(&ada, &browser, &[("prompt", Some("consent"))])
        .await
        .expect("a page");

    let eve = host.user("eve").await;
    let device = host.authenticator(&eve).await;
    host.account(&eve, &ada.application).await;
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    let waiting = login.submit_name("eve").await;
    let requests = device.pending_requests(5).await;
    device.approve(&requests[0], &waiting.number()).await;
    browser.finish(&waiting.url).await.parameter("code");

    // Ada's session ended, so her page leads back to the page that asks for the name.
    let identify = page.decide("allow").await.followed().await;
    assert!(
        identify.body.contains("name=\"name\"") && !identify.asks_for_consent(),
        "{}",
        identify.body
    );
}

#[tokio::test]
async fn a_user_may_switch_the_account_on_the_consent_page() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let page = asks(&ada, &browser, &[("prompt", Some("consent"))])
        .await
        .expect("a page");
    let again = page.retry().await;
    assert!(again.body.contains("name=\"name\""), "{}", again.body);
    let waiting = again.submit_name("ada").await;
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
async fn an_ended_session_cannot_consent() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let page = asks(&ada, &browser, &[("prompt", Some("consent"))])
        .await
        .expect("a page");
    browser.get("/").await.submit("/sign-out", &[]).await;
    let identify = page.decide("allow").await.followed().await;
    assert!(
        identify.body.contains("name=\"name\"") && !identify.body.contains("Ada Lovelace"),
        "{}",
        identify.body
    );
}

#[both_databases]
async fn a_user_lists_and_revokes_consents(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let code = ada.sign_in(&browser).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["access_token"].text();
    let home = browser.get("/consents").await;
    for text in [
        "Books &#38; &#60;Co&#62;</bdi> may",
        "See your email address",
        "You are not asked again until",
    ] {
        assert!(
            home.body.contains(text),
            "{database:?}: {text}: {}",
            home.body
        );
    }
    assert_eq!(userinfo(&host, token).await.0, StatusCode::OK);

    let application = [("application", ada.application.id.as_str())];
    assert_eq!(
        browser
            .post("/consents/withdraw", &application)
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    assert!(
        browser.get("/consents").await.body.contains("may</h2>"),
        "a forged form does nothing"
    );
    // Each kind of form on the page has a token of its own.
    let csrf = home
        .body
        .split("action=\"/consents/withdraw\"")
        .nth(1)
        .expect("a form");
    let csrf = csrf
        .split("name=\"csrf\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a token");
    let form = [("application", ada.application.id.as_str()), ("csrf", csrf)];
    let home = browser
        .post("/consents/withdraw", &form)
        .await
        .followed()
        .await;
    assert!(!home.body.contains("may</h2>") && home.body.contains("Ada Lovelace"));
    let returned = "role=\"status\"><p><bdi>Books &#38; &#60;Co&#62;</bdi> is no longer allowed; it has to ask you \
        again.";
    assert!(home.body.contains(returned), "{database:?}: {}", home.body);
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::UNAUTHORIZED,
        "the tokens of the application end"
    );
    let requested = asks(&ada, &browser, &[]).await.expect("a page");
    assert!(
        requested.asks_for_consent(),
        "the application has to ask for consent again"
    );
    requested.decide("allow").await.parameter("code");
    assert!(
        !home.again().await.body.contains("no longer allowed"),
        "{database:?}: the application is allowed again"
    );
}

#[tokio::test]
async fn forged_portal_urls_show_no_message() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let other = host.web_application().await;
    let csrf = browser.get("/consents").await.csrf();
    let nonsense = "did:web:nowhere.example";
    for query in [
        format!("withdrawn={}", other.id),
        format!("withdrawn={}&token={csrf}", other.id),
        format!("withdrawn={nonsense}&token={csrf}"),
        "withdrawn=Give+me+your+number&token=x".to_owned(),
        "withdrawn=a&withdrawn=b".to_owned(),
    ] {
        let home = browser.get(&format!("/consents?{query}")).await;
        assert_eq!(home.status, StatusCode::OK, "{query}");
        assert!(
            home.body.contains("Ada Lovelace") && !home.body.contains("role=\"status\""),
            "{query}"
        );
    }
}
