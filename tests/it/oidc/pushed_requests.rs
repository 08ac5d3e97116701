//! Pushed authorization requests (RFC 9126). A test of a requirement of the OpenID suite has the name of its module.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Application, Browser, CHALLENGE, Database, HostOptions, Log, Page, Respond, TestHost, TestUser,
    Text, http_client,
};

/// The lifetime of a pushed request, in seconds.
const LIFETIME: u64 = 90;

/// Returns the parameters of an authorization request with these changes.
fn parameters(
    application: &Application,
    changes: &[(&str, Option<&str>)],
) -> Vec<(String, String)> {
    let request = application.request(changes);
    let query = request.split_once('?').expect("a query").1;
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// Pushes these parameters. Returns the status and the body.
pub(super) async fn push_form(
    base: &str,
    application: &Application,
    form: &[(String, String)],
) -> (StatusCode, Value) {
    let mut request = http_client().post(format!("{base}/oidc/par")).form(form);
    if let Some(secret) = &application.secret {
        request = request.basic_auth(&application.id, Some(secret));
    }
    let response = request.response().await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    (response.status(), response.json().await.unwrap_or_default())
}

/// Pushes a request with these changes.
async fn push(
    base: &str,
    application: &Application,
    changes: &[(&str, Option<&str>)],
) -> (StatusCode, Value) {
    push_form(base, application, &parameters(application, changes)).await
}

/// Pushes a request with these changes, which is accepted. Returns its `request_uri`.
async fn pushed(
    host: &TestHost,
    application: &Application,
    changes: &[(&str, Option<&str>)],
) -> String {
    let (status, answer) = push(&host.base, application, changes).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    answer["request_uri"].text().to_owned()
}

/// Returns the path of the authorization request that names a pushed one.
pub(super) fn address(client: &str, request_uri: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", client)
        .append_pair("request_uri", request_uri)
        .finish();
    format!("/oidc/auth?{query}")
}

/// Signs a user in by a pushed request. Returns the page of the answer.
async fn sign_in(user: &TestUser, browser: &Browser, request_uri: &str) -> Page {
    let page = browser
        .get(&address(&user.application.id, request_uri))
        .await;
    let waiting = page
        .followed()
        .await
        .submit_name(user.user["name"].text())
        .await;
    user.approve(&waiting).await;
    browser.finish(&waiting.url).await
}

/// Checks that a page of the server explains why the request is not valid.
pub(super) fn expect_page(page: &Page, reason: &str) {
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.body);
    assert!(page.body.contains(reason), "{reason}: {}", page.body);
}

#[both_databases]
async fn a_pushed_request_signs_a_user_in(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let (status, answer) = push(&host.base, &ada.application, &[]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    assert_eq!(answer["expires_in"], json!(LIFETIME));
    let request_uri = answer["request_uri"].text();
    let reference = request_uri
        .strip_prefix("urn:ietf:params:oauth:request_uri:")
        .expect("a URN");
    // 16 bytes of an id and 32 random ones.
    assert_eq!(reference.len(), "pr_".len() + 64, "{reference}");
    let page = sign_in(&ada, &browser, request_uri).await;
    assert_eq!(page.parameter("state"), "st&te");
    assert_eq!(page.parameter("iss"), host.issuer());
    let (status, tokens) = ada
        .application
        .exchange(&host.base, &page.parameter("code"), &[])
        .await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    // With a session the answer comes at once.
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let page = browser
        .get(&address(&ada.application.id, &request_uri))
        .await;
    assert!(!page.parameter("code").is_empty(), "{database:?}");
}

#[both_databases]
async fn par_attempt_reuse_request_uri(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let again = address(&ada.application.id, &request_uri);
    let answer = sign_in(&ada, &browser, &request_uri).await;
    let used = "This request was already used.";
    // The same browser, which may have lost the answer, gets it again for a short time; no other browser does.
    let repeated = browser.get(&again).await;
    assert_eq!(repeated.parameter("code"), answer.parameter("code"));
    assert_eq!(repeated.parameter("state"), "st&te");
    expect_page(&Browser::new(&host.base).get(&again).await, used);
    // So does a request that needs no sign-in page.
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let at_once = address(&ada.application.id, &request_uri);
    let code = browser.get(&at_once).await.parameter("code");
    assert_eq!(browser.get(&at_once).await.parameter("code"), code);
    // A code that was exchanged is not sent again.
    let (status, _) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    expect_page(&browser.get(&at_once).await, used);
    host.clock.advance(std::time::Duration::from_secs(31));
    expect_page(&browser.get(&again).await, used);
}

#[both_databases]
async fn par_ensure_reused_request_uri_prior_to_auth_completion_succeeds(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let first = browser
        .get(&address(&ada.application.id, &request_uri))
        .await;
    assert!(first.location().path().starts_with("/login/"));
    let page = sign_in(&ada, &browser, &request_uri).await;
    assert!(!page.parameter("code").is_empty(), "{database:?}");
}

/// An instance accepts a request that was pushed at another one. If the browser opens it at both at the same time, the
/// application receives one code.
#[both_databases]
async fn a_pushed_request_has_one_answer_on_two_instances(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let options = HostOptions {
        database,
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_second, _running, other) = host.second(options).await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    for at in [&host.base, &other] {
        let (status, pushed) = push(at, &ada.application, &[]).await;
        assert_eq!(status, StatusCode::CREATED, "{pushed}");
        let path = address(&ada.application.id, pushed["request_uri"].text());
        let second = browser.at(&other);
        let (one, two) = tokio::join!(browser.get(&path), second.get(&path));
        let mut codes: Vec<String> = [&one, &two]
            .into_iter()
            .filter(|page| page.status == StatusCode::SEE_OTHER)
            .filter(|page| page.location().host_str() == Some("rp.example"))
            .map(|page| page.parameter("code"))
            .collect();
        codes.dedup();
        assert_eq!(codes.len(), 1, "{database:?}: {} {}", one.body, two.body);
        let code = &codes[0];
        let (status, tokens) = ada.application.exchange(&other, code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
        for page in [browser.get(&path).await, second.get(&path).await] {
            expect_page(&page, "This request was already used.");
        }
    }
}

/// Two browsers begin a sign-in by one request. Only one of them receives an answer.
#[both_databases]
async fn two_sign_ins_by_one_request_have_one_answer(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let [first, second] = [Browser::new(&host.base), Browser::new(&host.base)];
    let begin = async |browser: &Browser| {
        let page = browser
            .get(&address(&ada.application.id, &request_uri))
            .await;
        page.followed()
            .await
            .submit_name(ada.user["name"].text())
            .await
    };
    let waiting = [begin(&first).await, begin(&second).await];
    for page in &waiting {
        ada.approve(page).await;
    }
    let (one, other) = tokio::join!(
        first.finish(&waiting[0].url),
        second.finish(&waiting[1].url)
    );
    let codes = [&one, &other]
        .map(|page| page.status == StatusCode::SEE_OTHER && !page.parameter("code").is_empty());
    assert_eq!(
        codes.into_iter().filter(|has_code| *has_code).count(),
        1,
        "{database:?}"
    );
}

/// The application receives one denial, and the request is used up.
#[tokio::test]
async fn user_rejects_authentication() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let page = browser
        .get(&address(&ada.application.id, &request_uri))
        .await;
    let waiting = page
        .followed()
        .await
        .submit_name(ada.user["name"].text())
        .await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    let denied = browser.finish(&waiting.url).await;
    let page = denied.leave().await;
    assert_eq!(page.parameter("error"), "access_denied");
    assert_eq!(page.parameter("state"), "st&te");
    let again = browser
        .get(&address(&ada.application.id, &request_uri))
        .await;
    expect_page(&again, "This request was already used.");
}

#[tokio::test]
async fn par_attempt_to_use_expired_request_uri() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &ada.application, &[]).await;
    host.advance(LIFETIME);
    let page = browser
        .get(&address(&ada.application.id, &request_uri))
        .await;
    expect_page(&page, "This request has expired.");
    // A sign-in that began in time may end later.
    let request_uri = pushed(&host, &ada.application, &[]).await;
    let page = browser
        .get(&address(&ada.application.id, &request_uri))
        .await
        .followed()
        .await;
    host.advance(LIFETIME);
    let waiting = page.submit_name(ada.user["name"].text()).await;
    ada.approve(&waiting).await;
    assert!(
        !browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .is_empty()
    );
}

#[tokio::test]
async fn par_attempt_to_use_request_uri_for_different_client() {
    let host = TestHost::start().await;
    let [one, other] = [host.web_application().await, host.web_application().await];
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &one, &[]).await;
    let unknown = "it did not register before";
    expect_page(
        &browser.get(&address(&other.id, &request_uri)).await,
        unknown,
    );
    // A changed reference, and one that was never issued.
    let changed = format!(
        "{}A",
        request_uri.trim_end_matches(|last: char| last != '_')
    );
    let never = format!("urn:ietf:params:oauth:request_uri:pr_{}", "A".repeat(64));
    for reference in [
        changed.as_str(),
        &never,
        "urn:ietf:params:oauth:request_uri:",
    ] {
        expect_page(&browser.get(&address(&one.id, reference)).await, unknown);
    }
    assert!(
        browser
            .get(&address(&one.id, &request_uri))
            .await
            .location()
            .path()
            .starts_with("/login/")
    );
}

#[tokio::test]
async fn par_authorization_request_containing_request_uri_form_param() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let request_uri = pushed(&host, &web, &[]).await;
    for uri in [request_uri.as_str(), "https://rp.example/request"] {
        let (status, answer) = push(&host.base, &web, &[("request_uri", Some(uri))]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{uri}");
        assert_eq!(answer["error"], "invalid_request", "{uri}");
    }
}

#[tokio::test]
async fn par_attempt_invalid_http_method() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    for method in [Method::PUT, Method::GET, Method::DELETE] {
        let request = http_client().request(method, format!("{}/oidc/par", host.base));
        let response = request
            .basic_auth(&web.id, web.secret.as_ref())
            .form(&parameters(&web, &[]))
            .response()
            .await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}

/// The endpoint rejects what the authorization endpoint rejects, with its error.
#[tokio::test]
async fn each_check_of_the_authorization_endpoint_applies() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    for (change, error) in [
        (("response_type", None), "invalid_request"),
        (
            ("response_type", Some("code id_token")),
            "unsupported_response_type",
        ),
        (
            ("response_type", Some("token")),
            "unsupported_response_type",
        ),
        (("response_mode", Some("fragment")), "invalid_request"),
        (("scope", Some("profile")), "invalid_scope"),
        (("code_challenge_method", Some("plain")), "invalid_request"),
        (("code_challenge", Some("short")), "invalid_request"),
        (("redirect_uri", None), "invalid_request"),
        (
            ("redirect_uri", Some("https://other.example/cb")),
            "invalid_request",
        ),
        (("prompt", Some("none login")), "invalid_request"),
        (("max_age", Some("-1")), "invalid_request"),
        (("id_token_hint", Some("eyJ")), "invalid_request"),
        (("request", Some("eyJ")), "request_not_supported"),
        (("dpop_jkt", Some("short")), "invalid_request"),
    ] {
        let (status, answer) = push(&host.base, &web, &[change]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{change:?}: {answer}");
        assert_eq!(answer["error"], error, "{change:?}");
        assert!(!answer["error_description"].text().is_empty(), "{change:?}");
    }
    let long = "x".repeat(2049);
    let (status, _) = push(&host.base, &web, &[("state", Some(&long))]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_log_names_the_application_of_a_rejected_request_and_the_reason() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let log = Log::capture();
    push(&host.base, &web, &[("scope", None)]).await;
    let line = [
        "pushed authorization request rejected",
        &format!("application={}", web.id),
        "error=\"invalid_scope\"",
    ];
    assert!(log.has(&line), "{:?}", log.lines());
}

#[tokio::test]
async fn the_application_must_authenticate() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let wrong = [
        Application {
            secret: Some("wrong".to_owned()),
            ..web.clone()
        },
        Application {
            secret: None,
            ..web.clone()
        },
    ];
    for application in wrong {
        let (status, answer) = push(&host.base, &application, &[]).await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::UNAUTHORIZED, &json!("invalid_client"))
        );
    }
    // A public application only names itself.
    let native = host.native_application().await;
    assert_eq!(push(&host.base, &native, &[]).await.0, StatusCode::CREATED);
}

/// Parameters beside the reference have no effect, whatever their values and order.
#[tokio::test]
async fn par_without_duplicate_parameters() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let user = &ada;
    let code = ada.sign_in(&browser).await;
    assert!(!code.is_empty());
    for changes in [
        vec![],
        vec![
            ("scope", "openid"),
            ("response_type", "code"),
            ("redirect_uri", "https://rp.example/cb"),
        ],
        vec![
            ("redirect_uri", "https://evil.example/"),
            ("code_challenge", CHALLENGE),
            ("prompt", "none"),
        ],
        vec![
            ("state", "outside"),
            ("nonce", "outside"),
            ("response_mode", "form_post"),
        ],
    ] {
        let request_uri = pushed(&host, &user.application, &[]).await;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("request_uri", &request_uri)
            .extend_pairs(changes);
        query.append_pair("client_id", &user.application.id);
        let page = browser.get(&format!("/oidc/auth?{}", query.finish())).await;
        assert!(
            page.location()
                .as_str()
                .starts_with("https://rp.example/cb?")
        );
        assert_eq!(page.parameter("state"), "st&te");
    }
}

/// A `state` outside the pushed request does not come back.
#[tokio::test]
async fn state_only_outside_request_object_not_used() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let request_uri = pushed(&host, &ada.application, &[("state", None)]).await;
    let path = format!(
        "{}&state=outside",
        address(&ada.application.id, &request_uri)
    );
    let page = browser.get(&path).await;
    assert!(!page.parameter("code").is_empty());
    assert!(
        !page
            .location()
            .query_pairs()
            .any(|(name, _)| name == "state")
    );
}

/// An application, and a server, may accept only pushed requests.
#[tokio::test]
async fn ensure_unsigned_authorization_request_without_using_par_fails() {
    let mut host = TestHost::start().await;
    let web = host.web_application().await;
    let browser = Browser::new(&host.base);
    let path = format!("/applications/{}", web.id);
    let required = json!({"require_pushed_authorization_requests": true});
    let shown = host.admin_ok(Method::PATCH, &path, required).await;
    assert_eq!(shown["require_pushed_authorization_requests"], true);
    let page = browser.get(&web.request(&[])).await;
    assert_eq!(page.parameter("error"), "invalid_request");
    assert!(
        page.parameter("error_description")
            .contains("must be pushed")
    );
    let request_uri = pushed(&host, &web, &[]).await;
    let page = browser.get(&address(&web.id, &request_uri)).await;
    assert!(page.location().path().starts_with("/login/"));

    let other = host.web_application().await;
    let settings = "[oidc]\nrequire_pushed_authorization_requests = true\n";
    host = host
        .restart_with(HostOptions {
            settings,
            ..HostOptions::default()
        })
        .await;
    let browser = Browser::new(&host.base);
    let page = browser.get(&other.request(&[])).await;
    assert_eq!(page.parameter("error"), "invalid_request");
    let request_uri = pushed(&host, &other, &[]).await;
    let page = browser.get(&address(&other.id, &request_uri)).await;
    assert!(page.location().path().starts_with("/login/"));
}

/// The administrator changes the application between push and visit.
#[tokio::test]
async fn a_pushed_request_is_checked_again_when_it_is_used() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let browser = Browser::new(&host.base);
    let request_uri = pushed(&host, &web, &[]).await;
    let path = format!("/applications/{}", web.id);
    let change = json!({"redirect_uris": ["https://rp.example/other"]});
    host.admin_ok(Method::PATCH, &path, change).await;
    let page = browser.get(&address(&web.id, &request_uri)).await;
    expect_page(&page, "an address that is not registered");
}

/// An error without a page is an answer, too: `prompt=none` without a session, and an error of the second check.
#[both_databases]
async fn an_error_of_the_authorization_endpoint_uses_the_request_up(database: Database) {
    let (host, ada, browser) = TestHost::start_on(database)
        .await
        .with_ada_and_browser()
        .await;
    let client = &ada.application.id;
    let silent = [("prompt", Some("none"))];
    let by_prompt = address(client, &pushed(&host, &ada.application, &silent).await);
    let unproven = [("code_challenge", None), ("code_challenge_method", None)];
    let by_check = address(client, &pushed(&host, &ada.application, &unproven).await);
    let path = format!("/applications/{client}");
    let change = json!({"require_pkce": true});
    host.admin_ok(Method::PATCH, &path, change).await;
    for (first, error) in [(by_prompt, "login_required"), (by_check, "invalid_request")] {
        let page = browser.get(&first).await;
        assert_eq!(page.parameter("error"), error, "{database:?}");
        assert_eq!(page.parameter("state"), "st&te");
        expect_page(&browser.get(&first).await, "This request was already used.");
    }
}

/// The database has neither the credentials of the application nor a usable reference.
#[both_databases]
async fn no_credentials_are_stored(database: Database) {
    let host = TestHost::start_on(database).await;
    let body = json!({
        "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let client = application["id"].text();
    let rotated = format!("/applications/{client}/secret/rotate");
    let secret = host.admin_ok(Method::POST, &rotated, Value::Null).await;
    let web = Application {
        id: client.to_owned(),
        secret: None,
        redirect_uri: "https://rp.example/cb".to_owned(),
    };
    let changes = [("client_secret", secret["client_secret"].as_str())];
    let request_uri = pushed(&host, &web, &changes).await;
    let stored: Vec<(String, String)> =
        assent_store::sql::query_as("SELECT digest, parameters FROM pushed_requests")
            .fetch_all(&mut host.connection().await)
            .await
            .expect("rows");
    let [(digest, parameters)] = stored.as_slice() else {
        panic!("{database:?}: {stored:?}");
    };
    assert!(!parameters.contains("client_secret"), "{parameters}");
    assert!(!request_uri.contains(digest.as_str()));
}

/// Adds pushed requests of an application, which are older than all others.
async fn insert_old(host: &TestHost, application: &Application, prefix: &str, count: i64) {
    let insert = "INSERT INTO pushed_requests (id, digest, application_id, parameters, expires_at)
                  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $3)
                  SELECT CAST($2 AS TEXT) || (1000000 + n), 'x', $1, '[]', 0 FROM numbers";
    assent_store::sql::query(insert)
        .bind(application.id.clone())
        .bind(prefix.to_owned())
        .bind(count)
        .execute(&mut host.connection().await)
        .await
        .expect("inserted");
}

async fn count_pushed(host: &TestHost, application: &Application) -> i64 {
    let select = "SELECT COUNT(*) FROM pushed_requests WHERE application_id = $1";
    let counted: (i64,) = assent_store::sql::query_as(select)
        .bind(application.id.clone())
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a count");
    counted.0
}

/// Pushes until an application has at most this many requests. One of 64 requests deletes the surplus, by chance.
async fn push_until(host: &TestHost, application: &Application, most: i64) -> String {
    let mut last = String::new();
    for _ in 0..2000 {
        last = pushed(host, application, &[]).await;
        if count_pushed(host, application).await <= most {
            break;
        }
    }
    assert!(count_pushed(host, application).await <= most);
    last
}

/// Any client can push requests of a public application, and one with a secret may push 100,000. Their number is
/// bounded, and the newest stay.
#[both_databases]
async fn the_pushed_requests_of_an_application_are_bounded(database: Database) {
    // The limit of an address would end the test sooner.
    let settings = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 0, burst = 1 }\n";
    let host = TestHost::start_on_with(database, settings).await;
    let [native, web] = [
        host.native_application().await,
        host.web_application().await,
    ];
    let bystander = host.web_application().await;
    let kept = pushed(&host, &bystander, &[]).await;
    let opens = async |application: &Application, request_uri: &str| {
        let browser = Browser::new(&host.base);
        let page = browser.get(&address(&application.id, request_uri)).await;
        assert!(page.location().path().starts_with("/login/"));
    };
    for (number, application) in [&native, &web].into_iter().enumerate() {
        insert_old(&host, application, &format!("0{number}0"), 10_500).await;
        let newest = push_until(&host, application, 10_001).await;
        opens(application, &newest).await;
        // A larger surplus shrinks, because a turn deletes more than the requests between two turns add.
        insert_old(&host, application, &format!("0{number}1"), 100_000).await;
        let before = count_pushed(&host, application).await;
        let last = push_until(&host, application, before - 500).await;
        for request_uri in [&newest, &last] {
            opens(application, request_uri).await;
        }
    }
    // Those of another application are no surplus.
    opens(&bystander, &kept).await;
}

/// A public application is not authenticated, so an address pushes as often as it opens login pages.
#[tokio::test]
async fn the_pushed_requests_of_an_address_are_limited_for_public_applications() {
    let settings = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 1, burst = 3 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let (web, native) = (
        host.web_application().await,
        host.native_application().await,
    );
    for _ in 0..3 {
        pushed(&host, &native, &[]).await;
    }
    let (status, answer) = push(&host.base, &native, &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (
            StatusCode::TOO_MANY_REQUESTS,
            &json!("temporarily_unavailable")
        )
    );
    pushed(&host, &web, &[]).await;
}

/// Only what the authorization endpoint reads is stored, and not more than it may be.
#[tokio::test]
async fn unknown_parameters_are_not_stored() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let long = "\u{1}".repeat(8000);
    let changes = [
        ("x", Some(long.as_str())),
        ("code_verifier", Some("secret")),
        ("dpop_jkt", Some("")),
    ];
    pushed(&host, &web, &changes).await;
    let stored: (String,) = assent_store::sql::query_as("SELECT parameters FROM pushed_requests")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a row");
    assert!(stored.0.len() < 1000, "{}", stored.0.len());
    assert!(!stored.0.contains("code_verifier"));
    // Control characters take six times their space.
    let (status, answer) = push(&host.base, &web, &[("login_hint", Some(&long))]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request"))
    );
}
