//! The last request of a sign-in, sent twice: by a second click, after a lost response, or by a restored tab. The same
//! browser gets the same answer for 30 seconds. Other browsers do not.

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::header::SET_COOKIE;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{
    Browser, Database, HostOptions, Page, Statements, TestHost, TestUser, Text, id,
};

/// The cookies that a response sets, by name and value.
fn cookies(page: &Page) -> Vec<String> {
    let lines = page.headers.get_all(SET_COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok()?.split(';').next());
    pairs.map(str::to_owned).collect()
}

fn session_cookie(page: &Page) -> Option<String> {
    let mut found = cookies(page).into_iter();
    found.find(|pair| pair.starts_with("assent-session=se_"))
}

/// Returns the consent page of an approved sign-in.
async fn consent(ada: &TestUser, browser: &Browser) -> Page {
    let waiting = ada.begin_sign_in(browser, &[]).await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    page
}

async fn count(host: &TestHost, query: &'static str) -> i64 {
    let mut connection = host.connection().await;
    let (count,): (i64,) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    count
}

async fn assert_exchanged(host: &TestHost, ada: &TestUser, code: &str) {
    let (status, tokens) = ada.application.exchange(&host.base, code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

#[both_databases]
async fn concurrent_consents_on_two_instances_get_one_answer(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (_services, _running, second) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let browser = Browser::new(&host.base);
    let page = consent(&ada, &browser).await;
    let (csrf, user) = (page.csrf(), page.user_token());
    let action = format!("{}/consent", page.path());
    let form = [
        ("csrf", csrf.as_str()),
        ("user", user.as_str()),
        ("decision", "allow"),
    ];
    let answers = join_all((0..8).map(|number| {
        let browser = match number % 2 {
            0 => browser.clone(),
            _ => browser.at(&second),
        };
        let (action, form) = (&action, &form);
        async move { browser.post(action, form).await }
    }))
    .await;
    let first = &answers[0];
    for answer in &answers {
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        // The two instances of a test have different issuers, because their ports differ.
        assert_eq!(answer.parameter("code"), first.parameter("code"));
        assert_eq!(session_cookie(answer), session_cookie(first));
    }
    assert!(session_cookie(first).is_some());
    assert_eq!(count(&host, "SELECT COUNT(*) FROM token_families").await, 1);
    assert_eq!(
        count(
            &host,
            "SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL"
        )
        .await,
        1
    );
    // A later click, a reload, and a restored tab.
    host.advance(10);
    for repeated in [
        browser.post(&action, &form).await,
        browser.get(&page.url).await,
        browser.at(&second).get(&page.path()).await,
    ] {
        assert_eq!(repeated.parameter("code"), first.parameter("code"));
        assert_eq!(session_cookie(&repeated), session_cookie(first));
    }
    assert_eq!(count(&host, "SELECT COUNT(*) FROM token_families").await, 1);
    assert_exchanged(&host, &ada, &first.parameter("code")).await;
    let silent = ada.application.request(&[("prompt", Some("none"))]);
    assert!(!browser.get(&silent).await.parameter("code").is_empty());
}

#[tokio::test]
async fn an_exchanged_code_is_not_sent_again_and_its_tokens_stay_valid() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = consent(&ada, &browser).await;
    let first = page.decide("allow").await;
    let (status, tokens) = ada
        .application
        .exchange(&host.base, &first.parameter("code"), &[])
        .await;
    assert_eq!(status, StatusCode::OK);
    for repeated in [page.decide("allow").await, browser.get(&page.url).await] {
        assert_eq!(repeated.status, StatusCode::OK);
        assert!(
            repeated.body.contains("You are signed in"),
            "{}",
            repeated.body
        );
        assert!(
            repeated.body.contains("href=\"https://rp.example/\""),
            "{}",
            repeated.body
        );
        assert!(!repeated.body.contains("ac_"));
        assert_eq!(session_cookie(&repeated), session_cookie(&first));
    }
    let token = tokens["access_token"].text();
    let (status, _) = super::token::userinfo(&host, token).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_later_time_another_browser_and_another_session_get_nothing() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = consent(&ada, &browser).await;
    let first = page.decide("allow").await;
    let stranger = Browser::new(&host.base);
    stranger.get("/session/end").await;
    let refused = stranger.get(&page.path()).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    assert!(cookies(&refused).iter().all(|pair| !pair.contains("se_")));
    host.advance(29);
    assert_eq!(browser.get(&page.url).await.location(), first.location());
    host.advance(1);
    let late = browser.get(&page.url).await;
    assert_eq!(
        (late.status, session_cookie(&late)),
        (StatusCode::CONFLICT, None)
    );

    // Another session began in this browser.
    let again = ada
        .begin_sign_in(&browser, &[("prompt", Some("login"))])
        .await;
    ada.approve(&again).await;
    let second = browser.finish(&again.url).await;
    let grace = host
        .user_with_account("grace", host.web_application().await)
        .await;
    let other = grace
        .begin_sign_in(&browser, &[("prompt", Some("login"))])
        .await;
    grace.approve(&other).await;
    assert!(
        !browser
            .finish(&other.url)
            .await
            .parameter("code")
            .is_empty()
    );
    let replaced = browser.get(&again.url).await;
    assert_eq!(
        (replaced.status, session_cookie(&replaced)),
        (StatusCode::CONFLICT, None)
    );
    assert!(!second.parameter("code").is_empty());
}

#[tokio::test]
async fn an_ended_session_and_a_suspended_user_get_nothing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for suspends in [false, true] {
        let browser = Browser::new(&host.base);
        let waiting = ada.begin_sign_in(&browser, &[]).await;
        ada.approve(&waiting).await;
        let first = browser.finish(&waiting.url).await;
        assert!(!first.parameter("code").is_empty());
        if suspends {
            let path = format!("/users/{}", id(&ada.user));
            host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
                .await;
        } else {
            let question = browser.get("/session/end").await;
            let form = [("csrf", &*question.csrf()), ("answer", "yes")];
            browser.post("/session/end", &form).await;
        }
        let repeated = browser.get(&waiting.url).await;
        assert_eq!(
            (repeated.status, session_cookie(&repeated)),
            (StatusCode::CONFLICT, None),
            "{}",
            repeated.body
        );
    }
}

async fn change(host: &TestHost, statement: &'static str) {
    let mut connection = host.connection().await;
    assent_store::sql::query(statement)
        .execute(&mut connection)
        .await
        .expect("changed");
}

/// After a replacement of the root secret, the server derives another code and another cookie than it stored. The
/// browser keeps the valid ones.
#[both_databases]
async fn a_code_or_cookie_that_is_not_the_stored_one_is_not_sent(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let page = consent(&ada, &browser).await;
    let first = page.decide("allow").await;
    assert!(session_cookie(&first).is_some());
    let other_code = "UPDATE token_families
        SET code_digest = '00000000000000000000000000000000' || substr(code_digest, 33)";
    change(&host, other_code).await;
    let repeated = page.decide("allow").await;
    assert_eq!(repeated.status, StatusCode::OK, "{database:?}");
    assert!(!repeated.body.contains("ac_"), "{}", repeated.body);
    let other_cookie =
        "UPDATE sessions SET digest = '00000000000000000000000000000000' || substr(digest, 33)";
    change(&host, other_cookie).await;
    for repeated in [page.decide("allow").await, browser.get(&page.url).await] {
        assert_eq!(
            (repeated.status, session_cookie(&repeated)),
            (StatusCode::CONFLICT, None),
            "{database:?}"
        );
    }
}

#[both_databases]
async fn denials_and_departures_are_repeated(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let page = consent(&ada, &browser).await;
    let answers = join_all((0..4).map(|_| page.decide("deny"))).await;
    let left = ada.application.login_page(&browser, &[]).await;
    let departures = join_all((0..4).map(|_| left.leave())).await;
    for answers in [answers, departures] {
        for answer in &answers {
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
            assert_eq!(answer.parameter("error"), "access_denied");
            assert_eq!(answer.location(), answers[0].location());
            assert_eq!(session_cookie(answer), None);
        }
    }
    host.advance(20);
    assert_eq!(
        page.decide("allow").await.parameter("error"),
        "access_denied"
    );
    assert_eq!(left.again().await.parameter("error"), "access_denied");
    host.advance(10);
    assert_eq!(left.again().await.status, StatusCode::CONFLICT);
    assert_eq!(count(&host, "SELECT COUNT(*) FROM token_families").await, 0);
}

#[tokio::test]
async fn a_repeated_form_post_has_the_same_code() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let waiting = ada
        .begin_sign_in(&browser, &[("response_mode", Some("form_post"))])
        .await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    let (first, second) = (page.decide("allow").await, page.decide("allow").await);
    assert_eq!(first.form(), second.form());
    // The script of the page posts it once.
    let id = |page: &Page| page.between("data-answer=\"", "\"");
    assert_eq!(id(&first), id(&second));
    assert!(first.field("code").starts_with("ac_"));
}

#[tokio::test]
async fn a_sign_in_to_an_own_page_is_repeated() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let begun = browser.get("/devices").await.followed().await;
    let login = begun.followed().await;
    let waiting = login.submit_name(ada.user["name"].text()).await;
    ada.approve(&waiting).await;
    let first = browser.get(&waiting.url).await;
    assert_eq!(first.location().path(), "/devices");
    let second = browser.get(&waiting.url).await;
    assert_eq!(second.location(), first.location());
    assert_eq!(session_cookie(&second), session_cookie(&first));
    assert!(session_cookie(&first).is_some());
    assert_eq!(browser.get("/devices").await.status, StatusCode::OK);
}

#[tokio::test]
async fn earlier_steps_sent_twice_lead_to_the_same_page() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let name = ada.user["name"].text();
    let login = ada.application.login_page(&browser, &[]).await;
    let form = [("csrf", &*login.csrf()), ("name", name)];
    let asked = join_all((0..3).map(|_| browser.post(&login.url, &form))).await;
    for page in &asked {
        assert_eq!(
            (page.status, page.location().path()),
            (StatusCode::SEE_OTHER, &*login.path())
        );
    }
    let waiting = browser.get(&login.url).await;
    assert_eq!(ada.device.pending_requests(1).await.len(), 1);
    let cancelled = join_all((0..3).map(|_| waiting.cancel())).await;
    assert!(
        cancelled
            .iter()
            .all(|page| page.status == StatusCode::SEE_OTHER)
    );
    let ended = browser.get(&login.url).await;
    for next in join_all((0..3).map(|_| ended.retry())).await {
        assert!(
            next.body.contains(&format!("value=\"{name}\"")),
            "{}",
            next.body
        );
    }
}

#[tokio::test]
async fn a_repeat_stores_nothing() {
    let statements = Statements::capture();
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = consent(&ada, &browser).await;
    let first = page.decide("allow").await;
    let before = statements.executed().len();
    let second = page.decide("allow").await;
    assert_eq!(first.location(), second.location());
    let writes: Vec<String> = statements.executed()[before..]
        .iter()
        .filter(|text| !text.trim_start().starts_with("SELECT"))
        .filter(|text| {
            // A background task signs the root of the audit log some time after an entry.
            ["logins", "sessions", "token_families", "audit_entries"]
                .iter()
                .any(|table| text.contains(table))
        })
        .cloned()
        .collect();
    assert!(writes.is_empty(), "{writes:#?}");
}
