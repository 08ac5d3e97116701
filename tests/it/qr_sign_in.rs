//! QR sign-in, and a browser that remembers a name.

use assent_model::id::LoginId;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::harness::{
    Body, Browser, Database, HostOptions, Page, TestHost, TestUser, Text, after, id, in_time,
};

/// Returns the link in the QR code of a login page.
pub fn code(page: &Page) -> String {
    let links = page
        .body
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let link = links
        .into_iter()
        .find(|link| link.contains("#login="))
        .expect("a code");
    link.to_owned()
}

#[tokio::test]
async fn scanning_the_code_prompts_the_device_and_the_number_signs_in() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    let news = browser.stream(&format!("{}/events", login.path())).await;
    ada.device.scan_code(&code(&login)).await;
    let news = in_time(news.read_text()).await;
    assert!(news.contains("event: changed"), "{news}");

    let waiting = browser.get(&login.url).await;
    let requests = ada.device.pending_requests(0).await;
    assert_eq!((requests.len(), requests[0].account.as_str()), (1, "ada"));
    assert_eq!(
        (requests[0].place.as_str(), requests[0].browser.as_str()),
        ("This computer", "Firefox on Linux")
    );
    assert_eq!(
        ada.device.approve(&requests[0], &waiting.number()).await,
        "approved"
    );
    assert!(
        browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_qr_code_is_valid_once_and_for_its_browser_only() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    let link = code(&login);
    let refused = async |link: &str| {
        let error = ada
            .device
            .scan(link)
            .await
            .expect_err("rejected")
            .to_string();
        let is_damaged = error.starts_with("the link is damaged");
        assert!(
            is_damaged || error.starts_with("sign_in_not_found"),
            "{link}: {error}"
        );
    };
    let (start, token) = link.split_once("#login=").expect("a token");
    // The id of another sign-in with the proof of this one, a truncated proof, a proof of zeros, and texts that are no
    // code.
    let other = code(
        &ada.application
            .login_page(&Browser::new(&host.base), &[])
            .await,
    );
    let other = after(&other, "#login=");
    let half = token.len() / 2;
    for wrong in [
        format!("{}{}", &other[..half], &token[half..]),
        token[..token.len() - 2].to_owned(),
        format!("{}{}", &token[..half + 1], "A".repeat(half - 1)),
        "A".repeat(43),
        LoginId::from_bytes([7; 16]).to_string(),
        String::new(),
        "%00".to_owned(),
        "A".repeat(10_000),
    ] {
        refused(&format!("{start}#login={wrong}")).await;
    }
    assert!(ada.device.pending_requests(0).await.is_empty());

    // Ten concurrent scans: the browser waits for one user only.
    let (mut scans, mut taken) = (Vec::new(), 0);
    for _ in 0..5 {
        scans.push(ada.device.scan(&link));
        scans.push(bob.device.scan(&link));
    }
    for scan in futures_util::future::join_all(scans).await {
        taken += usize::from(scan.is_ok());
    }
    // A repeated scan of the same device may get the same request again.
    assert!((1..=5).contains(&taken), "{taken}");
    let requested = [&ada, &bob].map(|user| async { user.device.pending_requests(0).await.len() });
    assert_eq!(
        futures_util::future::join_all(requested)
            .await
            .iter()
            .sum::<usize>(),
        1
    );
    let has_it = !ada.device.pending_requests(0).await.is_empty();
    let (first, other) = match has_it {
        true => (&ada, &bob),
        false => (&bob, &ada),
    };
    first.device.scan_code(&link).await;
    let error = other.device.scan(&link).await.expect_err("taken");
    assert!(
        error.to_string().starts_with("sign_in_not_found"),
        "{error}"
    );
    assert_eq!(first.device.pending_requests(0).await.len(), 1);

    // An expired sign-in.
    let late = code(
        &ada.application
            .login_page(&Browser::new(&host.base), &[])
            .await,
    );
    host.advance(3600);
    refused(&late).await;
}

#[tokio::test]
async fn a_relayed_qr_code_names_its_own_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    // A relay: it fetches the login page with a browser of its own, and shows the code to Ada.
    let relay = Browser::new(&host.base);
    let login = ada.application.login_page(&relay, &[]).await;
    ada.device.scan_code(&code(&login)).await;
    let request = &ada.device.pending_requests(0).await[0];
    assert_eq!(
        request.browser, "Firefox on Linux",
        "the browser of the relay, not that of Ada"
    );
    // A signature of the data that the relay would prefer is not valid.
    let mut shown = request.clone();
    "Safari on iPhone".clone_into(&mut shown.browser);
    let waiting = relay.get(&login.url).await;
    let error = ada
        .device
        .decide(&shown, Some(&waiting.number()))
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("invalid_proof"), "{error}");
}

#[tokio::test]
async fn a_rejected_scan_is_shown_on_the_device_but_not_in_the_browser() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = ada.application.login_page(&browser, &[]).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&ada.user)),
        json!({"state": "suspended"}),
    )
    .await;
    let error = ada
        .device
        .scan(&code(&login))
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("user_inactive"), "{error}");
    assert_eq!(browser.get(&login.url).await.path(), login.path());
    assert!(
        browser.get(&login.url).await.body.contains("id=\"name\""),
        "the page still asks for the name"
    );
}

/// Begins a sign-in to Ada's application, in a browser of its own.
async fn started(host: &TestHost, ada: &TestUser) -> (Browser, Page) {
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    (browser, login)
}

#[both_databases]
async fn flooding_a_name_does_not_block_its_qr_sign_in(database: Database) {
    let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 60, burst = 60 }\nprompts_per_user = { \
             per_minute = 1, burst = 1 }\n";
    let host = TestHost::start_with(HostOptions {
        database,
        settings,
        ..Default::default()
    })
    .await;
    let ada = host.ada().await;
    let flood = async |times: usize| {
        let mut refused = 0;
        for at in 0..times {
            let (_, login) = started(&host, &ada).await;
            let name = ["ada", "ada@example.org"][at % 2];
            refused +=
                usize::from(login.submit(&login.path(), &[("name", name)]).await.status == 429);
        }
        refused
    };
    // Both names exceed their limits, and Ada reports a request.
    assert!(flood(150).await > 0);
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    assert!(ada.device.cooldown_end().await.is_some());

    let (browser, login) = started(&host, &ada).await;
    ada.device.scan_code(&code(&login)).await;
    // Neither the cooldown nor typed requests remove her QR sign-in.
    host.advance(70);
    ada.device.end_cooldown().await;
    flood(10).await;
    let requests = ada.device.pending_requests(0).await;
    let waiting = browser.get(&login.url).await;
    assert!(!requests.is_empty(), "{database:?}");
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
async fn a_qr_sign_in_is_replaced_only_by_the_same_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (first, login) = started(&host, &ada).await;
    ada.device.scan_code(&code(&login)).await;
    let one = ada.device.pending_requests(0).await[0].clone();
    host.advance(1);
    let (_, other) = started(&host, &ada).await;
    ada.device.scan_code(&code(&other)).await;
    other.browser().get(&ada.application.request(&[])).await;
    let (_, typed) = started(&host, &ada).await;
    typed.submit(&typed.path(), &[("name", "ada")]).await;
    let pending = ada.device.pending_requests(0).await;
    assert_eq!((pending.len(), pending[0].id), (3, one.id));
    let tab = ada.application.login_page(&first, &[]).await;
    ada.device.scan_code(&code(&tab)).await;
    assert_eq!(first.get(&login.url).await.outcome(), "replaced");
    let pending = ada.device.pending_requests(0).await;
    assert!(pending.len() == 3 && pending.iter().all(|request| request.id != one.id));
}

/// The waiting page of a typed request also shows the code. A user who scans it signs in there, with another number.
#[tokio::test]
async fn scanning_a_waiting_page_replaces_its_typed_request() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for name in ["ada", "nobody"] {
        let (browser, login) = started(&host, &ada).await;
        let waiting = login.submit_name(name).await;
        let typed = ada.device.pending_requests(0).await;
        let news = browser.stream(&format!("{}/events", waiting.path())).await;
        ada.device.scan_code(&code(&waiting)).await;
        let news = in_time(news.read_text()).await;
        assert!(news.contains("event: changed"), "{news}");
        let scanned = waiting.again().await;
        assert_ne!(scanned.number(), waiting.number(), "{name}");
        let pending = ada.device.pending_requests(0).await;
        assert_eq!(pending.len(), 1, "{name}");
        for request in &typed {
            let late = ada
                .device
                .decide(request, Some(&waiting.number()))
                .await
                .expect_err("replaced");
            assert!(late.to_string().starts_with("already_decided"), "{late}");
        }
        // The same device gets the same request again.
        ada.device.scan_code(&code(&waiting)).await;
        assert_eq!(ada.device.pending_requests(0).await.len(), 1, "{name}");
        ada.approve(&scanned).await;
        assert!(
            browser
                .finish(&scanned.url)
                .await
                .parameter("code")
                .starts_with("ac_"),
            "{name}"
        );
    }
    // The page of an approved, denied or cancelled request does not wait.
    let (_, login) = started(&host, &ada).await;
    let waiting = login.submit_name("ada").await;
    waiting.cancel().await;
    let refused = ada
        .device
        .scan(&code(&waiting))
        .await
        .expect_err("cancelled")
        .to_string();
    assert!(refused.starts_with("sign_in_not_found"), "{refused}");
}

#[tokio::test]
async fn scans_are_limited_per_device() {
    let settings = "[rate_limits]\nactions_per_device = { per_minute = 1, burst = 2 }\n";
    let host = TestHost::start_with(HostOptions {
        settings,
        ..Default::default()
    })
    .await;
    let ada = host.ada().await;
    let mut returned = Vec::new();
    for _ in 0..3 {
        let (_, login) = started(&host, &ada).await;
        returned.push(
            ada.device
                .scan(&code(&login))
                .await
                .map_err(|error| error.to_string()),
        );
    }
    assert!(returned[..2].iter().all(Result::is_ok), "{returned:?}");
    assert!(
        returned[2]
            .as_ref()
            .is_err_and(|error| error.starts_with("too_many_sign_ins")),
        "{returned:?}"
    );
    let second = host.authenticator(&ada.user).await;
    let (_, login) = started(&host, &ada).await;
    second.scan_code(&code(&login)).await;
}

#[tokio::test]
async fn the_device_previews_the_sign_in_before_the_page_learns_the_user() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (browser, login) = started(&host, &ada).await;
    let link = code(&login);
    let preview = ada.device.preview_login(&link).await.expect("a preview");
    let shown = (
        preview.application.as_str(),
        preview.place.as_str(),
        preview.browser.as_str(),
    );
    assert_eq!(shown, ("Books & <Co>", "This computer", "Firefox on Linux"));
    assert!(
        browser.get(&login.url).await.body.contains("id=\"name\""),
        "the page still asks for the name"
    );
    assert!(ada.device.pending_requests(0).await.is_empty());
    ada.device.scan_code(&link).await;
    let waiting = browser.get(&login.url).await;
    assert!(
        !waiting.body.contains("ada"),
        "the page need not know: {}",
        waiting.body
    );
    let error = ada
        .device
        .preview_login(&link)
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("sign_in_not_found"), "{error}");
}

#[tokio::test]
async fn a_browser_remembers_a_name_only_if_the_user_agrees() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let again = async || ada.application.login_page(&browser, &[]).await;
    let value = |page: &Page| {
        let field = page.body.split("id=\"name\"").nth(1).expect("the field");
        field
            .split("value=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .expect("a value")
            .to_owned()
    };
    let login = again().await;
    let answer = login.submit(&login.path(), &[("name", "ada")]).await;
    assert!(
        answer
            .headers
            .get_all(header::SET_COOKIE)
            .iter()
            .next()
            .is_none(),
        "no name is remembered without consent"
    );
    assert_eq!(value(&again().await), "");

    let login = again().await;
    let answer = login
        .submit(&login.path(), &[("name", "ada"), ("remember", "yes")])
        .await;
    let cookie = answer.headers[header::SET_COOKIE].text();
    assert!(
        cookie.starts_with("assent-name=") && cookie.contains("HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    let page = again().await;
    assert_eq!(value(&page), "ada");
    assert!(page.body.contains("value=\"yes\" checked"));
    // The name from the application takes precedence over the name that the browser remembers.
    let hinted = ada
        .application
        .login_page(&browser, &[("login_hint", Some("bob"))])
        .await;
    assert_eq!(value(&hinted), "bob");

    page.submit(&page.path(), &[("name", "ada")]).await;
    assert_eq!(value(&again().await), "", "the name is removed again");
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
}

/// Scans the code of a login page with this device, and enters the number that the page then shows.
async fn scanned_and_approved(owner: &TestUser, browser: &Browser, login: &Page) {
    owner.device.scan_code(&code(login)).await;
    let waiting = browser.get(&login.url).await;
    let requests = owner.device.pending_requests(5).await;
    assert_eq!(
        owner.device.approve(&requests[0], &waiting.number()).await,
        "approved"
    );
}

fn session_cookie(page: &Page) -> bool {
    let cookies = page.headers.get_all(header::SET_COOKIE).iter();
    cookies
        .filter_map(|value| value.to_str().ok())
        .any(|cookie| cookie.starts_with("assent-session="))
}

#[tokio::test]
async fn a_foreign_scan_cannot_sign_in_a_browser_unnoticed() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    // Eve sees Ada's screen: first the code, and then the number.
    let (browser, login) = started(&host, &ada).await;
    scanned_and_approved(&eve, &browser, &login).await;
    let page = browser.get(&login.url).await;
    assert!(
        page.status == StatusCode::OK
            && page.asks_to_confirm()
            && page.body.contains("<bdi>eve</bdi>"),
        "{}",
        page.body
    );
    assert!(!session_cookie(&page), "no session exists yet");
    assert!(
        browser.get("/").await.body.contains("href=\"/sign-in"),
        "no session exists on other pages either"
    );

    // Only the page's own button continues. A forged form, or a token of another page or browser, does not.
    let confirm = format!("{}/confirm", login.path());
    assert_eq!(
        browser
            .post(&confirm, &[("user", &page.user_token())])
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    let (other, others) = started(&host, &ada).await;
    scanned_and_approved(&eve, &other, &others).await;
    let foreign = other.get(&others.url).await.user_token();
    let tab = ada.application.login_page(&browser, &[]).await;
    scanned_and_approved(&eve, &browser, &tab).await;
    let of_tab = browser.get(&tab.url).await.user_token();
    for token in ["", foreign.as_str(), of_tab.as_str()] {
        let refused = page.submit(&confirm, &[("user", token)]).await;
        assert!(
            refused.location().path() == login.path() && !session_cookie(&refused),
            "{token}"
        );
    }
    let consent = format!("{}/consent", login.path());
    let token = [
        ("csrf", page.csrf()),
        ("user", page.user_token()),
        ("decision", "allow".to_owned()),
    ];
    let token: Vec<(&str, &str)> = token
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert!(!session_cookie(&browser.post(&consent, &token).await));
    assert!(browser.get(&login.url).await.asks_to_confirm());

    let eves = page.user_token();
    // Ada answers that it is not her, and signs in with the same page.
    let start = page
        .submit(&format!("{}/again", login.path()), &[])
        .await
        .followed()
        .await;
    assert!(start.body.contains("id=\"name\""), "{}", start.body);
    scanned_and_approved(&ada, &browser, &start).await;
    let page = browser.get(&login.url).await;
    assert!(
        page.asks_to_confirm()
            && page.body.contains("<bdi>ada</bdi>")
            && !page.body.contains("<bdi>eve</bdi>"),
        "{}",
        page.body
    );
    // The page that named Eve may still be open.
    let refused = page.submit(&confirm, &[("user", &eves)]).await;
    assert!(refused.location().path() == login.path() && !session_cookie(&refused));
    assert!(
        browser
            .finish(&login.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_browser_known_to_the_user_continues_after_a_scan_without_a_click() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    // The browser has a session of the same user.
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    scanned_and_approved(&ada, &browser, &login).await;
    let page = browser.get(&login.url).await;
    assert!(
        !page.asks_to_confirm() && session_cookie(&page),
        "{}",
        page.body
    );
    // A session of another user does not count.
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    let login = ada
        .application
        .login_page(&browser, &[("prompt", Some("login"))])
        .await;
    scanned_and_approved(&eve, &browser, &login).await;
    assert!(browser.get(&login.url).await.asks_to_confirm());
    // The user signed in there earlier, and that session has ended.
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    host.advance(2 * 24 * 60 * 60);
    let login = ada.application.login_page(&browser, &[]).await;
    assert!(
        login.body.contains("id=\"name\""),
        "the session has ended: {}",
        login.body
    );
    scanned_and_approved(&ada, &browser, &login).await;
    let page = browser.get(&login.url).await;
    assert!(
        !page.asks_to_confirm() && session_cookie(&page),
        "{}",
        page.body
    );
}
