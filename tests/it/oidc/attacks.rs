//! Attacks on OAuth and OpenID Connect that must fail.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::token::userinfo;
use crate::harness::{
    Body, Browser, PATIENCE, Page, Respond, TestHost, Text, VERIFIER, http_client, id,
};

#[tokio::test]
async fn a_code_is_rejected_for_another_application_and_stays_valid_for_its_own() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let other = host.web_application().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, answer) = other.exchange(&host.base, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    assert_eq!(
        ada.application.exchange(&host.base, &code, &[]).await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn token_types_are_not_interchangeable() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    let renamed = code.replacen("ac_", "at_", 1);
    for token in [&code, &renamed, &ada.application.id] {
        assert_eq!(userinfo(&host, token).await.0, StatusCode::UNAUTHORIZED);
    }
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let access = tokens["access_token"].text();
    for wrong in [access.to_owned(), access.replacen("at_", "ac_", 1)] {
        let (_, answer) = ada.application.exchange(&host.base, &wrong, &[]).await;
        assert_eq!(answer["error"], "invalid_grant");
    }
    // An access token is neither an operator token nor a session.
    let url = format!("{}/admin/api/v1/users", host.base);
    let answer = http_client().get(url).bearer_auth(access).response().await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_unknown_application_or_redirect_uri_gets_a_page_and_no_redirect() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let browser = Browser::new(&host.base);
    let markup = "https://rp.example/cb\"><script>alert(1)</script>";
    for request in [
        web.request(&[("client_id", None)]),
        web.request(&[(
            "client_id",
            Some("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"),
        )]),
        web.request(&[("client_id", Some("<script>"))]),
        web.request(&[("redirect_uri", None)]),
        web.request(&[("redirect_uri", Some("https://rp.example/cb/"))]),
        web.request(&[("redirect_uri", Some("https://rp.example@evil.example/cb"))]),
        web.request(&[("redirect_uri", Some("https://rp.example/cb/../x"))]),
        web.request(&[("redirect_uri", Some("javascript:alert(1)"))]),
        web.request(&[("redirect_uri", Some(markup))]),
        format!(
            "{}&redirect_uri=https%3A%2F%2Fevil.example",
            web.request(&[])
        ),
        format!("{}&client_id=x", web.request(&[])),
    ] {
        let page = browser.get(&request).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{request}");
        assert!(page.headers.get("location").is_none());
        assert!(!page.body.contains("<script>alert"), "{request}");
        assert!(page.body.contains("not valid"));
    }
}

#[tokio::test]
async fn a_repeated_parameter_is_invalid_request() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = browser
        .get(&format!("{}&nonce=again", ada.application.request(&[])))
        .await;
    assert_eq!(page.parameter("error"), "invalid_request");
    let page = browser
        .get(&format!("{}&state=again", ada.application.request(&[])))
        .await;
    assert_eq!(page.parameter("error"), "invalid_request");
    assert!(
        page.location()
            .query_pairs()
            .all(|(name, _)| name != "state"),
        "the state is ambiguous"
    );

    let body = format!(
        "grant_type=authorization_code&code=a&code=b&client_id={}",
        ada.application.id
    );
    let url = format!("{}/oidc/token", host.base);
    let request = http_client()
        .post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let answer: Value = request.response().await.read_json().await;
    assert_eq!(answer["error"], "invalid_request");
}

#[tokio::test]
async fn pkce_cannot_be_dropped_or_added_between_request_and_exchange() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada
        .begin_sign_in(
            &browser,
            &[("code_challenge", None), ("code_challenge_method", None)],
        )
        .await;
    ada.approve(&page).await;
    let code = browser.finish(&page.url).await.parameter("code");
    let (_, answer) = ada
        .application
        .exchange(&host.base, &code, &[("code_verifier", Some(VERIFIER))])
        .await;
    assert_eq!(
        answer["error"], "invalid_grant",
        "a verifier without a challenge"
    );
    let (status, _) = ada
        .application
        .exchange(&host.base, &code, &[("code_verifier", None)])
        .await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn two_client_authentication_methods_at_once_are_rejected() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let (status, answer) = web
        .exchange(&host.base, "x", &[("client_secret", web.secret.as_deref())])
        .await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request"))
    );
}

#[tokio::test]
async fn a_login_page_cannot_be_continued_in_another_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (victim, attacker) = (Browser::new(&host.base), Browser::new(&host.base));
    let page = ada.begin_sign_in(&victim, &[]).await;
    assert_eq!(attacker.get(&page.url).await.status, StatusCode::NOT_FOUND);
    ada.approve(&page).await;
    assert_eq!(attacker.get(&page.url).await.status, StatusCode::NOT_FOUND);
    let csrf = page.csrf();
    for action in ["", "/cancel", "/again", "/leave"] {
        let answer = attacker
            .post(
                &format!("{}{action}", page.path()),
                &[("csrf", &csrf), ("name", "ada")],
            )
            .await;
        assert!(
            [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN].contains(&answer.status),
            "{action}: {}",
            answer.status
        );
    }
    assert_eq!(
        attacker
            .get(&format!("{}/events", page.path()))
            .await
            .status,
        StatusCode::NOT_FOUND
    );
    assert!(
        victim
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn an_empty_or_forged_post_never_advances_a_sign_in() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    let other = ada.application.login_page(&browser, &[]).await;
    let foreign = other.csrf();
    for form in [
        vec![],
        vec![("name", "ada")],
        vec![("name", "ada"), ("csrf", "x")],
        vec![("name", "ada"), ("csrf", &foreign)],
    ] {
        let answer = browser.post(&login.path(), &form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{form:?}");
    }
    assert!(ada.device.pending_requests(0).await.is_empty());
    let waiting = login.submit_name("ada").await;
    for action in ["", "/again", "/leave", "/cancel"] {
        browser
            .post(&format!("{}{action}", waiting.path()), &[])
            .await;
        assert_eq!(
            browser.get(&waiting.url).await.number(),
            waiting.number(),
            "{action}"
        );
    }
}

#[tokio::test]
async fn a_sign_in_is_answered_once() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let consent = std::sync::Arc::new(browser.get(&page.url).await);
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let consent = std::sync::Arc::clone(&consent);
        attempts.spawn(async move { consent.decide("allow").await.parameter("code") });
    }
    let codes = attempts.join_all().await;
    assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
    host.advance(30);
    assert_eq!(browser.get(&page.url).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn pages_escape_every_value_and_forbid_inline_scripts() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = browser
        .get(
            &ada.application
                .request(&[("login_hint", Some("\"><script>"))]),
        )
        .await
        .followed()
        .await;
    assert!(login.body.contains("Books &#38; &#60;Co&#62;") && !login.body.contains("<Co>"));
    let again = login
        .submit(&login.path(), &[("name", "\"><script>alert(1)</script>")])
        .await;
    assert!(!again.body.contains("<script>alert"), "{}", again.body);
    let policy = login.headers["content-security-policy"].text();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';")
            && policy.contains("frame-ancestors 'none'")
    );
    assert!(!policy.contains("unsafe") && policy.contains("form-action 'self' https:;"));
    assert_eq!(login.headers["x-frame-options"], "DENY");
    assert_eq!(login.headers["cache-control"], "no-store");
    assert_eq!(login.headers["referrer-policy"], "no-referrer");
}

#[tokio::test]
async fn the_console_isolates_its_window_and_sign_in_popups_keep_their_opener() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let policy = |page: &Page| page.headers.get("cross-origin-opener-policy").cloned();
    for path in ["/admin", "/admin/users", "/admin/test-sign-ins/none"] {
        let answer = browser.get(path).await;
        assert_eq!(policy(&answer).expect("a policy"), "same-origin", "{path}");
    }
    let started = browser.get(&ada.application.request(&[])).await;
    assert_eq!(policy(&started), None);
    let login = started.followed().await;
    assert_eq!(policy(&login), None);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    assert_eq!(policy(&waiting), None);
    ada.approve(&waiting).await;
    assert_eq!(policy(&browser.finish(&waiting.url).await), None);
    assert_eq!(policy(&browser.get("/administration").await), None);
}

#[tokio::test]
async fn each_sign_in_renews_the_session_id_and_ends_the_old_session() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let cookie = async |changes: &[(&str, Option<&str>)]| {
        let page = ada.begin_sign_in(&browser, changes).await;
        ada.approve(&page).await;
        let answer = browser.finish(&page.url).await;
        let cookie = answer.headers["set-cookie"].text().to_owned();
        assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
        cookie.split(';').next().expect("a pair").to_owned()
    };
    let first = cookie(&[]).await;
    let second = cookie(&[("prompt", Some("login"))]).await;
    assert_ne!(first, second);
    for (cookie, signed_in) in [(first, false), (second, true)] {
        let request = http_client().get(&host.base).header("cookie", cookie);
        let home = request.response().await.read_text().await;
        assert_eq!(home.contains("Ada Lovelace"), signed_in);
    }
}

#[tokio::test]
async fn bodies_and_parameters_have_limits() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let url = format!("{}/oidc/token", host.base);
    let post = async |body: String| {
        let request = http_client()
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded");
        request.body(body).response().await.status()
    };
    assert_eq!(
        post("a=1&".repeat(40_000)).await,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(post("a=1&".repeat(1000)).await, StatusCode::BAD_REQUEST);
    let page = Browser::new(&host.base)
        .get(&web.request(&[("state", Some(&"x".repeat(9000)))]))
        .await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn stored_request_parameters_have_limits() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let browser = Browser::new(&host.base);
    for (name, most) in [("state", 2048), ("nonce", 512)] {
        let page = browser
            .get(&web.request(&[(name, Some(&"x".repeat(most)))]))
            .await;
        assert!(page.location().path().starts_with("/login/"), "{name}");
        let page = browser
            .get(&web.request(&[(name, Some(&"x".repeat(most + 1)))]))
            .await;
        assert_eq!(page.parameter("error"), "invalid_request", "{name}");
    }
}

#[tokio::test]
async fn a_connection_with_an_unfinished_request_head_is_closed() {
    let host = TestHost::start_with_settings("[http]\nhead_timeout = \"1s\"").await;
    let address = host.base.replace("http://localhost", "127.0.0.1");
    let mut connection = tokio::net::TcpStream::connect(address)
        .await
        .expect("connected");
    connection
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        .await
        .expect("sent");
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "still open");
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn admin_listings_contain_no_secret() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let secret = ada.application.secret.clone().expect("a secret");
    for path in [
        "/applications".to_owned(),
        "/users".to_owned(),
        format!("/users/{}/devices", id(&ada.user)),
    ] {
        let listing = host
            .admin_ok(Method::GET, &path, Value::Null)
            .await
            .to_string();
        assert!(
            !listing.contains(&secret)
                && !listing.contains("digest")
                && !listing.contains("private"),
            "{listing}"
        );
    }
}
