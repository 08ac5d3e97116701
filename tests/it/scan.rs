//! Signing in by a code that the authenticator scans, and a browser that remembers a name.

use assent::id::LoginId;
use futures_util::StreamExt;
use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::harness::{Ada, Browser, Database, Page, TestHost, Wish, id, in_time};

/// What the code of a login page leads to.
pub fn code(page: &Page) -> String {
    let links = page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let link = links.into_iter().find(|link| link.contains("#login=")).expect("a code");
    link.to_owned()
}

#[tokio::test]
async fn whoever_scans_the_code_is_asked_and_signs_in_with_the_number() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let login = browser.get(&ada.application.request(&[])).await.followed().await;
    let mut news = browser.stream(&format!("{}/events", login.path())).await.bytes_stream();
    ada.phone.scan(&code(&login)).await.expect("taken");
    let first = in_time(news.next()).await;
    assert!(String::from_utf8_lossy(&first.expect("an event").expect("read")).contains("event: changed"));

    let waiting = browser.get(&login.url).await;
    let requests = ada.phone.waiting(0).await.expect("requests");
    assert_eq!((requests.len(), requests[0].account.as_str()), (1, "ada"));
    assert_eq!((requests[0].place.as_str(), requests[0].browser.as_str()), ("This computer", "Firefox on Linux"));
    assert_eq!(ada.phone.decide(&requests[0], Some(&waiting.number())).await.expect("an outcome"), "approved");
    assert!(browser.finish(&waiting.url).await.parameter("code").starts_with("ac_"));
}

#[tokio::test]
async fn a_code_is_taken_once_and_only_where_it_was_made() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let bob = host.person("bob", ada.application.clone()).await;
    let browser = Browser::new(&host.base);
    let login = browser.get(&ada.application.request(&[])).await.followed().await;
    let link = code(&login);
    let refused = async |link: &str| {
        let error = ada.phone.scan(link).await.expect_err("refused").to_string();
        assert!(error.starts_with("no_such_login"), "{link}: {error}");
    };
    let (start, token) = link.split_once("#login=").expect("a token");
    // Another login's id with this one's proof, a proof that is cut, one of zeros, and what is no code at all.
    let other = code(&Browser::new(&host.base).get(&ada.application.request(&[])).await.followed().await);
    let other = other.split_once("#login=").expect("a token").1;
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
    assert!(ada.phone.waiting(0).await.expect("requests").is_empty());

    // Ten people at once: the browser waits for one of them.
    let (mut scans, mut taken) = (Vec::new(), 0);
    for _ in 0..5 {
        scans.push(ada.phone.scan(&link));
        scans.push(bob.phone.scan(&link));
    }
    for scan in futures_util::future::join_all(scans).await {
        taken += usize::from(scan.is_ok());
    }
    assert_eq!(taken, 1);
    let asked = [&ada, &bob].map(|person| async { person.phone.waiting(0).await.expect("requests").len() });
    assert_eq!(futures_util::future::join_all(asked).await.iter().sum::<usize>(), 1);
    refused(&link).await;

    // A login whose time is over.
    let late = code(&Browser::new(&host.base).get(&ada.application.request(&[])).await.followed().await);
    host.advance(3600);
    refused(&late).await;
}

#[tokio::test]
async fn a_code_that_somebody_else_shows_names_the_browser_that_it_comes_from() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    // A page that relays: it fetches our page with a browser of its own, and shows the code to Ada.
    let relay = Browser::new(&host.base);
    let login = relay.get(&ada.application.request(&[])).await.followed().await;
    ada.phone.scan(&code(&login)).await.expect("taken");
    let request = &ada.phone.waiting(0).await.expect("requests")[0];
    assert_eq!(request.browser, "Firefox on Linux", "the relay's own, whatever Ada's says");
    // To sign what the relay would rather have shown is of no use.
    let mut shown = request.clone();
    "Safari on iPhone".clone_into(&mut shown.browser);
    let waiting = relay.get(&login.url).await;
    let error = ada.phone.decide(&shown, Some(&waiting.number())).await.expect_err("refused").to_string();
    assert!(error.starts_with("bad_proof"), "{error}");
}

#[tokio::test]
async fn a_person_who_may_not_sign_in_is_told_so_and_the_browser_is_not() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let login = browser.get(&ada.application.request(&[])).await.followed().await;
    host.admin_ok(Method::PATCH, &format!("/users/{}", id(&ada.user)), json!({"state": "suspended"})).await;
    let error = ada.phone.scan(&code(&login)).await.expect_err("refused").to_string();
    assert!(error.starts_with("closed"), "{error}");
    assert_eq!(browser.get(&login.url).await.path(), login.path());
    assert!(browser.get(&login.url).await.body.contains("id=\"name\""), "it still asks who the person is");
}

/// A login of Ada's application, in a browser of its own.
async fn begun(host: &TestHost, ada: &Ada) -> (Browser, Page) {
    let browser = Browser::new(&host.base);
    let login = browser.get(&ada.application.request(&[])).await.followed().await;
    (browser, login)
}

#[tokio::test]
async fn whoever_floods_a_name_does_not_keep_its_owner_from_signing_in_by_a_scan_on_both_databases() {
    for database in Database::BOTH {
        let settings =
            "[limits]\nlogin_name = { per_minute = 60, burst = 60 }\nperson = { per_minute = 1, burst = 1 }\n";
        let host = TestHost::start_with(Wish { database, settings, ..Default::default() }).await;
        let ada = host.ada().await;
        let flood = async |times: usize| {
            let mut refused = 0;
            for at in 0..times {
                let (_, login) = begun(&host, &ada).await;
                let name = ["ada", "ada@example.org"][at % 2];
                refused += usize::from(login.submit(&login.path(), &[("name", name)]).await.status == 429);
            }
            refused
        };
        // Both names beyond their limits, and Ada had enough of it.
        assert!(flood(150).await > 0);
        let request = &ada.phone.waiting(5).await.expect("requests")[0];
        assert_eq!(ada.phone.not_me(request).await.expect("an outcome"), "not_me");
        assert!(ada.phone.paused_until().await.expect("an answer").is_some());

        let (browser, login) = begun(&host, &ada).await;
        ada.phone.scan(&code(&login)).await.expect("taken");
        // Neither the pause nor what is typed meanwhile takes it away from her.
        host.advance(70);
        ada.phone.lift_pause().await.expect("lifted");
        assert_eq!(flood(10).await, 0);
        let requests = ada.phone.waiting(0).await.expect("requests");
        let waiting = browser.get(&login.url).await;
        assert_eq!(requests.len(), 1, "{database:?}");
        assert_eq!(ada.phone.decide(&requests[0], Some(&waiting.number())).await.expect("an outcome"), "approved");
        assert!(browser.finish(&waiting.url).await.parameter("code").starts_with("ac_"));
    }
}

#[tokio::test]
async fn a_scan_gives_way_to_another_scan_and_to_a_typed_name_when_its_time_is_over() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let (first, login) = begun(&host, &ada).await;
    ada.phone.scan(&code(&login)).await.expect("taken");
    let one = ada.phone.waiting(0).await.expect("requests")[0].clone();
    let (_, other) = begun(&host, &ada).await;
    ada.phone.scan(&code(&other)).await.expect("taken");
    let two = ada.phone.waiting(0).await.expect("requests")[0].clone();
    assert_ne!(one.id, two.id);
    let number = first.get(&login.url).await.number();
    let error = ada.phone.decide(&one, Some(&number)).await.expect_err("refused").to_string();
    assert!(error.starts_with("already_decided"), "{error}");

    host.advance(121);
    let (_, typed) = begun(&host, &ada).await;
    typed.submit(&typed.path(), &[("name", "ada")]).await;
    assert_eq!(ada.phone.waiting(0).await.expect("requests").len(), 1);
}

#[tokio::test]
async fn a_device_scans_so_often_and_others_of_the_person_are_not_held_by_it() {
    let settings = "[limits]\ndevice = { per_minute = 1, burst = 2 }\n";
    let host = TestHost::start_with(Wish { settings, ..Default::default() }).await;
    let ada = host.ada().await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let (_, login) = begun(&host, &ada).await;
        told.push(ada.phone.scan(&code(&login)).await.map_err(|error| error.to_string()));
    }
    assert!(told[..2].iter().all(Result::is_ok), "{told:?}");
    assert!(told[2].as_ref().is_err_and(|error| error.starts_with("too_many_sign_ins")), "{told:?}");
    let second = host.authenticator(&ada.user).await;
    let (_, login) = begun(&host, &ada).await;
    second.scan(&code(&login)).await.expect("taken");
}

#[tokio::test]
async fn the_phone_shows_what_a_code_lets_in_before_the_page_learns_who_scanned() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let (browser, login) = begun(&host, &ada).await;
    let link = code(&login);
    let look = ada.phone.look_at_login(&link).await.expect("a look");
    let shown = (look.application.as_str(), look.place.as_str(), look.browser.as_str());
    assert_eq!(shown, ("Books & <Co>", "This computer", "Firefox on Linux"));
    assert!(browser.get(&login.url).await.body.contains("id=\"name\""), "it still asks who the person is");
    assert!(ada.phone.waiting(0).await.expect("requests").is_empty());
    ada.phone.scan(&link).await.expect("taken");
    let waiting = browser.get(&login.url).await;
    assert!(!waiting.body.contains("ada"), "the page need not know: {}", waiting.body);
    let error = ada.phone.look_at_login(&link).await.expect_err("refused").to_string();
    assert!(error.starts_with("no_such_login"), "{error}");
}

#[tokio::test]
async fn a_browser_remembers_a_name_only_if_the_person_wants_it() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let again = async || browser.get(&ada.application.request(&[])).await.followed().await;
    let value = |page: &Page| {
        let field = page.body.split("id=\"name\"").nth(1).expect("the field");
        field.split("value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a value").to_owned()
    };
    let login = again().await;
    let answer = login.submit(&login.path(), &[("name", "ada")]).await;
    assert!(answer.headers.get_all(header::SET_COOKIE).iter().next().is_none(), "nothing is remembered unasked");
    assert_eq!(value(&again().await), "");

    let login = again().await;
    let answer = login.submit(&login.path(), &[("name", "ada"), ("remember", "yes")]).await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().expect("text");
    assert!(cookie.starts_with("assent-name=") && cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    let page = again().await;
    assert_eq!(value(&page), "ada");
    assert!(page.body.contains("value=\"yes\" checked"));
    // What the application says goes before what the browser remembers.
    let hinted = browser.get(&ada.application.request(&[("login_hint", Some("bob"))])).await.followed().await;
    assert_eq!(value(&hinted), "bob");

    page.submit(&page.path(), &[("name", "ada")]).await;
    assert_eq!(value(&again().await), "", "and forgets it again");
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
}
