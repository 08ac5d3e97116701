//! Sign-out pages of applications in hidden frames (OpenID Connect Front-Channel Logout 1.0).

use std::collections::BTreeMap;
use std::time::Duration;

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use super::backchannel::{PRIVATE, Receiver, register};
use crate::harness::{Application, Browser, Database, Page, TestHost, TestUser, Text, jwt_claims};

const AFTER: &str = "https://rp.example/signed-out";
const LOGOUT_PAGE: &str = "https://rp.example/logout?from=a%26b";

/// Ada, who is signed in to the application “Books” with a browser, and can sign in to the application “Tools”.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    tools: Application,
    browser: Browser,
}

impl Fixture {
    async fn new() -> Self {
        Self::on(Database::Sqlite, "").await
    }

    async fn on(database: Database, settings: &str) -> Self {
        let host = TestHost::start_on_with(database, settings).await;
        let ada = host.ada().await;
        let tools = host.web_application().await;
        host.account(&ada.user, &tools).await;
        for (application, name) in [(&ada.application, "Books"), (&tools, "Tools")] {
            let uris = json!({
                "name": name,
                "consent": "implied",
                "post_logout_redirect_uris": [AFTER],
            });
            change(&host, application, uris).await;
        }
        let browser = Browser::new(&host.base);
        ada.sign_in(&browser).await;
        Self {
            host,
            ada,
            tools,
            browser,
        }
    }

    /// Signs Ada in to the second application with her session.
    async fn use_tools(&self) {
        let page = self.browser.get(&self.tools.request(&[])).await;
        assert!(!page.parameter("code").is_empty());
    }

    async fn sign_out(&self) -> Page {
        let home = self.browser.get("/").await;
        home.submit("/sign-out", &[]).await.followed().await
    }
}

async fn change(host: &TestHost, application: &Application, change: Value) {
    let path = format!("/applications/{}", application.id);
    host.admin_ok(Method::PATCH, &path, change).await;
}

async fn with_page(host: &TestHost, application: &Application) {
    change(
        host,
        application,
        json!({"frontchannel_logout_uri": LOGOUT_PAGE}),
    )
    .await;
}

/// Returns the key of the frame of an application, with which the script of the page reports it.
pub fn frame_key<'p>(page: &'p Page, application: &str) -> &'p str {
    let named = format!("\" data-application=\"{application}\"");
    let (before, _) = page.body.split_once(&named).expect("the application");
    let (_, key) = before.rsplit_once("data-frame=\"").expect("a key");
    key
}

/// Returns the addresses of the page's frames, by application.
fn frames(page: &Page) -> BTreeMap<String, Url> {
    let mut items = page.body.split("data-application=\"");
    items.next();
    items
        .map(|item| {
            let (application, rest) = item.split_once('"').expect("an application");
            let (_, rest) = rest.split_once("data-address=\"").expect("an address");
            let address = rest
                .split('"')
                .next()
                .expect("its end")
                .replace("&#38;", "&");
            // Without scripts, the same address is in a frame.
            assert!(rest.contains("<noscript><iframe"), "{rest}");
            (application.to_owned(), address.parse().expect("an address"))
        })
        .collect()
}

fn parameter(address: &Url, name: &str) -> String {
    let values: Vec<String> = address
        .query_pairs()
        .filter(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
        .collect();
    assert_eq!(values.len(), 1, "{name} in {address}");
    values[0].clone()
}

/// Returns the names in a list of the page.
fn list<'a>(page: &'a Page, name: &str) -> Vec<&'a str> {
    let Some((_, rest)) = page.body.split_once(&format!("data-list=\"{name}\"")) else {
        return Vec::new();
    };
    let mut names: Vec<&str> = rest
        .split("</ul>")
        .next()
        .expect("the list")
        .split("<bdi>")
        .skip(1)
        .map(|item| item.split("</bdi>").next().expect("a name"))
        .collect();
    names.sort_unstable();
    names
}

/// Reports the frames of these applications as loaded, as the script of the page does.
async fn report(page: &Page, loaded: &[&str]) -> Page {
    let keys: Vec<&str> = loaded.iter().map(|id| frame_key(page, id)).collect();
    report_keys(page, &keys).await
}

async fn report_keys(page: &Page, keys: &[&str]) -> Page {
    let mut address = Url::parse(&page.url).expect("an address");
    address
        .query_pairs_mut()
        .append_pair("loaded", &keys.join(" "));
    page.browser().get(address.as_str()).await
}

#[tokio::test]
async fn the_uri_has_the_origin_of_a_redirect_uri() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let uris = json!({"redirect_uris": ["https://rp.example/cb", "http://127.0.0.1:8250/cb", "https://[::1]/cb"]});
    change(&host, &application, uris).await;
    let path = format!("/applications/{}", application.id);
    for uri in [
        "https://rp.example/logout",
        "https://rp.example:443/logout?from=assent",
        "http://127.0.0.1:8250/logout",
    ] {
        let change = json!({"frontchannel_logout_uri": uri});
        host.admin_ok(Method::PATCH, &path, change).await;
    }
    let (unfit, foreign) = (
        "expected an address that starts with https://",
        "of a redirect URI",
    );
    for (uri, words) in [
        ("javascript:alert(1)", unfit),
        ("data:text/html,x", unfit),
        ("com.example.app:/logout", unfit),
        ("/logout", unfit),
        ("", unfit),
        ("http://rp.example/logout", unfit),
        ("https://rp.example/logout#here", unfit),
        ("https://rp.example/logout#", unfit),
        ("https://ada@rp.example/logout", unfit),
        ("https://ada:secret@rp.example/logout", unfit),
        ("https://rp.example@evil.example/logout", unfit),
        ("https://rp.example/logout?sid=mine", unfit),
        ("https://rp.example/logout?x=1&iss=mine", unfit),
        ("https://[::1]/logout", unfit),
        ("https://evil.example/logout", foreign),
        ("https://rp.example.evil.example/logout", foreign),
        ("https://sub.rp.example/logout", foreign),
        ("https://rp.example:8443/logout", foreign),
        ("http://127.0.0.1:8251/logout", foreign),
        ("https://127.0.0.1:8250/logout", foreign),
        // Some parsers of addresses reject these hosts.
        ("https://*.example/logout", ""),
        ("https://rp.example;script-src/logout", ""),
    ] {
        let change = json!({"frontchannel_logout_uri": uri});
        let (status, answer) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{uri}: {answer}");
        assert_eq!(answer["errors"][0]["pointer"], "/frontchannel_logout_uri");
        assert!(answer["detail"].text().contains(words), "{uri}: {answer}");
    }
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        shown["frontchannel_logout_uri"],
        "http://127.0.0.1:8250/logout"
    );
}

#[tokio::test]
async fn the_uri_keeps_its_origin_registered_until_null_removes_it() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    let required = json!({"frontchannel_logout_session_required": true});
    let (status, answer) = host.admin(Method::PATCH, &path, required.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert!(
        answer["detail"]
            .text()
            .contains("a frontchannel_logout_uri with it")
    );
    with_page(&host, &application).await;
    change(&host, &application, required).await;
    let elsewhere = json!({"redirect_uris": ["https://other.example/cb"]});
    let (status, answer) = host.admin(Method::PATCH, &path, elsewhere.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (
            &shown["frontchannel_logout_uri"],
            &shown["frontchannel_logout_session_required"]
        ),
        (&json!(LOGOUT_PAGE), &json!(true))
    );
    change(
        &host,
        &application,
        json!({"frontchannel_logout_uri": null}),
    )
    .await;
    change(&host, &application, elsewhere).await;
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (
            &shown["frontchannel_logout_uri"],
            &shown["frontchannel_logout_session_required"]
        ),
        (&Value::Null, &json!(false))
    );
}

#[both_databases]
async fn a_sign_out_loads_the_page_of_each_application_of_the_session(database: Database) {
    let it = Fixture::on(database, "").await;
    with_page(&it.host, &it.ada.application).await;
    with_page(&it.host, &it.tools).await;
    it.use_tools().await;
    let page = it.sign_out().await;
    assert!(page.path().starts_with("/sso/logout/"), "{}", page.url);
    assert_eq!(page.headers["cache-control"], "no-store");
    let policy = page.headers["content-security-policy"].text();
    assert!(
        policy.contains("; frame-src https://rp.example; form-action 'none';"),
        "{policy}"
    );
    let frames = frames(&page);
    assert_eq!(frames.len(), 2, "{}", page.body);
    for application in [&it.ada.application, &it.tools] {
        let address = &frames[&application.id];
        assert!(address.as_str().starts_with(LOGOUT_PAGE), "{address}");
        assert_eq!(parameter(address, "iss"), it.host.issuer());
        assert!(!parameter(address, "sid").is_empty());
    }
    // The session has ended already, and a reload shows the frames again.
    assert!(!it.browser.get("/").await.body.contains("Hello,"));
    assert_eq!(self::frames(&page.again().await), frames);

    let end = report(&page, &[&it.tools.id]).await;
    assert!(end.body.contains("You are signed out"), "{}", end.body);
    assert_eq!(list(&end, "loaded"), ["Tools"]);
    assert_eq!(list(&end, "unconfirmed"), ["Books"]);
    assert!(
        end.body.contains("browsers often block the cookies"),
        "{}",
        end.body
    );
    // The end is repeated for 30 seconds. A later report changes nothing.
    let again = report(&page, &[&it.ada.application.id]).await;
    assert_eq!(list(&again, "loaded"), ["Tools"]);
    it.host.advance(31);
    assert_eq!(page.again().await.location().path(), "/session/ended");
}

#[tokio::test]
async fn the_sid_is_that_of_the_id_token() {
    for subject_type in ["public", "pairwise"] {
        let host = TestHost::start().await;
        let ada = host.ada().await;
        with_page(&host, &ada.application).await;
        change(
            &host,
            &ada.application,
            json!({"subject_type": subject_type}),
        )
        .await;
        let browser = Browser::new(&host.base);
        let tokens = ada.tokens(&host, &browser).await;
        let claims = jwt_claims(tokens["id_token"].text());
        let home = browser.get("/").await;
        let page = home.submit("/sign-out", &[]).await.followed().await;
        let address = &frames(&page)[&ada.application.id];
        assert_eq!(claims["sid"], parameter(address, "sid"), "{subject_type}");
        assert_eq!(claims["iss"], parameter(address, "iss"));
    }
}

#[tokio::test]
async fn an_application_gets_its_user_back_after_the_frames_or_their_time() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let end = format!(
        "/oidc/session/end?client_id={}&post_logout_redirect_uri={AFTER}&state=s%26t",
        it.ada.application.id
    );
    let back = format!("{AFTER}?state=s%26t");
    for is_reported in [true, false] {
        let question = it.browser.get(&end).await;
        let (_, sealed) = question
            .body
            .split_once("name=\"request\" value=\"")
            .expect("a request");
        let sealed = sealed
            .split('"')
            .next()
            .expect("its end")
            .replace("&#38;", "&");
        let answer = [("request", sealed.as_str()), ("answer", "yes")];
        let page = question
            .submit("/session/end", &answer)
            .await
            .followed()
            .await;
        assert!(
            page.body.contains("http-equiv=\"refresh\" content=\"5\""),
            "{}",
            page.body
        );
        assert_eq!(frames(&page).len(), 1);
        let next = if is_reported {
            report(&page, &[&it.ada.application.id]).await
        } else {
            it.host.advance(4);
            assert_eq!(
                frames(&page.again().await).len(),
                1,
                "its time has not expired"
            );
            it.host.advance(1);
            page.again().await
        };
        assert_eq!(next.location().as_str(), back, "{is_reported}");
        it.host.advance(60);
        it.ada.sign_in(&it.browser).await;
    }
}

#[tokio::test]
async fn only_enabled_applications_of_the_session_have_frames() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    with_page(&it.host, &it.tools).await;
    // Ada used the other application in another browser only.
    let elsewhere = Browser::new(&it.host.base);
    let waiting = it
        .tools
        .login_page(&elsewhere, &[])
        .await
        .submit_name("ada")
        .await;
    it.ada.approve(&waiting).await;
    elsewhere.finish(&waiting.url).await;
    let page = it.sign_out().await;
    assert!(frames(&page).keys().eq([&it.ada.application.id]));
    assert!(!page.body.contains("Tools"), "{}", page.body);
    // No browser is sent to a disabled application.
    change(&it.host, &it.tools, json!({"enabled": false})).await;
    let home = elsewhere.get("/").await;
    let out = home.submit("/sign-out", &[]).await;
    assert_eq!(out.location().path(), "/session/ended");
}

#[tokio::test]
async fn an_application_that_is_disabled_meanwhile_has_no_frame() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let page = it.sign_out().await;
    assert_eq!(frames(&page).len(), 1);
    change(&it.host, &it.ada.application, json!({"enabled": false})).await;
    let page = page.again().await;
    assert!(frames(&page).is_empty());
    assert_eq!(list(&page, "unconfirmed"), ["Books"]);
}

#[tokio::test]
async fn only_the_browser_of_the_session_sees_frames_and_names() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let page = it.sign_out().await;
    let other = Browser::new(&it.host.base);
    for address in [
        page.url.clone(),
        format!(
            "{}?loaded={}",
            page.url,
            frame_key(&page, &it.ada.application.id)
        ),
    ] {
        let peeked = other.get(&address).await;
        assert_eq!(peeked.location().path(), "/session/ended");
    }
    assert_eq!(
        frames(&page.again().await).len(),
        1,
        "the other browser ended nothing"
    );
    // A report without known keys is a report that no frame was loaded.
    let client = it.ada.application.id.as_str();
    let end = report_keys(&page, &["nonsense", client, "\"><script>"]).await;
    assert_eq!(list(&end, "unconfirmed"), ["Books"]);
}

#[tokio::test]
async fn a_report_before_the_page_was_shown_does_not_skip_the_frames() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let home = it.browser.get("/").await;
    let location = home.submit("/sign-out", &[]).await.location();
    let early = it.browser.get(&format!("{location}?loaded=")).await;
    assert_eq!(frames(&early).len(), 1, "{}", early.body);
}

/// A browser may have held two sessions with one application, and each has a frame and a result of its own.
#[both_databases]
async fn each_session_of_an_application_has_its_own_report(database: Database) {
    let it = Fixture::on(database, "").await;
    with_page(&it.host, &it.ada.application).await;
    let other = Browser::new(&it.host.base);
    it.ada.sign_in(&other).await;
    let sid = |page: &Page| parameter(&frames(page)[&it.ada.application.id], "sid");
    let first = it.sign_out().await;
    let home = other.get("/").await;
    let second = home.submit("/sign-out", &[]).await.followed().await;
    assert_ne!(sid(&first), sid(&second), "{database:?}");
    let client = &it.ada.application.id;
    let keys = [&first, &second].map(|page| frame_key(page, client).to_owned());
    assert_ne!(keys[0], keys[1], "{database:?}");
    // The key of one session reports nothing about the other one.
    let end = report_keys(&first, &[&keys[1]]).await;
    assert_eq!(list(&end, "unconfirmed"), ["Books"], "{database:?}");
    let end = report_keys(&second, &[&keys[1]]).await;
    assert_eq!(list(&end, "loaded"), ["Books"], "{database:?}");
}

/// An application that accepts the logout token has confirmed the sign-out. Others have not.
#[both_databases]
async fn the_page_lists_what_the_back_channel_confirmed(database: Database) {
    let it = Fixture::on(database, PRIVATE).await;
    let mut receiver = Receiver::start().await;
    register(&it.host, &it.tools, &receiver, "200").await;
    with_page(&it.host, &it.ada.application).await;
    it.use_tools().await;
    let mut page = it.sign_out().await;
    receiver.next().await;
    // The outcome is stored after the response of the application.
    for _ in 0..100 {
        if !list(&page, "confirmed").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        page = page.again().await;
    }
    assert_eq!(list(&page, "confirmed"), ["Tools"], "{}", page.body);
    let end = report(&page, &[&it.ada.application.id]).await;
    assert_eq!(list(&end, "confirmed"), ["Tools"]);
    assert_eq!(list(&end, "loaded"), ["Books"]);
    assert!(list(&end, "unconfirmed").is_empty());
}

#[tokio::test]
async fn a_rejected_logout_token_is_no_confirmation() {
    let it = Fixture::on(Database::Sqlite, PRIVATE).await;
    let mut receiver = Receiver::start().await;
    register(&it.host, &it.tools, &receiver, "400").await;
    with_page(&it.host, &it.ada.application).await;
    it.use_tools().await;
    let page = it.sign_out().await;
    receiver.next().await;
    let end = report(&page, &[]).await;
    assert_eq!(list(&end, "unconfirmed"), ["Books", "Tools"]);
}

/// A sign-out of another browser cannot load the page there, so the portal says so.
#[tokio::test]
async fn the_portal_says_that_other_browsers_may_still_be_signed_in() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let elsewhere = Browser::new(&it.host.base);
    it.ada.sign_in(&elsewhere).await;
    let page = it.browser.get("/sessions").await;
    let ended = page
        .submit("/sessions/end-others", &[])
        .await
        .followed()
        .await;
    assert!(
        ended.body.contains("Some applications cannot be notified"),
        "{}",
        ended.body
    );
    assert!(!elsewhere.get("/").await.body.contains("Hello,"));
}

#[tokio::test]
async fn a_deleted_application_has_no_frame_and_no_name() {
    let it = Fixture::new().await;
    with_page(&it.host, &it.ada.application).await;
    let page = it.sign_out().await;
    let path = format!("/applications/{}", it.ada.application.id);
    it.host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(page.again().await.location().path(), "/session/ended");
}
