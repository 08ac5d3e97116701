//! The parameters of an authorization request. A test for a module of the OpenID Foundation's conformance plan has the
//! name of the module.

use assent::keys::TokenType;
use assent_model::key::SigningAlgorithm;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::claims::claims;
use super::token::userinfo;
use crate::harness::{Body, Browser, Json, Page, TestHost, TestUser, Text, get, id};

type Changes<'a> = &'a [(&'a str, Option<&'a str>)];

/// Sends a request. Returns the response if it redirects to the application, and otherwise the page as the error.
async fn without_page(
    ada: &TestUser,
    browser: &Browser,
    changes: Changes<'_>,
) -> Result<Page, Page> {
    let page = browser.get(&ada.application.request(changes)).await;
    if page.location().host_str() == Some("rp.example") {
        Ok(page)
    } else {
        Err(page.followed().await)
    }
}

async fn error(ada: &TestUser, browser: &Browser, changes: Changes<'_>) -> String {
    let page = browser.get(&ada.application.request(changes)).await;
    assert_eq!(page.parameter("state"), "st&te");
    page.parameter("error")
}

/// Signs in with these changes of the request, and gives consent. Returns the response to the application.
async fn signs_in(ada: &TestUser, browser: &Browser, changes: Changes<'_>) -> Page {
    let waiting = ada.begin_sign_in(browser, changes).await;
    ada.approve(&waiting).await;
    browser.finish(&waiting.url).await
}

/// Returns a token with these claims and a signature of the instance's own key.
async fn hint(host: &TestHost, changes: Value, ada: &TestUser) -> String {
    let mut claims =
        json!({"iss": host.issuer(), "aud": ada.application.id, "sub": ada.user["sub"], "exp": 1});
    claims.members_mut().extend(changes.members().clone());
    let Value::Object(claims) = claims else {
        unreachable!()
    };
    let key = host
        .host
        .key_ring
        .signer(SigningAlgorithm::Rs256, host.host.now())
        .expect("a key");
    key.sign(claims, TokenType::IdToken).expect("signed")
}

#[tokio::test]
async fn display_page_display_popup_ui_locales_claims_locales_and_acr_values_are_accepted() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    for (name, value) in [
        ("display", "page"),
        ("display", "popup"),
        ("ui_locales", "se de-CH"),
        ("claims_locales", "se"),
        ("acr_values", "1 2"),
    ] {
        let page = without_page(&ada, &browser, &[(name, Some(value))]).await;
        let code = page
            .unwrap_or_else(|page| panic!("{name}: {}", page.body))
            .parameter("code");
        let (claims, _) = claims(&host, &ada, &code).await;
        assert_eq!(claims["acr"], "urn:assent:acr:device");
    }
}

#[tokio::test]
async fn login_hint_prefills_the_name() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = without_page(&ada, &browser, &[("login_hint", Some("Ada@Example.org"))])
        .await
        .err()
        .expect("a page");
    assert!(
        page.body.contains("value=\"ada@example.org\""),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn prompt_login() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let first = claims(&host, &ada, &ada.sign_in(&browser).await).await.0;
    host.advance(2);
    let second = signs_in(&ada, &browser, &[("prompt", Some("login"))]).await;
    let second = claims(&host, &ada, &second.parameter("code")).await.0;
    assert_eq!(first["sub"], second["sub"]);
    assert_ne!(first["auth_time"], second["auth_time"]);
    assert_eq!(
        first["sid"], second["sid"],
        "the same user in the same browser"
    );
}

#[tokio::test]
async fn another_user_in_the_same_browser_gets_another_sid() {
    let host = TestHost::start().await;
    let mut ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let first = claims(&host, &ada, &ada.sign_in(&browser).await).await.0;
    let eve = host.user("eve").await;
    ada.device = host.authenticator(&eve).await;
    host.account(&eve, &ada.application).await;
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    let waiting = login.submit_name("eve").await;
    ada.approve(&waiting).await;
    let second = claims(
        &host,
        &ada,
        &browser.finish(&waiting.url).await.parameter("code"),
    )
    .await
    .0;
    assert_eq!(second["sub"], eve["sub"]);
    assert_ne!(first["sid"], second["sid"]);
}

#[tokio::test]
async fn prompt_none_not_logged_in_and_prompt_none_logged_in() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    assert_eq!(
        error(&ada, &browser, &[("prompt", Some("none"))]).await,
        "login_required"
    );
    let first = claims(&host, &ada, &ada.sign_in(&browser).await).await.0;
    host.advance(5);
    let page = without_page(&ada, &browser, &[("prompt", Some("none"))])
        .await
        .ok()
        .expect("no page");
    let second = claims(&host, &ada, &page.parameter("code")).await.0;
    for name in ["sub", "auth_time", "sid"] {
        assert_eq!(first[name], second[name], "{name}");
    }
}

#[tokio::test]
async fn max_age_1_and_max_age_10000_and_0() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let first = claims(&host, &ada, &ada.sign_in(&browser).await).await.0;
    assert!(
        without_page(&ada, &browser, &[("max_age", Some("0"))])
            .await
            .is_err(),
        "0 is the same as prompt=login"
    );
    assert!(
        without_page(&ada, &browser, &[("max_age", Some("10000"))])
            .await
            .is_ok()
    );
    host.advance(2);
    let none = [("max_age", Some("1")), ("prompt", Some("none"))];
    assert_eq!(error(&ada, &browser, &none).await, "login_required");
    let page = signs_in(&ada, &browser, &[("max_age", Some("1"))]).await;
    let second = claims(&host, &ada, &page.parameter("code")).await.0;
    assert!(second["auth_time"].as_i64() > first["auth_time"].as_i64());
}

#[tokio::test]
async fn select_account_offers_to_continue() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let select = ("prompt", Some("select_account"));
    let page = without_page(&ada, &browser, &[select])
        .await
        .err()
        .expect("a page");
    assert!(!page.body.contains("Continue as"), "no user is signed in");
    ada.sign_in(&browser).await;

    let page = without_page(&ada, &browser, &[select])
        .await
        .err()
        .expect("a page");
    assert!(
        page.body.contains("Continue as <bdi>Ada Lovelace</bdi>"),
        "{}",
        page.body
    );
    let action = format!("{}/continue", page.path());
    let without = page.submit(&action, &[]).await.followed().await;
    assert!(
        without.body.contains("Continue as"),
        "the form names the offered user"
    );
    let back = page
        .submit(&action, &[("user", &page.user_token())])
        .await
        .followed()
        .await;
    assert!(back.parameter("code").starts_with("ac_"));

    let page = without_page(
        &ada,
        &browser,
        &[("prompt", Some("consent select_account"))],
    )
    .await
    .err()
    .expect("a page");
    let page = page
        .submit(
            &format!("{}/continue", page.path()),
            &[("user", &page.user_token())],
        )
        .await
        .followed()
        .await;
    assert!(page.asks_for_consent(), "the consent page follows");

    for change in [
        ("prompt", Some("login select_account")),
        ("max_age", Some("1")),
    ] {
        host.advance(2);
        let changes = if change.0 == "prompt" {
            vec![change]
        } else {
            vec![select, change]
        };
        let page = without_page(&ada, &browser, &changes)
            .await
            .err()
            .expect("a page");
        assert!(
            !page.body.contains("Continue as"),
            "{change:?}: the session is not enough"
        );
    }
}

#[tokio::test]
async fn id_token_hint() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let good = hint(&host, json!({}), &ada).await;
    let none = ("prompt", Some("none"));
    assert_eq!(
        error(&ada, &browser, &[none, ("id_token_hint", Some(&good))]).await,
        "login_required"
    );
    ada.sign_in(&browser).await;
    let again = [
        ("prompt", Some("login")),
        ("id_token_hint", Some(good.as_str())),
    ];
    let page = without_page(&ada, &browser, &again)
        .await
        .err()
        .expect("a page");
    assert!(
        page.body.contains("value=\"ada\""),
        "the session's own user is filled in: {}",
        page.body
    );
    assert!(
        without_page(&ada, &browser, &[none, ("id_token_hint", Some(&good))])
            .await
            .is_ok(),
        "it may have expired"
    );
    let several = hint(&host, json!({"aud": ["other", ada.application.id]}), &ada).await;
    assert!(
        without_page(&ada, &browser, &[none, ("id_token_hint", Some(&several))])
            .await
            .is_ok()
    );

    for change in [
        json!({"iss": "https://other.example"}),
        json!({"aud": "did:web:other"}),
        json!({"sub": null}),
    ] {
        let bad = hint(&host, change.clone(), &ada).await;
        assert_eq!(
            error(&ada, &browser, &[("id_token_hint", Some(&bad))]).await,
            "invalid_request",
            "{change}"
        );
    }
    for bad in ["x", "a.b.c", &format!("{good}x"), &good.replace('.', "..")] {
        assert_eq!(
            error(&ada, &browser, &[("id_token_hint", Some(bad))]).await,
            "invalid_request",
            "{bad}"
        );
    }
}

#[tokio::test]
async fn an_id_token_hint_does_not_reveal_the_login_name() {
    let host = TestHost::start().await;
    let ada = host
        .user_with_account("augusta", host.web_application().await)
        .await;
    let hint = hint(&host, json!({}), &ada).await;
    for prompt in [None, Some("login"), Some("select_account")] {
        let parameters = [("prompt", prompt), ("id_token_hint", Some(hint.as_str()))];
        let page = without_page(&ada, &Browser::new(&host.base), &parameters)
            .await
            .err()
            .expect("a page");
        assert!(
            page.status == 200 && page.body.contains("id=\"name\""),
            "{}",
            page.body
        );
        assert!(!page.body.contains("augusta"), "{prompt:?}: {}", page.body);
    }
}

#[tokio::test]
async fn only_the_hinted_user_satisfies_the_request() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let eve = host.user("eve").await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let eves = hint(&host, json!({"sub": eve["sub"]}), &ada).await;
    let hinted = ("id_token_hint", Some(eves.as_str()));
    assert_eq!(
        error(&ada, &browser, &[("prompt", Some("none")), hinted]).await,
        "login_required"
    );
    let login = without_page(&ada, &browser, &[hinted])
        .await
        .err()
        .expect("a page");
    assert!(
        !login.body.contains("value=\"eve\""),
        "another user's name is not revealed: {}",
        login.body
    );
    assert!(
        !login.body.contains("value=\"ada\""),
        "the hint names another user: {}",
        login.body
    );
    let own = hint(&host, json!({}), &ada).await;
    let login_page = [
        ("prompt", Some("login")),
        ("id_token_hint", Some(own.as_str())),
    ];
    let own_page = without_page(&ada, &browser, &login_page)
        .await
        .err()
        .expect("a page");
    assert!(own_page.body.contains("value=\"ada\""), "{}", own_page.body);
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    assert_eq!(
        browser.get(&waiting.url).await.parameter("error"),
        "login_required"
    );
    let by_claims = format!(r#"{{"id_token": {{"sub": {{"value": {}}}}}}}"#, eve["sub"]);
    let silent = [
        ("prompt", Some("none")),
        ("claims", Some(by_claims.as_str())),
    ];
    assert_eq!(error(&ada, &browser, &silent).await, "login_required");
    let by_claims = by_claims.replace(eve["sub"].text(), ada.user["sub"].text());
    let silent = [
        ("prompt", Some("none")),
        ("claims", Some(by_claims.as_str())),
    ];
    assert!(without_page(&ada, &browser, &silent).await.is_ok());
}

#[tokio::test]
async fn claims_essential_in_the_requested_location() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let requested = json!({
        "userinfo": {"name": {"essential": true}, "auth_time": null, "phone_number": null},
        "id_token": {"email": null, "account": null, "auth_time": {"essential": true}, "iss": null, "made_up": null},
    })
    .to_string();
    let page = signs_in(
        &ada,
        &browser,
        &[("scope", Some("openid")), ("claims", Some(&requested))],
    )
    .await;
    let (returned, token) = claims(&host, &ada, &page.parameter("code")).await;
    assert_eq!(returned["email"], "ada@example.org");
    assert!(
        returned["account"].is_string() && returned["auth_time"].is_i64(),
        "{returned:?}"
    );
    for name in ["name", "phone_number", "email_verified", "made_up"] {
        assert!(!returned.contains_key(name), "{name}");
    }
    let (_, info) = userinfo(&host, &token).await;
    assert_eq!(
        (&info["name"], &info["phone_number"]),
        (&json!("Ada Lovelace"), &json!("+44 20 7946 0000"))
    );
    assert_eq!(info["auth_time"], returned["auth_time"]);
    for name in ["email", "account", "amr", "given_name"] {
        assert!(info.get(name).is_none(), "{name}");
    }
}

#[tokio::test]
async fn forbidden_claims_are_omitted() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"scopes": ["openid", "email"]}))
        .await;
    let requested =
        r#"{"userinfo": {"phone_number": {"essential": true}}, "id_token": {"name": null}}"#;
    let browser = Browser::new(&host.base);
    let page = signs_in(&ada, &browser, &[("claims", Some(requested))]).await;
    let (returned, token) = claims(&host, &ada, &page.parameter("code")).await;
    let (_, info) = userinfo(&host, &token).await;
    assert!(!returned.contains_key("name") && info.get("phone_number").is_none());
}

#[tokio::test]
async fn malformed_claims_and_unknown_acr_values_are_rejected() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    for bad in [
        "x",
        "[]",
        r#"{"userinfo": {"name": 7}}"#,
        &format!("{{\"a\": \"{}\"}}", "x".repeat(4096)),
    ] {
        assert_eq!(
            error(&ada, &browser, &[("claims", Some(bad))]).await,
            "invalid_request",
            "{bad}"
        );
    }
    let acr = |how: &str| format!(r#"{{"id_token": {{"acr": {how}}}}}"#);
    let impossible = acr(r#"{"essential": true, "values": ["urn:other"]}"#);
    let unmet = error(&ada, &browser, &[("claims", Some(&impossible))]).await;
    assert_eq!(unmet, "unmet_authentication_requirements");
    for possible in [
        r#"{"essential": true, "values": ["urn:other", "urn:assent:acr:device"]}"#,
        r#"{"values": ["urn:other"]}"#,
    ] {
        assert!(
            without_page(&ada, &browser, &[("claims", Some(&acr(possible)))])
                .await
                .is_err(),
            "{possible}"
        );
    }
}

#[tokio::test]
async fn a_slim_id_token_returns_scope_claims_at_userinfo_only() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"slim_id_token": true}))
        .await;
    let browser = Browser::new(&host.base);
    let page = signs_in(
        &ada,
        &browser,
        &[("claims", Some(r#"{"id_token": {"upn": null}}"#))],
    )
    .await;
    let (returned, token) = claims(&host, &ada, &page.parameter("code")).await;
    let mut names: Vec<&str> = returned.keys().map(String::as_str).collect();
    names.sort_unstable();
    let slim = [
        "acr",
        "amr",
        "at_hash",
        "aud",
        "auth_time",
        "exp",
        "iat",
        "iss",
        "jti",
        "nonce",
        "sid",
        "sub",
        "upn",
    ];
    assert_eq!(names, slim);
    let (_, info) = userinfo(&host, &token).await;
    for name in ["name", "email", "account", "upn"] {
        assert!(info[name].is_string(), "{name}");
    }
}

/// Returns the `sub` and the claims of Ada that an application receives, in the ID token and at UserInfo.
async fn returned(host: &TestHost, ada: &TestUser) -> (String, Map<String, Value>) {
    let (returned, token) = claims(
        host,
        ada,
        &signs_in(ada, &Browser::new(&host.base), &[])
            .await
            .parameter("code"),
    )
    .await;
    let (_, info) = userinfo(host, &token).await;
    assert_eq!(returned["sub"], info["sub"]);
    assert_eq!(
        returned.contains_key("user_did"),
        info.get("user_did").is_some()
    );
    (returned["sub"].text().to_owned(), returned)
}

#[tokio::test]
async fn pairwise_subjects_differ_per_sector_and_are_not_reversible() {
    let host = TestHost::start().await;
    let mut ada = host.ada().await;
    let (public, _) = returned(&host, &ada).await;
    let pairwise = async |ada: &TestUser| {
        let path = format!("/applications/{}", ada.application.id);
        host.admin_ok(Method::PATCH, &path, json!({"subject_type": "pairwise"}))
            .await;
        returned(&host, ada).await
    };
    let (first, claims) = pairwise(&ada).await;
    assert!(first.len() == 43 && first != public);
    assert!(
        !claims.contains_key("user_did"),
        "the identifier would be the same for all applications"
    );
    assert_eq!(
        returned(&host, &ada).await.0,
        first,
        "the subject is stable"
    );
    // The hint contains the pairwise subject.
    let browser = Browser::new(&host.base);
    signs_in(&ada, &browser, &[]).await;
    let silent = async |sub: &str| {
        let hint = hint(&host, json!({"sub": sub}), &ada).await;
        without_page(
            &ada,
            &browser,
            &[("prompt", Some("none")), ("id_token_hint", Some(&hint))],
        )
        .await
        .ok()
        .expect("no page")
    };
    assert!(silent(&first).await.parameter("code").starts_with("ac_"));
    assert_eq!(silent(&public).await.parameter("error"), "login_required");

    let body = json!({"name": "Elsewhere", "application_type": "native", "redirect_uris": ["http://127.0.0.1/cb"]});
    let other = host.admin_ok(Method::POST, "/applications", body).await;
    ada.application.id = id(&other).to_owned();
    ada.application.redirect_uri = "http://127.0.0.1/cb".to_owned();
    ada.application.secret = None;
    host.account(&ada.user, &ada.application).await;
    let (second, _) = pairwise(&ada).await;
    assert!(second != first && second != public);
}

#[tokio::test]
async fn a_pairwise_sid_differs_from_the_public_sid_and_signs_out() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let sid_of = async |code: &str| {
        let (_, tokens) = ada.application.exchange(&host.base, code, &[]).await;
        let id_token = tokens["id_token"].text().to_owned();
        let (payload, _) = josekit::jwt::decode_unsecured(format!(
            "eyJhbGciOiJub25lIn0.{}.",
            id_token.split('.').nth(1).expect("a payload")
        ))
        .expect("claims");
        (
            payload
                .claim("sid")
                .and_then(Value::as_str)
                .expect("a sid")
                .to_owned(),
            id_token,
        )
    };
    let (public, _) = sid_of(&signs_in(&ada, &browser, &[]).await.parameter("code")).await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"subject_type": "pairwise"}))
        .await;
    // The same session answers without a new sign-in.
    let (pairwise, id_token) = sid_of(
        &browser
            .get(&ada.application.request(&[]))
            .await
            .parameter("code"),
    )
    .await;
    assert_ne!(pairwise, public);
    let ended = browser
        .get(&format!("/oidc/session/end?id_token_hint={id_token}"))
        .await;
    assert_eq!(
        ended.location().path(),
        "/session/ended",
        "the session of the token is found"
    );
}

#[tokio::test]
async fn request_uri_unsigned_unsigned_request_object_and_registration_have_their_own_errors() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    for (name, value, expected) in [
        (
            "request",
            "eyJhbGciOiJub25lIn0.e30.",
            "request_not_supported",
        ),
        (
            "request_uri",
            "https://rp.example/request",
            "request_uri_not_supported",
        ),
        ("registration", "{}", "registration_not_supported"),
    ] {
        assert_eq!(
            error(&ada, &browser, &[(name, Some(value))]).await,
            expected
        );
    }
}

#[tokio::test]
async fn response_type_missing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    assert_eq!(
        error(&ada, &Browser::new(&host.base), &[("response_type", None)]).await,
        "invalid_request"
    );
}

#[tokio::test]
async fn ensure_registered_redirect_uri() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let request = ada
        .application
        .request(&[("redirect_uri", Some("https://rp.example/elsewhere"))]);
    let page = Browser::new(&host.base).get(&request).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(
        page.headers.get("location").is_none(),
        "the browser is not redirected"
    );
    let has_links =
        page.body.contains("try again") && page.body.contains("href=\"/\">Start page</a>");
    assert!(
        has_links && page.body.contains("Reference <code>"),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn ensure_post_request_succeeds() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    ada.sign_in(&browser).await;
    let request = ada.application.request(&[]);
    let query = request.split_once('?').expect("a query").1;
    let form: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let form: Vec<(&str, &str)> = form
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let page = browser.post("/oidc/auth", &form).await.followed().await;
    let (returned, _) = claims(&host, &ada, &page.parameter("code")).await;
    assert_eq!(returned["sub"], ada.user["sub"]);
}

#[tokio::test]
async fn every_prompt_combination_without_none_is_accepted() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    for prompt in [
        "login consent",
        "consent login select_account",
        "select_account",
        "login  consent",
    ] {
        let page = without_page(&ada, &browser, &[("prompt", Some(prompt))])
            .await
            .err()
            .expect("a page");
        assert!(page.body.contains("name=\"name\""), "{prompt}");
    }
    for prompt in [
        "none login",
        "none consent",
        "none select_account",
        "create",
    ] {
        assert_eq!(
            error(&ada, &browser, &[("prompt", Some(prompt))]).await,
            "invalid_request",
            "{prompt}"
        );
    }
}

#[tokio::test]
async fn discovery_lists_the_supported_authorization_parameters() {
    let host = TestHost::start().await;
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = get(url).await.read_json().await;
    assert_eq!(
        document["response_modes_supported"],
        json!(["query", "form_post", "jwt", "query.jwt", "form_post.jwt"])
    );
    assert_eq!(
        document["prompt_values_supported"],
        json!(["none", "login", "consent", "select_account"])
    );
    assert_eq!(document["claims_parameter_supported"], true);
    assert_eq!(document["ui_locales_supported"], json!(["en", "de"]));
}
