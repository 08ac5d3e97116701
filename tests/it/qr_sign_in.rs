//! Signing in by a code that the authenticator scans, and a browser that remembers a name.

use assent_model::id::LoginId;
use futures_util::StreamExt;
use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::harness::{Ada, Browser, Database, HostOptions, Page, TestHost, id, in_time};

/// What the code of a login page leads to.
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
async fn whoever_scans_the_code_is_asked_and_signs_in_with_the_number() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    let mut news = browser
        .stream(&format!("{}/events", login.path()))
        .await
        .bytes_stream();
    ada.phone.scan(&code(&login)).await.expect("taken");
    let first = in_time(news.next()).await;
    assert!(
        String::from_utf8_lossy(&first.expect("an event").expect("read"))
            .contains("event: changed")
    );

    let waiting = browser.get(&login.url).await;
    let requests = ada.phone.waiting(0).await.expect("requests");
    assert_eq!((requests.len(), requests[0].account.as_str()), (1, "ada"));
    assert_eq!(
        (requests[0].place.as_str(), requests[0].browser.as_str()),
        ("This computer", "Firefox on Linux")
    );
    assert_eq!(
        ada.phone
            .decide(&requests[0], Some(&waiting.number()))
            .await
            .expect("an outcome"),
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
async fn a_code_is_taken_once_and_only_where_it_was_made() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let bob = host.person("bob", ada.application.clone()).await;
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    let link = code(&login);
    let refused = async |link: &str| {
        let error = ada.phone.scan(link).await.expect_err("refused").to_string();
        assert!(error.starts_with("sign_in_not_found"), "{link}: {error}");
    };
    let (start, token) = link.split_once("#login=").expect("a token");
    // Another login's id with this one's proof, a proof that is cut, one of zeros, and what is no code at all.
    let other = code(
        &Browser::new(&host.base)
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await,
    );
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
    let asked =
        [&ada, &bob].map(|person| async { person.phone.waiting(0).await.expect("requests").len() });
    assert_eq!(
        futures_util::future::join_all(asked)
            .await
            .iter()
            .sum::<usize>(),
        1
    );
    refused(&link).await;

    // A login whose time is over.
    let late = code(
        &Browser::new(&host.base)
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await,
    );
    host.advance(3600);
    refused(&late).await;
}

#[tokio::test]
async fn a_code_that_somebody_else_shows_names_the_browser_that_it_comes_from() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    // A page that relays: it fetches our page with a browser of its own, and shows the code to Ada.
    let relay = Browser::new(&host.base);
    let login = relay
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    ada.phone.scan(&code(&login)).await.expect("taken");
    let request = &ada.phone.waiting(0).await.expect("requests")[0];
    assert_eq!(
        request.browser, "Firefox on Linux",
        "the relay's own, whatever Ada's says"
    );
    // To sign what the relay would rather have shown is of no use.
    let mut shown = request.clone();
    "Safari on iPhone".clone_into(&mut shown.browser);
    let waiting = relay.get(&login.url).await;
    let error = ada
        .phone
        .decide(&shown, Some(&waiting.number()))
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("invalid_proof"), "{error}");
}

#[tokio::test]
async fn a_person_who_may_not_sign_in_is_told_so_and_the_browser_is_not() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&ada.user)),
        json!({"state": "suspended"}),
    )
    .await;
    let error = ada
        .phone
        .scan(&code(&login))
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("user_inactive"), "{error}");
    assert_eq!(browser.get(&login.url).await.path(), login.path());
    assert!(
        browser.get(&login.url).await.body.contains("id=\"name\""),
        "it still asks who the person is"
    );
}

/// A login of Ada's application, in a browser of its own.
async fn begun(host: &TestHost, ada: &Ada) -> (Browser, Page) {
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    (browser, login)
}

#[tokio::test]
async fn whoever_floods_a_name_does_not_keep_its_owner_from_signing_in_by_a_scan_on_both_databases()
{
    for database in Database::BOTH {
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
                let (_, login) = begun(&host, &ada).await;
                let name = ["ada", "ada@example.org"][at % 2];
                refused +=
                    usize::from(login.submit(&login.path(), &[("name", name)]).await.status == 429);
            }
            refused
        };
        // Both names beyond their limits, and Ada had enough of it.
        assert!(flood(150).await > 0);
        let request = &ada.phone.waiting(5).await.expect("requests")[0];
        assert_eq!(
            ada.phone.not_me(request).await.expect("an outcome"),
            "reported"
        );
        assert!(
            ada.phone
                .cooldown_until()
                .await
                .expect("an answer")
                .is_some()
        );

        let (browser, login) = begun(&host, &ada).await;
        ada.phone.scan(&code(&login)).await.expect("taken");
        // Neither the cooldown nor requests with a typed name take it away from her.
        host.advance(70);
        ada.phone.lift_cooldown().await.expect("lifted");
        flood(10).await;
        let requests = ada.phone.waiting(0).await.expect("requests");
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
}

#[tokio::test]
async fn a_scan_gives_way_only_to_another_one_of_the_same_browser() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let (first, login) = begun(&host, &ada).await;
    ada.phone.scan(&code(&login)).await.expect("taken");
    let one = ada.phone.waiting(0).await.expect("requests")[0].clone();
    host.advance(1);
    let (_, other) = begun(&host, &ada).await;
    ada.phone.scan(&code(&other)).await.expect("taken");
    other.browser().get(&ada.application.request(&[])).await;
    let (_, typed) = begun(&host, &ada).await;
    typed.submit(&typed.path(), &[("name", "ada")]).await;
    let pending = ada.phone.waiting(0).await.expect("requests");
    assert_eq!((pending.len(), pending[0].id), (3, one.id));
    let tab = first
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    ada.phone.scan(&code(&tab)).await.expect("taken");
    assert_eq!(first.get(&login.url).await.outcome(), "replaced");
    let pending = ada.phone.waiting(0).await.expect("requests");
    assert!(pending.len() == 3 && pending.iter().all(|request| request.id != one.id));
}

/// The page that waits for a typed request shows the code too. A user who scans it signs in there, with another number.
#[tokio::test]
async fn the_code_of_a_page_that_waits_takes_the_place_of_its_typed_request() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for name in ["ada", "nobody"] {
        let (browser, login) = begun(&host, &ada).await;
        let waiting = login
            .submit(&login.path(), &[("name", name)])
            .await
            .followed()
            .await;
        let typed = ada.phone.waiting(0).await.expect("requests");
        let mut news = browser
            .stream(&format!("{}/events", waiting.path()))
            .await
            .bytes_stream();
        ada.phone.scan(&code(&waiting)).await.expect("taken");
        let first = tokio::time::timeout(std::time::Duration::from_secs(60), news.next())
            .await
            .expect("in time");
        assert!(
            String::from_utf8_lossy(&first.expect("an event").expect("read"))
                .contains("event: changed")
        );
        let scanned = waiting.again().await;
        assert_ne!(scanned.number(), waiting.number(), "{name}");
        let pending = ada.phone.waiting(0).await.expect("requests");
        assert_eq!(pending.len(), 1, "{name}");
        for request in &typed {
            let late = ada
                .phone
                .decide(request, Some(&waiting.number()))
                .await
                .expect_err("replaced");
            assert!(late.to_string().starts_with("already_decided"), "{late}");
        }
        ada.phone.scan(&code(&waiting)).await.expect_err("once");
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
    let (_, login) = begun(&host, &ada).await;
    let waiting = login
        .submit(&login.path(), &[("name", "ada")])
        .await
        .followed()
        .await;
    waiting
        .submit(&format!("{}/cancel", waiting.path()), &[])
        .await;
    let refused = ada
        .phone
        .scan(&code(&waiting))
        .await
        .expect_err("cancelled")
        .to_string();
    assert!(refused.starts_with("sign_in_not_found"), "{refused}");
}

#[tokio::test]
async fn a_device_scans_so_often_and_others_of_the_person_are_not_held_by_it() {
    let settings = "[rate_limits]\nactions_per_device = { per_minute = 1, burst = 2 }\n";
    let host = TestHost::start_with(HostOptions {
        settings,
        ..Default::default()
    })
    .await;
    let ada = host.ada().await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let (_, login) = begun(&host, &ada).await;
        told.push(
            ada.phone
                .scan(&code(&login))
                .await
                .map_err(|error| error.to_string()),
        );
    }
    assert!(told[..2].iter().all(Result::is_ok), "{told:?}");
    assert!(
        told[2]
            .as_ref()
            .is_err_and(|error| error.starts_with("too_many_sign_ins")),
        "{told:?}"
    );
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
    let shown = (
        look.application.as_str(),
        look.place.as_str(),
        look.browser.as_str(),
    );
    assert_eq!(shown, ("Books & <Co>", "This computer", "Firefox on Linux"));
    assert!(
        browser.get(&login.url).await.body.contains("id=\"name\""),
        "it still asks who the person is"
    );
    assert!(ada.phone.waiting(0).await.expect("requests").is_empty());
    ada.phone.scan(&link).await.expect("taken");
    let waiting = browser.get(&login.url).await;
    assert!(
        !waiting.body.contains("ada"),
        "the page need not know: {}",
        waiting.body
    );
    let error = ada
        .phone
        .look_at_login(&link)
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("sign_in_not_found"), "{error}");
}

#[tokio::test]
async fn a_browser_remembers_a_name_only_if_the_person_wants_it() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let again = async || {
        browser
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await
    };
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
        "nothing is remembered unasked"
    );
    assert_eq!(value(&again().await), "");

    let login = again().await;
    let answer = login
        .submit(&login.path(), &[("name", "ada"), ("remember", "yes")])
        .await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().expect("text");
    assert!(
        cookie.starts_with("assent-name=") && cookie.contains("HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    let page = again().await;
    assert_eq!(value(&page), "ada");
    assert!(page.body.contains("value=\"yes\" checked"));
    // What the application says goes before what the browser remembers.
    let hinted = browser
        .get(&ada.application.request(&[("login_hint", Some("bob"))]))
        .await
        .followed()
        .await;
    assert_eq!(value(&hinted), "bob");

    page.submit(&page.path(), &[("name", "ada")]).await;
    assert_eq!(value(&again().await), "", "and forgets it again");
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
}

/// Has the owner of this device scan the code of a login's page and type the number that the page then shows.
async fn scanned_and_approved(owner: &Ada, browser: &Browser, login: &Page) {
    owner.phone.scan(&code(login)).await.expect("taken");
    let waiting = browser.get(&login.url).await;
    let requests = owner.phone.waiting(5).await.expect("requests");
    assert_eq!(
        owner
            .phone
            .decide(&requests[0], Some(&waiting.number()))
            .await
            .expect("an outcome"),
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
async fn a_stranger_who_scans_somebodys_page_cannot_sign_its_browser_in_unnoticed() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let eve = host.person("eve", ada.application.clone()).await;
    // Eve sees Ada's screen: the code, and then the number.
    let (browser, login) = begun(&host, &ada).await;
    scanned_and_approved(&eve, &browser, &login).await;
    let page = browser.get(&login.url).await;
    assert!(
        page.status == StatusCode::OK
            && page.asks_to_confirm()
            && page.body.contains("<bdi>eve</bdi>"),
        "{}",
        page.body
    );
    assert!(!session_cookie(&page), "there is no session yet");
    assert!(
        browser.get("/").await.body.contains("href=\"/sign-in"),
        "nor elsewhere on this server"
    );

    // Only the page's own button continues: no forged form, and no token of another page or browser.
    let confirm = format!("{}/confirm", login.path());
    assert_eq!(
        browser
            .post(&confirm, &[("person", &page.person())])
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    let (other, others) = begun(&host, &ada).await;
    scanned_and_approved(&eve, &other, &others).await;
    let foreign = other.get(&others.url).await.person();
    let tab = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    scanned_and_approved(&eve, &browser, &tab).await;
    let of_tab = browser.get(&tab.url).await.person();
    for person in ["", foreign.as_str(), of_tab.as_str()] {
        let refused = page.submit(&confirm, &[("person", person)]).await;
        assert!(
            refused.location().path() == login.path() && !session_cookie(&refused),
            "{person}"
        );
    }
    let consent = format!("{}/consent", login.path());
    let token = [
        ("csrf", page.csrf()),
        ("person", page.person()),
        ("decision", "allow".to_owned()),
    ];
    let token: Vec<(&str, &str)> = token
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert!(!session_cookie(&browser.post(&consent, &token).await));
    assert!(browser.get(&login.url).await.asks_to_confirm());

    let eves = page.person();
    // Ada answers that it is not her, and signs in by the same page.
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
    let refused = page.submit(&confirm, &[("person", &eves)]).await;
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
async fn a_browser_that_knows_the_user_goes_on_after_a_scan_without_a_click() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    // By its session, which is the same user's.
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let login = browser
        .get(&ada.application.request(&[("prompt", Some("login"))]))
        .await
        .followed()
        .await;
    scanned_and_approved(&ada, &browser, &login).await;
    let page = browser.get(&login.url).await;
    assert!(
        !page.asks_to_confirm() && session_cookie(&page),
        "{}",
        page.body
    );
    // Another user's is none.
    let eve = host.person("eve", ada.application.clone()).await;
    let login = browser
        .get(&ada.application.request(&[("prompt", Some("login"))]))
        .await
        .followed()
        .await;
    scanned_and_approved(&eve, &browser, &login).await;
    assert!(browser.get(&login.url).await.asks_to_confirm());
    // By an earlier sign-in of this user there, after the end of its session.
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    host.advance(2 * 24 * 60 * 60);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
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
