//! No dead end: every page of a failed or slow sign-in offers the next step, and keeps the submitted name.

use assent_model::language::Language;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::text;
use crate::harness::{Browser, Log, Page, TestHost, id, without_code};

const SUPPORT: &str = "<a href=\"mailto:help@example.org\"><bdi>help@example.org</bdi></a>";
const WITH_SUPPORT: &str = "[branding]\nsupport = \"help@example.org\"\n";

/// Checks that a page links to recovery for this sign-in, and to the support.
fn assert_help(page: &Page) {
    let recover = format!(
        "href=\"/recover?login={}\">Lost your phone?</a>",
        page.path().trim_start_matches("/login/")
    );
    assert!(page.body.contains(&recover), "{recover}: {}", page.body);
    assert!(page.body.contains(SUPPORT), "{}", page.body);
}

/// Returns the name in the field of the login page.
fn typed_name(page: &Page) -> String {
    let field = page.body.split_once("name=\"name\" type=\"text\" value=\"");
    let (_, rest) = field.unwrap_or_else(|| panic!("no field in {}", page.body));
    rest.split('"').next().expect("a value").to_owned()
}

fn shows_name(page: &Page, name: &str) -> bool {
    let fact = format!("<dt>Account</dt><dd><bdi>{name}</bdi></dd>");
    page.body.contains(&fact)
}

/// Returns the waiting page without the parts that differ in each sign-in.
fn comparable(page: &Page, name: &str) -> String {
    let login = page.path();
    let id = login.trim_start_matches("/login/");
    let body = page
        .body
        .replace(id, "LOGIN")
        .replace(&page.csrf(), "CSRF")
        .replace(&format!("<bdi>{name}</bdi>"), "<bdi>NAME</bdi>")
        .replace(
            &format!("id=\"number\">{}<", page.number()),
            "id=\"number\">NN<",
        );
    without_code(&body)
}

#[tokio::test]
async fn the_waiting_page_shows_help_after_15_seconds_for_every_name() {
    let host = TestHost::start_with_settings(WITH_SUPPORT).await;
    let ada = host.ada().await;
    let mut waiting = Vec::new();
    for name in ["ada", "nobody"] {
        let login = ada
            .application
            .login_page(&Browser::new(&host.base), &[])
            .await;
        waiting.push((name, login.submit_name(name).await));
    }
    for (seconds, is_late) in [(0, false), (14, false), (1, true), (60, true)] {
        host.advance(seconds);
        let [known, unknown] = [&waiting[0], &waiting[1]].map(async |(name, page)| {
            let page = page.again().await;
            assert_help(&page);
            assert_eq!(
                page.body.contains("class=\"panel nothing\""),
                is_late,
                "{name}: {}",
                page.body
            );
            comparable(&page, name)
        });
        assert_eq!(known.await, unknown.await);
    }
    // Starting again ends the request and keeps the name, also if the name is unknown.
    for (name, page) in &waiting {
        let login = page.retry().await;
        assert_eq!(typed_name(&login), *name);
    }
    assert!(ada.device.pending_requests(0).await.is_empty());
}

#[tokio::test]
async fn a_failed_sign_in_keeps_the_name_and_offers_help() {
    let host = TestHost::start_with_settings(WITH_SUPPORT).await;
    let ada = host.ada().await;
    for outcome in ["denied", "expired", "number-mismatch", "cancelled"] {
        let browser = Browser::new(&host.base);
        let page = ada.begin_sign_in(&browser, &[]).await;
        let request = &ada.device.pending_requests(5).await[0];
        match outcome {
            "denied" => assert_eq!(ada.device.deny(request).await, "denied"),
            "expired" => host.advance(120),
            "cancelled" => drop(page.cancel().await),
            _ => {
                for wrong in ["01", "02", "03"] {
                    let answer = ada.device.decide(request, Some(wrong)).await;
                    answer.expect_err("wrong");
                }
            }
        }
        let ended = page.again().await;
        assert_eq!(ended.outcome(), outcome);
        assert!(shows_name(&ended, "ada"), "{outcome}: {}", ended.body);
        assert_help(&ended);
        let login = ended.retry().await;
        assert_eq!(typed_name(&login), "ada", "{outcome}");
        // The name comes from the browser's own sign-in. Without the query, the server does not look it up.
        assert_eq!(typed_name(&browser.get(&login.path()).await), "");
    }
}

#[tokio::test]
async fn an_unknown_name_stays_too_and_a_qr_sign_in_shows_no_name() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    let page = login.submit_name("nobody").await;
    host.advance(120);
    let ended = page.again().await;
    assert!(shows_name(&ended, "nobody"), "{}", ended.body);
    assert!(
        ended
            .body
            .contains("Check that “<bdi>nobody</bdi>” is right"),
        "{}",
        ended.body
    );
    assert_eq!(typed_name(&ended.retry().await), "nobody");

    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    ada.device.scan_code(&crate::qr_sign_in::code(&login)).await;
    host.advance(120);
    let ended = login.again().await;
    assert_eq!(ended.outcome(), "expired");
    // An id in the page may contain these letters too.
    for shown in [">ada<", "\"ada\""] {
        assert!(!ended.body.contains(shown), "{}", ended.body);
    }
    assert_eq!(typed_name(&ended.retry().await), "");
}

#[tokio::test]
async fn a_user_without_access_sees_their_name_a_reference_and_a_return_link() {
    let log = Log::capture();
    let host = TestHost::start_with_settings(WITH_SUPPORT).await;
    let ada = host.ada().await;
    let user = format!("/users/{}", id(&ada.user));
    let named = json!({"profile": {"name": "Ada Lovelace"}});
    host.admin_ok(Method::PATCH, &user, named).await;
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::DELETE, &account, Value::Null).await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "rejected");
    assert!(shows_name(&ended, "Ada Lovelace"), "{}", ended.body);
    assert!(
        ended.body.contains(SUPPORT) && !ended.body.contains("Lost your phone?"),
        "the user approved on the phone: {}",
        ended.body
    );
    let (_, rest) = ended.body.split_once("<code>").expect("a reference");
    let reference = rest.split('<').next().expect("a reference");
    let quoted = format!("reference=\"{reference}\"");
    assert!(
        log.has(&["sign-in rejected", &quoted, "no_account"]),
        "{quoted}: {}",
        log.lines().join("\n")
    );
    let (_, first) = ended
        .body
        .split_once("<div class=\"actions\">")
        .expect("buttons");
    assert!(
        first
            .trim_start()
            .contains(&format!("action=\"{}/leave\"", ended.path()))
            && first.find("/leave") < first.find("/again"),
        "{first}"
    );
    // In that case another user wants to sign in.
    assert_eq!(typed_name(&ended.retry().await), "");
}

#[tokio::test]
async fn recovery_leads_back_to_the_sign_in_of_this_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let created = ada.device.recovery_codes().await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let login = waiting.path();
    let address = format!("/recover?login={}", login.trim_start_matches("/login/"));
    let back = format!("href=\"{login}?again\">Back to the sign-in</a>");
    let form = browser.get(&address).await;
    assert_eq!(typed_name(&form), "ada");
    assert!(form.body.contains(&back), "{}", form.body);
    // In another browser, the page at this address reveals nothing about the sign-in.
    let foreign = Browser::new(&host.base).get(&address).await;
    assert_eq!(typed_name(&foreign), "");
    assert!(
        !foreign.body.contains(&login) && foreign.body.contains("href=\"/\""),
        "{}",
        foreign.body
    );

    let wrong = form
        .submit(
            &address,
            &[("name", "ada"), ("code", "AAAA-AAAA-AAAA-AAAA")],
        )
        .await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        wrong.body.contains("already been used") && wrong.body.contains(&back),
        "{}",
        wrong.body
    );
    let code = created[0].as_str();
    let done = wrong
        .submit(&address, &[("name", "ada"), ("code", code)])
        .await
        .followed()
        .await;
    assert!(done.body.contains(&back), "{}", done.body);
    // The sign-in still waits there.
    let again = browser.get(&format!("{login}?again")).await;
    assert_eq!(again.number(), waiting.number());
    // The page has no link to a completed sign-in.
    ada.approve(&waiting).await;
    browser.finish(&waiting.url).await;
    assert!(!browser.get(&address).await.body.contains(&login));
}

#[tokio::test]
async fn every_error_page_offers_a_next_step() {
    let host = TestHost::start().await;
    let browser = Browser::new(&host.base);
    for path in [
        "/nowhere",
        "/login/x",
        "/sso/metadata/x",
        "/sso/sign-on/x",
        "/sso/SingleSignOnService/x",
        "/oidc/auth",
        "/oidc/session/end?id_token_hint=nonsense",
        "/assets/nothing.css",
    ] {
        let page = browser.get(path).await;
        assert!(page.status.is_client_error(), "{path}");
        assert!(
            page.body
                .contains("<div class=\"actions\"><a class=\"button\" href=\"/"),
            "{path}: {}",
            page.body
        );
    }
    let german = text(Language::German, "start-page");
    let page = Browser::reading(&host.base, "de").get("/nowhere").await;
    assert!(page.body.contains(&german), "{}", page.body);
}
