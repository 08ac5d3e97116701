//! Error pages: each has the event, the next step, a contact for help, and a reference number that finds the log entry.

use assent_model::language::Language;
use assent_store::sql;
use reqwest::StatusCode;
use serde_json::json;

use super::{assert_language, text};
use crate::harness::{Browser, Log, Page, TestHost};
use crate::saml::service_provider::{TestServiceProvider, instant};

const SUPPORT: &str = "<a href=\"mailto:help@example.org\"><bdi>help@example.org</bdi></a>";

/// Checks that a page is an error page in German. The log has its reference number with the title in English and the
/// cause.
fn assert_reference(page: &Page, log: &Log, status: u16, title: &str, cause: &str) {
    assert_eq!(
        page.status,
        StatusCode::from_u16(status).expect("a status"),
        "{}: {}",
        page.url,
        page.body
    );
    assert_language(page, Language::German, &[title, "error-reference"]);
    assert!(page.body.contains(SUPPORT), "{}: {}", page.url, page.body);
    assert!(
        page.body.matches("<p").count() >= 4,
        "what happened, what to do, help, reference: {}",
        page.body
    );
    let reference = page
        .body
        .split("<code>")
        .nth(1)
        .and_then(|rest| rest.split('<').next())
        .expect("a reference");
    assert!(
        reference.len() == 8 && reference.bytes().all(|b| b.is_ascii_hexdigit()),
        "{reference}"
    );
    let english = text(Language::English, title);
    let found = log.has(&[&format!("reference=\"{reference}\""), &english, cause]);
    assert!(
        found,
        "{reference} {english} {cause}: {}",
        log.lines().join("\n")
    );
    // Only the operator may see the cause.
    assert!(!page.body.contains(cause), "{cause}: {}", page.body);
}

async fn host(settings: &str) -> TestHost {
    let settings = format!("{settings}\n[branding]\nsupport = \"help@example.org\"\n");
    TestHost::start_with_settings(&settings).await
}

#[tokio::test]
async fn a_failed_request_has_a_reference() {
    let log = Log::capture();
    let host = host("").await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "de");
    assert_reference(
        &browser.get("/nowhere?x=1").await,
        &log,
        404,
        "error-not-found",
        "cause=/nowhere",
    );
    assert_reference(
        &browser.get("/assets/nothing.css").await,
        &log,
        404,
        "error-not-found",
        "/assets/nothing.css",
    );
    for (changes, cause) in [
        ([("client_id", None), ("x", None)], "client_id is missing"),
        (
            [("client_id", Some("nobody")), ("x", None)],
            "no application has the client_id",
        ),
        (
            [("redirect_uri", None), ("x", None)],
            "redirect_uri is missing",
        ),
        (
            [("redirect_uri", Some("https://evil.example")), ("x", None)],
            "which is not registered for",
        ),
    ] {
        assert_reference(
            &browser.get(&ada.application.request(&changes)).await,
            &log,
            400,
            "error-request",
            cause,
        );
    }
}

#[tokio::test]
async fn failed_forms_saml_requests_and_logouts_have_a_reference() {
    let log = Log::capture();
    let host = host("").await;
    let browser = Browser::reading(&host.base, "de");
    let endless = "x".repeat(9 * 1024);
    let posted = browser.post("/oidc/auth", &[("state", &endless)]).await;
    assert_reference(
        &posted,
        &log,
        400,
        "error-request",
        "the request cannot be read",
    );
    for path in [
        "SingleSignOnService/x?SAMLRequest=x",
        "SingleSignOnService/x",
    ] {
        let page = browser.get(&format!("/sso/{path}")).await;
        assert!(page.status.is_client_error());
        assert_reference(
            &page,
            &log,
            page.status.as_u16(),
            "error-request",
            "the application in the address is",
        );
    }
    let logout = browser
        .get("/sso/SingleLogoutService/x?SAMLRequest=x")
        .await;
    assert_reference(
        &logout,
        &log,
        logout.status.as_u16(),
        "error-sign-out-request",
        "the application in the address is",
    );
    assert_reference(
        &browser.get("/sso/sign-on/x").await,
        &log,
        400,
        "error-login-replayed",
        "the stored SAML request is unknown",
    );
    assert_reference(
        &browser.get("/sso/metadata/x").await,
        &log,
        404,
        "error-metadata",
        "for an unknown application",
    );
    let nonsense = browser
        .get("/oidc/session/end?id_token_hint=nonsense")
        .await;
    assert_reference(
        &nonsense,
        &log,
        400,
        "error-sign-out-request",
        "the id_token_hint is not an ID token",
    );
    let sealed = browser.get("/session/end?request=nonsense").await;
    assert_reference(
        &sealed,
        &log,
        400,
        "error-sign-out-request",
        "the sealed request is not from this server",
    );
}

#[tokio::test]
async fn a_failed_sign_in_has_a_reference() {
    let log = Log::capture();
    let host =
        host("[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 3 }\n").await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "de");
    assert_reference(
        &browser.get("/login/x").await,
        &log,
        404,
        "error-login-unknown",
        "no such login in this browser",
    );
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let forged = browser
        .post(&waiting.path(), &[("name", "ada"), ("csrf", "x")])
        .await;
    assert_reference(
        &forged,
        &log,
        403,
        "error-form",
        "the CSRF token is missing or wrong",
    );
    ada.approve(&waiting).await;
    browser.finish(&waiting.url).await;
    // The same browser gets the answer again for 30 seconds.
    host.advance(31);
    assert_reference(
        &waiting.again().await,
        &log,
        409,
        "error-login-answered",
        "the login was answered before",
    );
    assert_reference(
        &browser.get("/admin").await,
        &log,
        403,
        "error-not-administrator",
        "the user has no console role",
    );
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    // Her own name has a separate limit here, because she signed in with this browser before.
    for _ in 0..3 {
        login.submit(&login.path(), &[("name", "nobody")]).await;
        login
            .again()
            .await
            .submit(&format!("{}/cancel", login.path()), &[])
            .await;
        login
            .again()
            .await
            .submit(&format!("{}/again", login.path()), &[])
            .await;
    }
    let page = login
        .again()
        .await
        .submit(&login.path(), &[("name", "nobody")])
        .await;
    assert_reference(
        &page,
        &log,
        429,
        "error-too-many",
        "a rate limit is reached",
    );
    assert_language(
        &page,
        Language::German,
        &["error-too-many-name", "error-again"],
    );
    assert!(page.body.contains("Warten Sie "), "{}", page.body);
}

#[tokio::test]
async fn a_rate_limited_network_gets_a_reference() {
    let log = Log::capture();
    let host = host("[rate_limits]\nlogin_pages_per_ip = { per_minute = 1, burst = 1 }\n").await;
    let browser = Browser::reading(&host.base, "de");
    browser.get("/login/x").await;
    let page = browser.get("/login/x").await;
    assert_reference(
        &page,
        &log,
        429,
        "error-too-many",
        "a rate limit is reached",
    );
    assert_language(&page, Language::German, &["error-too-many-network"]);
}

#[tokio::test]
async fn an_internal_error_has_a_reference() {
    let log = Log::capture();
    let host = host("").await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "de");
    ada.sign_in(&browser).await;
    let mut database = host.connection().await;
    sql::query("ALTER TABLE sessions RENAME TO sessions_away")
        .execute(&mut database)
        .await
        .unwrap();
    let page = browser.get("/").await;
    assert_reference(&page, &log, 500, "error-internal", "ERROR");
    assert_language(
        &page,
        Language::German,
        &["error-internal-happened", "error-internal-advice"],
    );
}

#[tokio::test]
async fn a_database_outage_page_suggests_a_retry_in_seconds() {
    let log = Log::capture();
    let host = host("").await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "de");
    ada.sign_in(&browser).await;
    host.host.store.close().await;
    for path in ["/", &ada.application.request(&[])] {
        let page = browser.get(path).await;
        assert_reference(&page, &log, 503, "error-outage", "ERROR");
        assert_eq!(page.headers["retry-after"], "2", "{path}");
        assert_language(
            &page,
            Language::German,
            &["error-outage-happened", "error-outage-advice"],
        );
    }
}

#[tokio::test]
async fn without_a_support_setting_no_help_is_offered() {
    let host = TestHost::start().await;
    let page = Browser::new(&host.base).get("/nowhere").await;
    assert!(
        !page
            .body
            .contains(&text(Language::English, "error-support")),
        "{}",
        page.body
    );
}

/// Returns the details for the application's operator on a page, as labels and values.
fn operator_details(page: &Page) -> Vec<(String, String)> {
    let Some((_, details)) = page.body.split_once("<details class=\"operator\">") else {
        return Vec::new();
    };
    let rows = details.split("<div><dt>").skip(1).map(|row| {
        let (label, rest) = row.split_once("</dt><dd><code").expect("a value");
        let (_, value) = rest.split_once('>').expect("a value");
        let (value, _) = value.split_once("</code>").expect("a value");
        (label.to_owned(), value.to_owned())
    });
    rows.collect()
}

/// Checks that a page has these details, followed by the reference number.
fn assert_details(page: &Page, expected: &[(&str, &str)]) {
    let mut details = operator_details(page);
    let (label, reference) = details
        .pop()
        .unwrap_or_else(|| panic!("no details: {}", page.body));
    assert_eq!(label, "Reference");
    assert_eq!(
        page.body.matches(&reference).count(),
        2,
        "in the details and on the page itself: {}",
        page.body
    );
    let details: Vec<(&str, &str)> = details
        .iter()
        .map(|(label, value)| (label.as_str(), value.as_str()))
        .collect();
    assert_eq!(details, expected, "{}", page.body);
}

#[tokio::test]
async fn an_authorization_error_tells_the_operator_what_was_received() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let browser = Browser::new(&host.base);
    let get =
        async |changes: &[(&str, Option<&str>)]| browser.get(&application.request(changes)).await;
    let registered = [
        ("Application", "Books &#38; &#60;Co&#62;"),
        ("Client ID", application.id.as_str()),
    ];
    let hostile = format!("https://rp.example/\u{202e}<b>\"{}", "x".repeat(400));
    let cut = format!(
        "&#34;https://rp.example/\\u{{202e}}&#60;b&#62;\\&#34;{}&#34;",
        "x".repeat(200 - "https://rp.example/.<b>.".len())
    );
    let page = get(&[("redirect_uri", Some(&hostile))]).await;
    assert_details(
        &page,
        &[
            registered[0],
            registered[1],
            ("Address received", &cut),
            ("Parameter", "redirect_uri"),
        ],
    );
    let advice = text(Language::English, "error-operator-register");
    assert!(
        !page.body.contains(&advice),
        "only an address that is shown exactly can be registered: {}",
        page.body
    );
    let exact = get(&[("redirect_uri", Some("https://rp.example/new"))]).await;
    assert!(exact.body.contains(&advice), "{}", exact.body);
    // Not every caller may see the registered addresses.
    assert!(
        !page.body.contains("rp.example/cb") && !page.body.contains("rp.example/other"),
        "{}",
        page.body
    );
    let missing = get(&[("redirect_uri", None)]).await;
    assert_details(
        &missing,
        &[registered[0], registered[1], ("Parameter", "redirect_uri")],
    );
    assert!(!missing.body.contains(&advice), "{}", missing.body);
    assert_details(
        &get(&[("client_id", Some("<nobody>"))]).await,
        &[
            ("Client ID", "&#34;&#60;nobody&#62;&#34;"),
            ("Parameter", "client_id"),
        ],
    );
    assert_details(
        &get(&[("client_id", None)]).await,
        &[("Parameter", "client_id")],
    );
    // If no application caused the error, the page has no such part.
    assert!(operator_details(&browser.get("/nowhere").await).is_empty());
}

#[tokio::test]
async fn a_sign_out_error_tells_the_operator_the_parameter() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let browser = Browser::new(&host.base);
    let nonsense = browser
        .get("/oidc/session/end?id_token_hint=nonsense")
        .await;
    assert_details(&nonsense, &[("Parameter", "id_token_hint")]);
    let address = format!(
        "/oidc/session/end?client_id={}&post_logout_redirect_uri=https://evil.example/",
        application.id
    );
    assert_details(
        &browser.get(&address).await,
        &[
            ("Address received", "&#34;https://evil.example/&#34;"),
            ("Parameter", "post_logout_redirect_uri"),
        ],
    );
}

#[tokio::test]
async fn a_saml_error_tells_the_operator_the_part_at_fault() {
    let host = TestHost::start().await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let browser = Browser::new(&host.base);
    let registered = [
        ("Application", "Engines &#38; Co"),
        ("Application ID", provider.id.as_str()),
    ];
    let elsewhere = provider
        .request(&host)
        .with("AssertionConsumerServiceURL", "https://evil.example/acs");
    assert_details(
        &provider.begin_raw(&browser, &elsewhere).await,
        &[
            registered[0],
            registered[1],
            ("Address received", "&#34;https://evil.example/acs&#34;"),
            ("Parameter", "AssertionConsumerServiceURL"),
        ],
    );
    let mut late = provider.request(&host);
    late.issue_instant = instant(&host, -3600);
    assert_details(
        &provider.begin_raw(&browser, &late).await,
        &[registered[0], registered[1], ("Parameter", "IssueInstant")],
    );
    let logout = browser
        .get(&format!("{}?SAMLRequest=x", provider.single_logout()))
        .await;
    assert_details(&logout, &registered);
    assert_details(
        &browser
            .get("/sso/SingleSignOnService/%3Cx%3E?SAMLRequest=x")
            .await,
        &[
            ("Application ID", "&#34;&#60;x&#62;&#34;"),
            ("Parameter", "SAMLRequest"),
        ],
    );
}
