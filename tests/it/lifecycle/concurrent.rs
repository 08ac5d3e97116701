//! Concurrent approval requests: an attacker submits a user's name while the user signs in. See "MFA fatigue and
//! concurrent requests" in `docs/explanation/threat-model.md`.

use assent_test_macros::both_databases;
use std::collections::VecDeque;

use reqwest::{StatusCode, header};
use serde_json::{Value, json};

use crate::harness::{
    Body, Browser, Database, HostOptions, Json, Page, Respond, TestHost, TestUser, Text, between,
    http_client_builder, id, without_code,
};
use crate::qr_sign_in::code;

/// No rate limits: the tested bounds must hold without them.
const UNLIMITED: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\nprompts_per_user = { per_minute = \
0 }\n\
                         sign_ins_per_browser = { per_minute = 0 }\nlogin_pages_per_ip = { per_minute = 0 \
                         }\nsign_ins_per_ip = { per_minute = 0 }\n\
                         actions_per_device = { per_minute = 0 }\n";

/// Submits a name in this browser. Returns the waiting page, or the page in its place.
async fn typed(browser: &Browser, ada: &TestUser, name: &str) -> Page {
    // A browser with a session is asked for the name too.
    let login = ada
        .application
        .login_page(browser, &[("prompt", Some("login"))])
        .await;
    let answer = login.submit(&login.path(), &[("name", name)]).await;
    if answer.status == StatusCode::SEE_OTHER {
        answer.followed().await
    } else {
        answer
    }
}

/// Returns the body of a waiting page without the parts that differ in each sign-in.
fn normalized_body(page: &Page, name: &str) -> String {
    let login = page.path();
    without_code(&page.body)
        .replace(&page.csrf(), "CSRF")
        .replace(&login, "LOGIN")
        .replace(login.trim_start_matches("/login/"), "ID")
        .replace(
            &format!("id=\"number\">{}<", page.number()),
            "id=\"number\">NN<",
        )
        .replace(&format!("<bdi>{name}</bdi>"), "<bdi>NAME</bdi>")
}

/// Returns the number of requests that are pending on the device.
async fn pending(ada: &TestUser) -> usize {
    ada.device.pending_requests(0).await.len()
}

/// Enters the number for each pending request. Returns whether one was approved.
async fn approve_any(ada: &TestUser, number: &str) -> bool {
    for request in ada.device.pending_requests(0).await {
        match ada.device.decide(&request, Some(number)).await {
            Ok(outcome) => return outcome == "approved",
            Err(error) => assert!(error.to_string().starts_with("number_mismatch"), "{error}"),
        }
    }
    false
}

/// The attacker uses a new browser every few seconds, at alternating instances. It has the user's browser string and
/// network.
struct Attacker<'a> {
    host: &'a TestHost,
    ada: &'a TestUser,
    bases: [String; 2],
    count: usize,
    /// The pages that may still wait, each with its number and the time of the request.
    pages: VecDeque<(Page, String, i64)>,
}

impl Attacker<'_> {
    /// Begins another request, and checks that its number differs from those of all waiting pages.
    async fn ask(&mut self, owner: &str) {
        self.host.advance(5);
        let now = self.host.host.now().seconds();
        self.count += 1;
        let browser = Browser::new(&self.bases[self.count % 2]);
        let page = typed(
            &browser,
            self.ada,
            ["ada", "ada@example.org"][self.count / 2 % 2],
        )
        .await;
        let number = page.number();
        self.pages.retain(|(_, _, requested)| requested + 120 > now);
        assert_ne!(number, owner, "attempt {}", self.count);
        assert!(
            self.pages.iter().all(|(_, other, _)| *other != number),
            "attempt {}",
            self.count
        );
        self.pages.push_back((page, number, now));
    }

    /// Checks that none of the attacker's browsers was signed in.
    async fn assert_not_signed_in(&self) {
        for (page, number, _) in &self.pages {
            let again = page.again().await;
            assert_eq!(again.status, StatusCode::OK, "{}", again.body);
            assert!(again.headers.get(header::SET_COOKIE).is_none());
            if again.body.contains("id=\"number\"") {
                assert_eq!(again.number(), *number);
            }
        }
    }
}

#[both_databases]
async fn repeated_requests_of_an_attacker_never_sign_in_and_never_block_the_user(
    database: Database,
) {
    let options = HostOptions {
        database,
        settings: UNLIMITED,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let (_, second, other) = host.second(options).await;
    let ada = host.ada().await;
    let bases = [host.base.clone(), other];
    let mut attacker = Attacker {
        host: &host,
        ada: &ada,
        bases,
        count: 0,
        pages: VecDeque::new(),
    };

    // The user's request is one of the five, from an unknown browser. Its page stays open, and its number is unique.
    let browser = Browser::new(&host.base);
    let page = typed(&browser, &ada, "ada").await;
    for _ in 0..20 {
        attacker.ask(&page.number()).await;
        assert_eq!(
            page.again().await.number(),
            page.number(),
            "{database:?}: no other browser replaces the request"
        );
    }
    assert_eq!(pending(&ada).await, 5, "{database:?}");
    assert!(approve_any(&ada, &page.number()).await, "{database:?}");
    assert!(
        browser
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    attacker.assert_not_signed_in().await;

    for _ in 0..5 {
        // All five places are taken. An unknown browser gets no place, and the user's number approves no other request.
        let unknown = Browser::new(&host.base);
        attacker.ask("").await;
        let page = typed(&unknown, &ada, "ada").await;
        for _ in 0..10 {
            attacker.ask(&page.number()).await;
        }
        assert!(!approve_any(&ada, &page.number()).await, "{database:?}");
        assert_eq!(page.again().await.number(), page.number());
        attacker.assert_not_signed_in().await;
        // The code on the same page always works.
        ada.device.scan_code(&code(&page)).await;
        let by_scan = page.again().await;
        attacker.ask(&by_scan.number()).await;
        ada.approve(&by_scan).await;
        assert!(
            unknown
                .finish(&by_scan.url)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        // The known browser always has a place.
        for _ in 0..8 {
            attacker.ask("").await;
        }
        let page = typed(&browser, &ada, "ada").await;
        for _ in 0..3 {
            attacker.ask(&page.number()).await;
        }
        ada.approve(&page).await;
        assert!(
            browser
                .finish(&page.url)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        attacker.assert_not_signed_in().await;
    }
    assert!(attacker.count > 100);
    second.stop().await;
}

#[tokio::test]
async fn only_the_same_browser_replaces_a_request_for_known_and_unknown_names() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for name in ["ada", "nobody"] {
        let (browser, other) = (Browser::new(&host.base), Browser::new(&host.base));
        let first = typed(&browser, &ada, name).await;
        let elsewhere = typed(&other, &ada, name).await;
        assert_eq!(first.again().await.number(), first.number(), "{name}");
        let second = typed(&browser, &ada, name).await;
        let replaced = first.again().await;
        assert_eq!(replaced.outcome(), "replaced", "{name}");
        assert!(
            replaced.body.contains("You started again in another tab"),
            "{}",
            replaced.body
        );
        assert_eq!(
            replaced.returns(),
            None,
            "the page does not answer the application automatically"
        );
        assert_eq!(
            elsewhere.again().await.number(),
            elsewhere.number(),
            "{name}"
        );
        // The names of one user in one browser. The pages must not reveal that they belong to the same user.
        let address = typed(&browser, &ada, &format!("{name}@example.org")).await;
        for page in [&second, &address] {
            assert_eq!(page.again().await.number(), page.number(), "{name}");
        }
    }
    assert_eq!(pending(&ada).await, 3);
}

#[both_databases]
async fn the_sixth_request_is_not_sent_and_its_page_matches_an_unknown_name(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let known = Browser::new(&host.base);
    ada.sign_in(&known).await;
    let unknown = typed(&Browser::new(&host.base), &ada, "nobody").await;
    for count in 1..=6 {
        let page = typed(&Browser::new(&host.base), &ada, "ada").await;
        assert_eq!(pending(&ada).await, count.min(5), "{database:?}");
        assert_eq!(
            normalized_body(&page, "ada"),
            normalized_body(&unknown, "nobody"),
            "{database:?} {count}"
        );
    }
    host.advance(1);
    // A browser in which she signed in before has a place of its own. It has only one, however often she begins a
    // sign-in.
    for _ in 0..2 {
        let page = typed(&known, &ada, "ada").await;
        assert_eq!(
            normalized_body(&page, "ada"),
            normalized_body(&unknown, "nobody"),
            "{database:?}"
        );
        assert_eq!(pending(&ada).await, 6, "{database:?}");
    }
    // A new request takes a place that became free.
    let request = ada.device.pending_requests(0).await.remove(0);
    assert_eq!(ada.device.deny(&request).await, "denied");
    typed(&Browser::new(&host.base), &ada, "ada").await;
    assert_eq!(pending(&ada).await, 6, "{database:?}");
}

#[tokio::test]
async fn a_number_of_another_request_names_it_for_a_report() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for state in ["pending", "replaced", "cancelled"] {
        let attacker = Browser::new(&host.base);
        let theirs = typed(&attacker, &ada, "ada").await;
        let request = ada.device.pending_requests(5).await.remove(0);
        host.advance(1);
        let own = typed(&Browser::new(&host.base), &ada, "ada").await;
        let own_request = ada.device.pending_requests(5).await.remove(1);
        match state {
            "replaced" => drop(typed(&attacker, &ada, "ada").await),
            "cancelled" => drop(theirs.cancel().await),
            _ => {}
        }
        // The attacker persuades the user to type the number of the attacker's page.
        let number = theirs.number();
        let signature = ada
            .device
            .signature(&ada.device.statement(&own_request, Some(&number)).text());
        let reply = ada
            .device
            .submit_proof(&own_request, Some(&number), &signature)
            .await;
        assert_eq!(
            (reply.status.as_u16(), &reply.body["attempts_left"]),
            (422, &json!(2)),
            "{state}"
        );
        let other = &reply.body["other_request"];
        assert_eq!(
            (&other["id"], &other["state"]),
            (&json!(request.id), &json!(state))
        );
        let other =
            serde_json::from_value(other.clone()).expect("all members under a report's signature");
        assert_eq!(request, other, "{state}");
        // The response to an unknown number has no other members.
        let signature = ada
            .device
            .signature(&ada.device.statement(&own_request, Some("01")).text());
        let reply = ada
            .device
            .submit_proof(&own_request, Some("01"), &signature)
            .await;
        assert_eq!(reply.body.get("other_request"), None);
        assert_eq!(
            ada.device.submit_report(&other).await,
            "reported",
            "{state}"
        );
        assert!(ada.device.cooldown_end().await.is_some());
        assert_eq!(
            own.again().await.number(),
            own.number(),
            "no page shows the report"
        );
        ada.device.end_cooldown().await;
        host.advance(120);
    }
}

#[tokio::test]
async fn requests_from_unknown_browsers_are_limited_for_known_and_unknown_names() {
    let host = TestHost::start_with_settings(UNLIMITED).await;
    let ada = host.ada().await;
    let known = Browser::new(&host.base);
    let page = typed(&known, &ada, "ada").await;
    ada.approve(&page).await;
    known.finish(&page.url).await;
    host.advance(120);
    for name in ["ada", "nobody", "ada@example.org"] {
        for _ in 0..30 {
            assert_eq!(
                typed(&Browser::new(&host.base), &ada, name).await.status,
                StatusCode::OK,
                "{name}"
            );
        }
        let refused = typed(&Browser::new(&host.base), &ada, name).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{name}");
        assert_eq!(refused.headers[header::RETRY_AFTER], "120", "{name}");
        assert!(
            refused.body.contains("scan the code"),
            "{name}: {}",
            refused.body
        );
    }
    // Thirty numbers are left for the user's own browser and for QR sign-ins.
    let page = typed(&known, &ada, "ada").await;
    assert!(approve_any(&ada, &page.number()).await);
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    ada.device.scan_code(&code(&login)).await;
    assert!(approve_any(&ada, &login.again().await.number()).await);
}

/// Other users may share a known browser. They must not use up the numbers of QR sign-ins and protected actions.
#[both_databases]
async fn requests_from_known_browsers_are_limited_per_user(database: Database) {
    let host = TestHost::start_on_with(database, UNLIMITED).await;
    let ada = host.ada().await;
    let (shared, own) = (Browser::new(&host.base), Browser::new(&host.base));
    for browser in [&shared, &own] {
        ada.sign_in(browser).await;
        host.advance(1);
    }
    let mut last = None;
    for count in 1..=15 {
        // Both names count, because the limit applies to the user.
        let page = typed(&shared, &ada, ["ada", "ada@example.org"][count % 2]).await;
        assert_eq!(page.status, StatusCode::OK, "{database:?} {count}");
        last = Some(page);
    }
    let last = last.expect("a page");
    assert_eq!(
        pending(&ada).await,
        2,
        "{database:?}: one request by each name"
    );
    for browser in [&shared, &own] {
        let refused = typed(browser, &ada, "ada").await;
        assert_eq!(
            refused.status,
            StatusCode::TOO_MANY_REQUESTS,
            "{database:?}"
        );
        assert_eq!(refused.headers[header::RETRY_AFTER], "120", "{database:?}");
        assert!(
            refused.body.contains("scan the code"),
            "{database:?}: {}",
            refused.body
        );
        assert_eq!(
            pending(&ada).await,
            2,
            "{database:?}: the request is not sent"
        );
    }
    assert_eq!(
        last.again().await.number(),
        last.number(),
        "{database:?}: a rejected request replaces none"
    );
    // Unknown browsers and QR sign-ins have numbers of their own.
    assert_eq!(
        typed(&Browser::new(&host.base), &ada, "ada").await.status,
        StatusCode::OK,
        "{database:?}"
    );
    assert_eq!(pending(&ada).await, 3, "{database:?}");
    let login = ada
        .application
        .login_page(&own, &[("prompt", Some("login"))])
        .await;
    ada.device.scan_code(&code(&login)).await;
    assert!(
        approve_any(&ada, &login.again().await.number()).await,
        "{database:?}"
    );
    // The numbers of expired requests are free again.
    host.advance(120);
    assert_eq!(
        typed(&own, &ada, "ada").await.status,
        StatusCode::OK,
        "{database:?}"
    );
    assert_eq!(pending(&ada).await, 1, "{database:?}");
}

#[tokio::test]
async fn unknown_browsers_do_not_use_up_the_prompts_of_known_browsers() {
    let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 3 }\nprompts_per_user = { \
         per_minute = 1, burst = 3 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    let known = Browser::new(&host.base);
    ada.sign_in(&known).await;
    for _ in 0..2 {
        assert_eq!(
            typed(&Browser::new(&host.base), &ada, "ada").await.status,
            StatusCode::OK
        );
    }
    assert_eq!(
        typed(&Browser::new(&host.base), &ada, "ada").await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    let page = typed(&known, &ada, "ada").await;
    ada.approve(&page).await;
    assert!(
        known
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    // The number of requests to a user is limited from a known browser too.
    for _ in 0..2 {
        typed(&known, &ada, "ada").await;
    }
    assert_eq!(
        pending(&ada).await,
        3,
        "the last request of that browser replaced the previous one"
    );
    typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 2, "this request exceeds the limit");
}

#[both_databases]
async fn a_report_from_a_known_browser_revokes_all_known_browsers(database: Database) {
    let host = TestHost::start_on_with(database, UNLIMITED).await;
    let ada = host.ada().await;
    let known = Browser::new(&host.base);
    ada.sign_in(&known).await;
    let fill = async || {
        for _ in 0..5 {
            typed(&Browser::new(&host.base), &ada, "ada").await;
        }
    };
    // After a report of an attacker's request, the browser stays known. A cooldown holds every typed request.
    fill().await;
    let request = ada.device.pending_requests(5).await.remove(0);
    ada.device.submit_report(&request).await;
    typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 0, "{database:?}");
    ada.device.end_cooldown().await;
    typed(&known, &ada, "ada").await;
    host.advance(1);
    fill().await;
    assert_eq!(pending(&ada).await, 6, "{database:?}");
    // Another user uses her old browser.
    let request = ada.device.pending_requests(5).await.remove(0);
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    ada.device.end_cooldown().await;
    host.advance(121);
    fill().await;
    typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 5, "{database:?}");
    // The browser has one of the five places, like any other, until she signs in there again.
    host.advance(121);
    let page = typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 1, "{database:?}");
    ada.approve(&page).await;
    known.finish(&page.url).await;
    fill().await;
    typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 6, "{database:?}");
}

/// The limit of unknown browsers is used up, so the server would reject a browser that became unknown.
#[both_databases]
async fn a_report_is_invisible_in_the_reported_browser(database: Database) {
    let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 3 }\nprompts_per_user = { \
         per_minute = 0 }\n";
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let shared = Browser::new(&host.base);
    // One of the three requests.
    ada.sign_in(&shared).await;
    for _ in 0..2 {
        assert_eq!(
            typed(&Browser::new(&host.base), &ada, "ada").await.status,
            StatusCode::OK
        );
    }
    assert_eq!(
        typed(&Browser::new(&host.base), &ada, "ada").await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    host.advance(1);
    let before = typed(&shared, &ada, "ada").await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(requests.len(), 3, "{database:?}");
    assert_eq!(ada.device.submit_report(&requests[2]).await, "reported");
    assert_eq!(
        before.again().await.number(),
        before.number(),
        "{database:?}"
    );
    // The cooldown would hold the request too.
    ada.device.end_cooldown().await;
    for _ in 0..3 {
        let after = typed(&shared, &ada, "ada").await;
        assert_eq!(
            normalized_body(&after, "ada"),
            normalized_body(&before, "ada"),
            "{database:?}"
        );
        assert_eq!(
            pending(&ada).await,
            1,
            "{database:?}: the request counts to the limit of unknown browsers"
        );
    }
    // The cookie also counts for her other name.
    assert_eq!(
        typed(&shared, &ada, "ada@example.org").await.status,
        StatusCode::OK
    );
    // Ada signs in there with QR sign-in, so the browser is known again.
    host.advance(121);
    let page = typed(&shared, &ada, "ada").await;
    ada.device.scan_code(&code(&page)).await;
    let by_scan = page.again().await;
    ada.approve(&by_scan).await;
    assert!(
        shared
            .finish(&by_scan.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    typed(&shared, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 1, "{database:?}");
}

#[tokio::test]
async fn the_known_browser_cookie_is_bound_to_its_browser_and_user() {
    let host = TestHost::start_with_settings(UNLIMITED).await;
    let ada = host.ada().await;
    let known = Browser::new(&host.base);
    let page = ada.begin_sign_in(&known, &[]).await;
    ada.approve(&page).await;
    let answer = known.finish(&page.url).await;
    let cookies: Vec<&str> = answer
        .headers
        .get_all(header::SET_COOKIE)
        .iter()
        .map(|cookie| cookie.text())
        .collect();
    let cookie = cookies
        .iter()
        .find(|cookie| cookie.starts_with("assent-known="))
        .expect("the cookie");
    assert!(
        cookie.contains("HttpOnly; SameSite=Lax; Max-Age=31536000"),
        "{cookie}"
    );
    assert!(
        !cookie.contains(id(&ada.user)) && !cookie.contains("ada"),
        "{cookie}"
    );
    let value = cookie.split(';').next().expect("a value");

    let bob = host.user_with_account("bob", ada.application.clone()).await;
    for _ in 0..5 {
        typed(&Browser::new(&host.base), &ada, "ada").await;
        typed(&Browser::new(&host.base), &bob, "bob").await;
    }
    typed(&known, &bob, "bob").await;
    assert_eq!(pending(&bob).await, 5, "another user");
    // A browser that sends the user's cookie beside its own.
    let client = http_client_builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let send = async |request: reqwest::RequestBuilder| request.response().await;
    let login = send(client.get(format!("{}{}", host.base, ada.application.request(&[])))).await;
    let own = login.headers()[header::SET_COOKIE]
        .text()
        .split(';')
        .next()
        .expect("a cookie")
        .to_owned();
    let both = format!("{own}; {value}");
    let url = format!("{}{}", host.base, login.headers()[header::LOCATION].text());
    let body = send(client.get(&url).header(header::COOKIE, &both))
        .await
        .read_text()
        .await;
    let csrf = between(&body, "name=\"csrf\" value=\"", "\"");
    let form = [("csrf", csrf), ("name", "ada")];
    let answer = send(client.post(&url).header(header::COOKIE, &both).form(&form)).await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(pending(&ada).await, 5, "another browser");
    typed(&known, &ada, "ada").await;
    assert_eq!(pending(&ada).await, 6);
}

#[tokio::test]
async fn a_device_waits_for_changes_of_pending_requests() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let list = async |query: String| {
        let reply = ada
            .device
            .call(
                reqwest::Method::GET,
                "/authenticator/api/requests",
                &query,
                Vec::new(),
            )
            .await;
        reply.expect("an answer").body["requests"].items().clone()
    };
    let ids = |requests: &[Value]| {
        requests
            .iter()
            .map(|request| id(request).to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    let first = typed(&Browser::new(&host.base), &ada, "ada").await;
    let one = list("?wait=30".to_owned()).await;
    assert_eq!(one.len(), 1, "a new request is returned at once");
    host.advance(1);
    let (two, second) = tokio::join!(
        list(format!("?wait=30&shown_requests={}", ids(&one))),
        async { typed(&Browser::new(&host.base), &ada, "ada").await }
    );
    assert_eq!(two.len(), 2, "a further request");
    assert_eq!(
        (id(&two[0]), two[0]["application"]["id"].as_str()),
        (id(&one[0]), Some(ada.application.id.as_str()))
    );
    let cancel = format!("{}/cancel", first.path());
    let (left, _) = tokio::join!(
        list(format!("?wait=30&shown_requests={}", ids(&two))),
        first.submit(&cancel, &[])
    );
    assert_eq!(ids(&left), id(&two[1]), "one less");
    // The same set in another order and with an unknown id, so the call waits until its end.
    assert_eq!(
        list(format!("?wait=0&shown_requests={},x", ids(&left)))
            .await
            .len(),
        1
    );
    drop(second);
}
