//! A request of a sign-on or of a sign-out, sent twice. The service provider gets one usable response: a repeated one
//! is the same response, with the same `ID`s, and only the same browser with the same session gets it.

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::logout;
use super::service_provider::{Request, Response, TestServiceProvider, identify, query};
use crate::harness::{Browser, Database, HostOptions, Page, TestHost, TestUser, id};
use crate::retention::RETENTION;

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

/// A request by redirect is answered at once. One by form is answered where the browser sends its cookies.
#[both_databases]
async fn a_sign_on_with_a_session_is_repeated_for_that_session_only(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    for is_by_form in [false, true] {
        let browser = Browser::new(&host.base);
        let request = service_provider.request(&host);
        service_provider.sign_in(&ada, &browser, &request).await;
        let xml = service_provider.request(&host).xml();
        let address = match is_by_form {
            true => {
                let stored = posted(&service_provider, &host.base, (&xml, "s")).await;
                stored.location().to_string()
            }
            false => service_provider.signed_redirect(&xml, Some("s")),
        };
        let stored = "SELECT COUNT(*) FROM sign_on_requests";
        let before = count(&host, stored).await;
        let pages = join_all((0..6).map(|_| browser.get(&address))).await;
        assert_same(&pages);
        assert_eq!(count(&host, stored).await, before);
        host.advance(20);
        assert_same(&[browser.get(&address).await, browser.get(&address).await]);
        let stranger = Browser::new(&host.base);
        assert_eq!(stranger.get(&address).await.status, StatusCode::BAD_REQUEST);
        // Another message with the same ID is a replay.
        let other = xml.replace("IssueInstant", "ProviderName=\"x\" IssueInstant");
        let other = service_provider.signed_redirect(&other, Some("s"));
        assert_eq!(browser.get(&other).await.status, StatusCode::BAD_REQUEST);
        // The session ends, and with it the repetition.
        let question = browser.get("/session/end").await;
        let form = [("csrf", &*question.csrf()), ("answer", "yes")];
        browser.post("/session/end", &form).await;
        assert_eq!(browser.get(&address).await.status, StatusCode::BAD_REQUEST);
        host.advance(10);
        assert_eq!(browser.get(&address).await.status, StatusCode::BAD_REQUEST);
    }
}

/// A transaction claims its messages before it locks sessions. PostgreSQL would detect a deadlock of two after a
/// second, and roll one back.
#[tokio::test]
async fn requests_sent_to_two_instances_do_not_deadlock() {
    const SESSIONS: usize = 6;
    let unlimited = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 0, burst = 1 }\n\
                     sign_ins_per_user_name = { per_minute = 0, burst = 1 }\n\
                     prompts_per_user = { per_minute = 0, burst = 1 }\n";
    let host = TestHost::start_on_with(Database::Postgres, unlimited).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    let (_services, _running, second) = host
        .second(HostOptions {
            database: Database::Postgres,
            settings: unlimited,
            ..HostOptions::default()
        })
        .await;
    let mut browsers = Vec::new();
    for _ in 0..SESSIONS {
        let browser = Browser::new(&host.base);
        let request = service_provider.request(&host);
        service_provider.sign_in(&ada, &browser, &request).await;
        browsers.push(browser);
    }
    for round in 0..4 {
        let messages: Vec<String> = (0..SESSIONS)
            .map(|_| {
                let request = Request {
                    destination: None,
                    ..service_provider.request(&host)
                };
                request.xml()
            })
            .collect();
        let (messages, browsers) = (&messages, &browsers);
        let sent = (0..SESSIONS * 4).map(async |number| {
            let place = (number * 5 + round) % SESSIONS;
            let browser = match number % 2 {
                0 => browsers[place].clone(),
                _ => browsers[place].at(&second),
            };
            match number % 4 {
                3 => posted(&service_provider, &host.base, (&messages[place], "s")).await,
                _ => {
                    let address = service_provider.signed_redirect(&messages[place], Some("s"));
                    browser.get(&address).await
                }
            }
        });
        for page in join_all(sent).await {
            assert!(!page.status.is_server_error(), "{}", page.body);
        }
    }
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(count(&host, deadlocks).await, 0);
}

/// A session that a sign-out ends while the answer waits for its row gets no assertion. The message remains unused.
#[tokio::test]
async fn a_session_that_ends_meanwhile_leaves_the_message_unclaimed() {
    let (host, service_provider, ada) = prepared(Database::Postgres).await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    service_provider.sign_in(&ada, &browser, &request).await;
    let mut ending = host.connection().await;
    ending
        .batch("BEGIN; UPDATE sessions SET ended_at = 1")
        .await
        .expect("an ended session");
    let xml = service_provider.request(&host).xml();
    let address = service_provider.signed_redirect(&xml, None);
    let answer = browser.get(&address);
    let end = async {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while count(&host, waiting).await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        ending.batch("COMMIT").await.expect("ended");
    };
    let (stored, ()) = tokio::join!(answer, end);
    let login = stored.followed().await.followed().await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    assert_same(&[browser.get(&waiting.url).await]);
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

/// Posts a message with its relay state, as another site does: the browser sends no cookies.
async fn posted(
    service_provider: &TestServiceProvider,
    base: &str,
    (xml, relay_state): (&str, &str),
) -> Page {
    let elsewhere = Browser::new(base);
    service_provider
        .post(&elsewhere, xml, Some(relay_state))
        .await
}

/// A user presses the button of the service provider twice, or the response with the redirect is lost.
#[both_databases]
async fn a_request_posted_twice_leads_to_the_same_sign_on(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    let (_services, _running, second) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let request = Request {
        destination: None,
        ..service_provider.request(&host)
    };
    let xml = request.xml();
    let sent = join_all((0..6).map(|number| {
        let base = match number % 2 {
            0 => &host.base,
            _ => &second,
        };
        posted(&service_provider, base, (&xml, "s"))
    }))
    .await;
    let path = sent[0].location().path().to_owned();
    assert!(path.starts_with("/sso/sign-on/"), "{path}");
    for page in &sent {
        assert_eq!(page.location().path(), path, "{database:?}");
    }
    let stored = "SELECT COUNT(*) FROM sign_on_requests";
    assert_eq!(count(&host, stored).await, 1, "{database:?}");
    // A message with the same ID is not the same message.
    let other = request.clone().with("ProviderName", "x").xml();
    for message in [(other.as_str(), "s"), (xml.as_str(), "t")] {
        let page = posted(&service_provider, &host.base, message).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{database:?}");
        assert!(page.body.contains("already used"), "{}", page.body);
    }
    let browser = Browser::new(&host.base);
    let login = browser.get(&path).await.followed().await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    let answered = browser.get(&waiting.url).await;
    host.advance(29);
    let repeated = posted(&service_provider, &host.base, (&xml, "s")).await;
    assert_eq!(repeated.location().path(), path);
    let again = browser.get(&path).await.followed().await;
    assert_same(&[answered, again]);
    // Another browser gets nothing.
    let stranger = Browser::new(&host.base);
    assert_eq!(stranger.get(&path).await.status, StatusCode::BAD_REQUEST);
    host.advance(1);
    let late = posted(&service_provider, &host.base, (&xml, "s")).await;
    assert_eq!(late.status, StatusCode::BAD_REQUEST, "{}", late.body);
}

/// An error grants nothing. The `ID` of the refused request stays used.
#[both_databases]
async fn a_refused_request_gets_the_same_error_again(database: Database) {
    let (host, service_provider, _) = prepared(database).await;
    let artifact = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact";
    let encrypted = "urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted";
    let policy = format!(r#"<samlp:NameIDPolicy Format="{encrypted}"/>"#);
    let request = || Request {
        destination: None,
        ..service_provider.request(&host)
    };
    let (binding, format) = (request(), request());
    for (plain, refused, status) in [
        (
            binding.clone(),
            binding.with("ProtocolBinding", artifact),
            ":UnsupportedBinding",
        ),
        (
            format.clone(),
            format.containing(&policy),
            ":InvalidNameIDPolicy",
        ),
    ] {
        let xml = refused.xml();
        for _ in 0..2 {
            let page = posted(&service_provider, &host.base, (&xml, "s")).await;
            let response = Response::from_page(&page);
            assert!(response.status()[1].ends_with(status), "{}", response.xml);
            assert_eq!(response.relay_state.as_deref(), Some("s"), "{database:?}");
            assert!(response.element("Assertion").is_none(), "{database:?}");
            host.advance(20);
        }
        let page = posted(&service_provider, &host.base, (&plain.xml(), "s")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{database:?}");
        assert!(page.body.contains("already used"), "{}", page.body);
    }
}

/// A passive request fails without a session that suffices. The browser may still have the cookie of an ended session.
#[tokio::test]
async fn a_passive_request_gets_the_same_error_again() {
    let (host, service_provider, ada) = prepared(Database::Sqlite).await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    service_provider.sign_in(&ada, &browser, &request).await;
    let passive = || service_provider.request(&host).with("IsPassive", "true");
    let insufficient = passive().with("ForceAuthn", "true");
    for ends in [false, true] {
        if ends {
            let path = format!("/users/{}/sessions", id(&ada.user));
            host.admin_ok(Method::DELETE, &path, serde_json::Value::Null)
                .await;
        }
        let request = if ends {
            passive()
        } else {
            insufficient.clone()
        };
        let stored = service_provider.begin_raw(&browser, &request).await;
        let address = stored.location().to_string();
        let mut pages = join_all((0..3).map(|_| browser.get(&address))).await;
        let cookies = browser.cookie_header();
        assert!(cookies.contains("assent-session=se_"), "{cookies}");
        host.advance(20);
        pages.push(browser.get(&address).await);
        let first = Response::from_page(&pages[0]);
        assert!(first.status()[1].ends_with(":NoPassive"), "{}", first.xml);
        for page in &pages {
            assert_eq!(Response::from_page(page).xml, first.xml);
        }
    }
    // Another user's session gets nothing.
    let stored = service_provider.begin_raw(&browser, &passive()).await;
    let address = stored.location().to_string();
    browser.get(&address).await;
    let bob = host
        .user_with_account("bob", service_provider.application())
        .await;
    let request = service_provider.request(&host);
    service_provider.sign_in(&bob, &browser, &request).await;
    let page = browser.get(&address).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.body);
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

/// The forms of the portal that end the session of their own browser.
#[both_databases]
async fn a_form_of_the_portal_sent_twice_notifies_the_same_service_providers(database: Database) {
    let (host, service_provider, ada) = prepared(database).await;
    let revoke = format!("/devices/{}/revoke", ada.device.device());
    for form in ["/sessions/end-all", "/sessions/", revoke.as_str()] {
        let browser = Browser::new(&host.base);
        let request = service_provider.request(&host);
        service_provider.sign_in(&ada, &browser, &request).await;
        let page = match form.starts_with("/sessions/") {
            true => browser.get("/sessions").await,
            false => browser.get(form).await,
        };
        let mut actions = page
            .body
            .split("action=\"")
            .filter_map(|rest| rest.split('"').next());
        let action = actions
            .find(|action| match form {
                "/sessions/" => action.starts_with(form) && action.ends_with("/end"),
                _ => *action == form,
            })
            .expect("a form");
        let ends = join_all((0..4).map(|_| page.submit(action, &[]))).await;
        for end in &ends {
            assert!(end.location().path().starts_with("/sso/logout/"), "{form}");
            assert_eq!(end.location(), ends[0].location(), "{form}");
        }
        host.advance(10);
        let late = page.submit(action, &[]).await;
        assert_eq!(late.location(), ends[0].location(), "{form}");
        let turn = late.followed().await;
        assert!(turn.body.contains("<iframe"), "{form}: {}", turn.body);
        host.advance(60);
        let nothing = page.submit(action, &[]).await;
        assert!(!nothing.location().path().starts_with("/sso/"), "{form}");
    }
}

/// The response of the service provider that began the logout: the status codes, and the `ID` of its request.
fn logout_response(page: &Page) -> (String, Option<String>, Option<String>) {
    let response = logout::answer(page);
    (
        response.status.code,
        response.status.second,
        response.in_response_to,
    )
}

/// The browser discards the first response, so the second one must lead to the same notifications.
#[both_databases]
async fn a_logout_request_sent_twice_notifies_the_other_service_provider_once(database: Database) {
    let (host, asking, ada) = prepared(database).await;
    let changes = json!({"name": "Other", "entity_id": "https://other.example"});
    let other = TestServiceProvider::register(&host, changes).await;
    host.account(&ada.user, &other.application()).await;
    let browser = Browser::new(&host.base);
    let known = logout::signed_in(&asking, &ada, &browser, &host).await;
    logout::signed_in(&other, &ada, &browser, &host).await;
    let request = logout::request(&asking, &host, &known);
    let sent = join_all((0..4).map(|_| logout::send(&asking, &browser, &request, None))).await;
    for page in &sent {
        assert!(page.location().path().starts_with("/sso/logout/"));
        assert_eq!(page.location(), sent[0].location(), "{database:?}");
    }
    for query in [
        "SELECT COUNT(*) FROM saml_logouts",
        "SELECT COUNT(*) FROM saml_logout_requests",
    ] {
        assert_eq!(count(&host, query).await, 1, "{database:?}");
    }
    host.advance(10);
    let late = logout::send(&asking, &browser, &request, None).await;
    assert_eq!(late.location(), sent[0].location());
    // The other service provider does not respond. The last page is repeated, too.
    let turn = late.followed().await;
    assert!(turn.body.contains("<iframe"), "{}", turn.body);
    host.advance(6);
    let (code, second) = (logout::SUCCESS.to_owned(), logout::PARTIAL.to_owned());
    let expected = (code, Some(second), Some(request.header.id.clone()));
    for page in join_all((0..3).map(|_| turn.again())).await {
        assert_eq!(logout_response(&page), expected, "{database:?}");
    }
    // Another browser sees nothing.
    let stranger = Browser::new(&host.base);
    let nothing = stranger.get(&turn.path()).await;
    assert_eq!(nothing.location().path(), "/session/ended");
}

/// An unsigned request may omit its destination, so both instances accept it.
#[both_databases]
async fn a_logout_request_sent_to_two_instances_ends_one_logout(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({"certificates": []})).await;
    let ada = service_provider.ada(&host).await;
    let (_services, _running, second) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let browser = Browser::new(&host.base);
    let known = logout::signed_in(&service_provider, &ada, &browser, &host).await;
    let mut request = logout::request(&service_provider, &host, &known);
    request.header.destination = None;
    let xml = request.write(None).expect("written");
    let address = format!(
        "{}?{}",
        service_provider.single_logout(),
        query("SAMLRequest", &xml, None)
    );
    let answers = join_all((0..6).map(|number| {
        let browser = match number % 2 {
            0 => browser.clone(),
            _ => browser.at(&second),
        };
        let address = &address;
        async move {
            let page = browser.get(address).await;
            match page.location().path().starts_with("/sso/logout/") {
                true => page.followed().await,
                false => page,
            }
        }
    }))
    .await;
    let expected = (
        logout::SUCCESS.to_owned(),
        None,
        Some(request.header.id.clone()),
    );
    for page in &answers {
        assert_eq!(logout_response(page), expected, "{database:?}");
    }
    assert_eq!(
        count(&host, "SELECT COUNT(*) FROM saml_logouts").await,
        1,
        "{database:?}"
    );
    host.advance(30);
    let late = browser.get(&address).await;
    assert_eq!(late.status, StatusCode::BAD_REQUEST, "{}", late.body);
    // Retention finds the row by the time in its id.
    host.advance(2 * 60 * 60);
    let services = &host.host;
    let deleted = services
        .store
        .apply_retention(RETENTION, services.now())
        .await;
    deleted.expect("deleted");
    assert_eq!(
        count(&host, "SELECT COUNT(*) FROM saml_logouts").await,
        0,
        "{database:?}"
    );
}
