//! Signing in by a code that the authenticator scans, and a browser that remembers a name.

use assent::id::LoginId;
use futures_util::StreamExt;
use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::harness::{Browser, Page, TestHost, id};

/// What the code of a login page leads to.
fn code(page: &Page) -> String {
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
    let first = tokio::time::timeout(std::time::Duration::from_secs(10), news.next()).await.expect("in time");
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

#[tokio::test]
async fn scans_count_as_sign_ins_with_the_persons_name() {
    let settings = "[limits]\nlogin_name = { per_minute = 1, burst = 2 }\n";
    let host = TestHost::start_with(crate::harness::Wish { settings, ..Default::default() }).await;
    let ada = host.ada().await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let browser = Browser::new(&host.base);
        let login = browser.get(&ada.application.request(&[])).await.followed().await;
        told.push(ada.phone.scan(&code(&login)).await.map_err(|error| error.to_string()));
    }
    assert!(told[..2].iter().all(Result::is_ok), "{told:?}");
    assert!(told[2].as_ref().is_err_and(|error| error.starts_with("too_many_requests")), "{told:?}");
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
