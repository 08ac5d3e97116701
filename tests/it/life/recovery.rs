//! Recovery codes: the way back for whoever has no authenticator any more.

use assent::authenticator::Authenticator;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{Ada, Browser, Database, Page, TestHost, Wish, id};

async fn codes(phone: &Authenticator) -> Vec<String> {
    let made = phone.ask(Method::POST, "/recovery-codes", None).await.expect("codes");
    serde_json::from_value(made["codes"].clone()).expect("a list")
}

async fn left(phone: &Authenticator) -> Value {
    phone.ask(Method::GET, "/devices", None).await.expect("devices")["recovery_codes"].clone()
}

/// Tries a code, in a browser of its own.
async fn tried(host: &TestHost, name: &str, code: &str) -> Page {
    let page = Browser::new(&host.base).get("/recover").await;
    page.submit("/recover", &[("name", name), ("code", code)]).await
}

/// The link that the page of a good code leads to.
fn link(page: &Page) -> String {
    let path = page.body.split("href=\"").find(|rest| rest.starts_with("/authenticator#enrol=")).expect("a link");
    format!("{}{}", page.origin().ascii_serialization(), path.split('"').next().expect("a link"))
}

#[tokio::test]
async fn a_code_enrols_another_device_once_and_the_others_are_told_on_both_databases() {
    for database in Database::BOTH {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let ada = host.ada().await;
        assert_eq!(left(&ada.phone).await, 0);
        let codes = codes(&ada.phone).await;
        let distinct: std::collections::BTreeSet<&String> = codes.iter().collect();
        assert_eq!((codes.len(), distinct.len(), left(&ada.phone).await), (10, 10, json!(10)));

        host.advance(1);
        let page = tried(&host, "Ada@Example.org", &codes[3].to_lowercase().replace('-', " ")).await;
        assert_eq!(page.status, StatusCode::OK, "{database:?}: {}", page.body);
        assert_eq!(page.headers[header::CACHE_CONTROL], "no-store");
        host.advance(1);
        let found = Authenticator::enrol(&link(&page), "New phone", None).await.expect("enrolled");
        let waiting = ada.ask(&Browser::new(&host.base), &[]).await;
        let request = &found.waiting(5).await.expect("requests")[0];
        assert_eq!(found.decide(request, Some(&waiting.number())).await.expect("an outcome"), "approved");
        assert_eq!(left(&found).await, 9);
        assert_eq!(tried(&host, "ada", &codes[3]).await.status, StatusCode::UNPROCESSABLE_ENTITY, "used");

        let answer = ada.phone.ask(Method::GET, "/requests", None).await.expect("an answer");
        assert_eq!(events(answer["news"].as_array().expect("news")), ["recovery.code-used", "device.enrolled"]);
        let told = entries(&host, &format!("user={}", id(&ada.user))).await;
        let about: Vec<&str> = events(&told).into_iter().filter(|event| event.starts_with("recovery")).collect();
        assert_eq!(about, ["recovery.codes-made", "recovery.code-used", "recovery.refused"]);
        let everything = super::erasure::everything(&host, database).await;
        for code in &codes {
            assert!(!everything.contains(code.as_str()) && !everything.contains(&code.replace('-', "")), "{code}");
        }
    }
}

#[tokio::test]
async fn fifty_at_once_with_one_code_are_one_on_both_databases() {
    for database in Database::BOTH {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let ada = host.ada().await;
        let code = codes(&ada.phone).await.remove(0);
        let tries = (0..50).map(|_| tried(&host, "ada", &code));
        let pages = futures_util::future::join_all(tries).await;
        let good: Vec<&Page> = pages.iter().filter(|page| page.status == StatusCode::OK).collect();
        assert_eq!(good.len(), 1, "{database:?}");
    }
}

#[tokio::test]
async fn what_is_not_this_persons_unused_code_is_refused_with_one_answer_for_all() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let bob = host.person("bob", ada.application.clone()).await;
    let (old, his) = (codes(&ada.phone).await, codes(&bob.phone).await);
    let new = codes(&ada.phone).await;
    host.advance(1);
    let without_token = |page: &Page| page.body.replace(&page.csrf(), "");
    let unknown = tried(&host, "nobody", &new[0]).await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = without_token(&unknown).replace("nobody", "ada");
    for wrong in [old[0].as_str(), his[0].as_str(), "0000-0000-0000-0000", "", "x", "ÄÖÜ\u{0}"] {
        let page = tried(&host, "ada", wrong).await;
        assert_eq!(
            (page.status, without_token(&page)),
            (StatusCode::UNPROCESSABLE_ENTITY, expected.clone()),
            "{wrong}"
        );
        assert!(wrong.len() < 2 || !page.body.contains(wrong), "what was typed is not shown again");
    }
    for name in ["", "a\u{0}b", &"a".repeat(5000)] {
        assert_eq!(tried(&host, name, &new[0]).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let escaped = tried(&host, "<script>alert(1)</script>", "x").await;
    assert!(!escaped.body.contains("<script>alert"), "{}", escaped.body);
    assert_eq!(left(&ada.phone).await, 10, "nothing was used up");
    assert_eq!(entries(&host, "event=recovery.refused").await.len(), 6, "none about names that nobody has");

    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"})).await;
    let page = tried(&host, "ada", &new[0]).await;
    assert_eq!((page.status, without_token(&page)), (StatusCode::UNPROCESSABLE_ENTITY, expected));
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"})).await;
    assert_eq!(tried(&host, "ada", &new[1]).await.status, StatusCode::UNPROCESSABLE_ENTITY, "they were taken away");
}

#[tokio::test]
async fn a_form_of_elsewhere_is_refused_and_whoever_guesses_is_held_up() {
    let settings = "[limits]\nfailures = { per_minute = 1, burst = 5 }\n";
    let host = TestHost::start_with(Wish { settings, ..Wish::default() }).await;
    let ada = host.ada().await;
    let codes = codes(&ada.phone).await;
    let browser = Browser::new(&host.base);
    let forged = browser.post("/recover", &[("name", "ada"), ("code", &codes[0]), ("csrf", "")]).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    for _ in 0..5 {
        assert_eq!(tried(&host, "ada", "0000-0000-0000-0000").await.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let held = tried(&host, "ada", &codes[0]).await;
    assert_eq!(held.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(held.headers.contains_key(header::RETRY_AFTER));
    host.advance(61);
    assert_eq!(tried(&host, "ada", &codes[0]).await.status, StatusCode::OK, "the code was not used up");
}

#[tokio::test]
async fn the_link_of_a_code_is_good_once_and_for_a_quarter_of_an_hour() {
    let host = TestHost::start().await;
    let ada: Ada = host.ada().await;
    let codes = codes(&ada.phone).await;
    let first = link(&tried(&host, "ada", &codes[0]).await);
    Authenticator::enrol(&first, "New phone", None).await.expect("enrolled");
    assert!(Authenticator::enrol(&first, "Newer phone", None).await.is_err());
    let late = link(&tried(&host, "ada", &codes[1]).await);
    host.advance(15 * 60 + 1);
    assert!(Authenticator::enrol(&late, "New phone", None).await.is_err());
}
