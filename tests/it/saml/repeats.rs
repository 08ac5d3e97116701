//! The last request of a sign-on, sent twice. The service provider gets one usable response: a repeated one is the same
//! response, with the same `ID`s, and only the same browser with the same session gets it.

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::json;

use super::service_provider::{Response, TestServiceProvider, identify};
use crate::harness::{Browser, Database, HostOptions, Page, TestHost, TestUser};

async fn prepared(database: Database) -> (TestHost, TestServiceProvider, TestUser) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    (host, service_provider, ada)
}

/// What makes a response the same one: its `ID`s and its times. The two instances of a test have different issuers,
/// because their ports differ.
fn identity(response: &Response) -> [String; 5] {
    [
        response.root().attribute("ID").expect("an ID").to_owned(),
        response.attribute("Assertion", "ID").to_owned(),
        response.attribute("Assertion", "IssueInstant").to_owned(),
        response.attribute("Conditions", "NotOnOrAfter").to_owned(),
        response
            .attribute("AuthnStatement", "SessionIndex")
            .to_owned(),
    ]
}

/// Asserts that all pages post the same successful response, and returns it.
fn assert_same(pages: &[Page]) -> Response {
    let first = Response::from_page(&pages[0]);
    assert!(first.is_success(), "{}", first.xml);
    for page in pages {
        let response = Response::from_page(page);
        assert_eq!(identity(&response), identity(&first));
        assert_eq!(response.action, first.action);
        assert_eq!(response.relay_state, first.relay_state);
    }
    first
}

async fn count(host: &TestHost, query: &'static str) -> i64 {
    let mut connection = host.connection().await;
    let (count,): (i64,) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    count
}

#[both_databases]
async fn concurrent_answers_on_two_instances_are_one_response(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    let (_services, _running, second) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    let login = service_provider.begin(&browser, &request, Some("s")).await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    let path = waiting.path();
    let pages = join_all((0..6).map(|number| {
        let browser = match number % 2 {
            0 => browser.clone(),
            _ => browser.at(&second),
        };
        let path = &path;
        async move { browser.get(path).await }
    }))
    .await;
    assert_same(&pages);
    host.advance(29);
    let late = browser.get(&path).await;
    assert_eq!(
        Response::from_page(&late).xml,
        Response::from_page(&pages[0]).xml
    );
    assert!(late.headers.contains_key("set-cookie"));
    assert_eq!(
        count(
            &host,
            "SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL"
        )
        .await,
        1
    );
    host.advance(1);
    assert_eq!(browser.get(&path).await.status, StatusCode::CONFLICT);
    let stranger = Browser::new(&host.base);
    assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[both_databases]
async fn a_sign_on_with_a_session_is_repeated_for_that_session_only(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    service_provider.sign_in(&ada, &browser, &request).await;
    let request = service_provider.request(&host);
    let stored = service_provider.begin_raw(&browser, &request).await;
    let address = stored.location().to_string();
    let pages = join_all((0..6).map(|_| browser.get(&address))).await;
    assert_same(&pages);
    host.advance(20);
    assert_same(&[browser.get(&address).await, browser.get(&address).await]);
    let stranger = Browser::new(&host.base);
    assert_eq!(stranger.get(&address).await.status, StatusCode::BAD_REQUEST);
    // The session ends, and with it the repetition.
    let question = browser.get("/session/end").await;
    let form = [("csrf", &*question.csrf()), ("answer", "yes")];
    browser.post("/session/end", &form).await;
    assert_eq!(browser.get(&address).await.status, StatusCode::BAD_REQUEST);
    host.advance(10);
    assert_eq!(browser.get(&address).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_repeated_request_without_a_session_leads_to_the_same_sign_in() {
    let (host, service_provider, ada) = prepared(Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    // The browser has its cookie.
    browser.get("/").await;
    let request = service_provider.request(&host);
    let stored = service_provider.begin_raw(&browser, &request).await;
    let address = stored.location().to_string();
    let begun = join_all((0..4).map(|_| browser.get(&address))).await;
    for page in &begun {
        assert_eq!(page.location(), begun[0].location());
    }
    let login = begun[0].followed().await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    let answered = browser.get(&waiting.url).await;
    // A restored tab at the first address finds the answer of the sign-in.
    let again = browser.get(&address).await.followed().await;
    assert_same(&[answered, again]);
}

#[tokio::test]
async fn a_departure_is_repeated() {
    let (host, service_provider, _) = prepared(Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    let login = service_provider.begin(&browser, &request, Some("s")).await;
    let pages = join_all((0..4).map(|_| login.leave())).await;
    let first = Response::from_page(&pages[0]);
    assert!(!first.is_success());
    for page in &pages {
        assert_eq!(Response::from_page(page).xml, first.xml);
    }
    host.advance(30);
    assert_eq!(login.again().await.status, StatusCode::CONFLICT);
}

/// The first response is discarded by the browser, so the second one must notify the service providers.
#[both_databases]
async fn a_sign_out_sent_twice_notifies_the_same_service_providers(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    for path in ["/session/end", "/sign-out"] {
        let browser = Browser::new(&host.base);
        let request = service_provider.request(&host);
        service_provider.sign_in(&ada, &browser, &request).await;
        let page = browser
            .get(if path == "/sign-out" { "/" } else { path })
            .await;
        let csrf = page.between(&format!("action=\"{path}\""), "</form>");
        let (_, csrf) = csrf.split_once("name=\"csrf\" value=\"").expect("a token");
        let csrf = csrf.split('"').next().expect("a token").to_owned();
        let form = [("csrf", csrf.as_str()), ("answer", "yes")];
        let ends = join_all((0..4).map(|_| browser.post(path, &form))).await;
        for end in &ends {
            assert!(end.location().path().starts_with("/sso/logout/"), "{path}");
            assert_eq!(end.location(), ends[0].location(), "{path}");
        }
        host.advance(10);
        let late = browser.post(path, &form).await;
        assert_eq!(late.location(), ends[0].location());
        // The service provider does not respond. The last page is repeated, too.
        let turn = late.followed().await;
        assert!(turn.body.contains("<iframe"), "{}", turn.body);
        host.advance(6);
        let last = join_all((0..3).map(|_| turn.again())).await;
        for page in &last {
            assert_eq!((page.status, &page.body), (StatusCode::OK, &last[0].body));
        }
        assert!(
            last[0].body.contains("Engines &#38; Co"),
            "{}",
            last[0].body
        );
        // Another browser sees nothing.
        let stranger = Browser::new(&host.base);
        let nothing = stranger.get(&turn.path()).await;
        assert_eq!(nothing.location().path(), "/session/ended");
        host.advance(30);
    }
}
