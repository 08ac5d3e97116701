//! The pages for users: sign-in in each state, consent, errors, the portal, the authenticator and sign-out. The harness
//! removes `translate="no"` from pages; a test of its own counts these marks.

use std::collections::BTreeMap;

use super::compare::assert_snapshots;
use super::world::{World, shown_headers};
use crate::harness::{Browser, Page};

const LANGUAGES: [&str; 2] = ["en", "de"];

const PORTAL: [&str; 12] = [
    "/",
    "/devices",
    "/devices/add",
    "/devices/protection",
    "/devices/recovery-codes",
    "/sessions",
    "/consents",
    "/requests",
    "/activity",
    "/profile",
    "/nowhere",
    "/session/ended",
];

const PUBLIC: [&str; 9] = [
    "/",
    "/recover",
    "/recover/done",
    "/authenticator/",
    "/authenticator/manifest.webmanifest",
    "/admin",
    "/login/nothing",
    "/nowhere",
    "/connection",
];

struct Pages {
    language: &'static str,
    texts: BTreeMap<String, String>,
}

impl Pages {
    /// Adds a page.
    fn add(&mut self, name: &str, page: &Page) {
        let headers: String = shown_headers(&page.headers)
            .iter()
            .map(|header| header.clone() + "\n")
            .collect();
        let body = without_numbers(&page.body).replace("><", ">\n<");
        let text = format!("{}\n{headers}\n{body}\n", page.status.as_u16());
        let known = self
            .texts
            .insert(format!("{name}.{}.txt", self.language), text);
        assert!(known.is_none(), "{name} twice");
    }
}

fn file_name(path: &str) -> String {
    format!("path{}", path.replace(['/', '.', '?', '='], "_"))
}

#[tokio::test]
async fn users_see_the_same_pages_as_before() {
    let mut texts = BTreeMap::new();
    for language in LANGUAGES {
        let world = World::filled("").await;
        let mut pages = Pages {
            language,
            texts: BTreeMap::new(),
        };
        sign_in(&world, &mut pages).await;
        portal(&world, &mut pages).await;
        let normalised = pages
            .texts
            .iter()
            .map(|(name, text)| (name.clone(), world.normalised(text)));
        texts.extend(normalised.collect::<Vec<_>>());
    }
    assert_snapshots("pages", &texts);
}

async fn sign_in(world: &World, pages: &mut Pages) {
    let ada = world.test_user("ada", "books");
    let host = &world.host;
    let browser = Browser::reading(&host.base, pages.language);
    for path in PUBLIC {
        pages.add(
            &format!("public_{}", file_name(path)),
            &browser.get(path).await,
        );
    }
    let login = ada.application.login_page(&browser, &[]).await;
    pages.add("login", &login);
    pages.add(
        "login_invalid_name",
        &login.submit(&login.path(), &[("name", "two words")]).await,
    );
    pages.add("login_unknown_name", &login.submit_name("nobody").await);
    pages.add(
        "login_cancelled",
        &login.again().await.cancel().await.followed().await,
    );
    for state in ["expired", "denied", "reported"] {
        // Longer than the cooldown after a denial.
        host.advance(900);
        let browser = Browser::reading(&host.base, pages.language);
        let login = ada.application.login_page(&browser, &[]).await;
        let waiting = login.submit_name("ada").await;
        let requests = ada.device.pending_requests(5).await;
        let newest = requests.last().expect("a request");
        match state {
            "denied" => drop(ada.device.deny(newest).await),
            "reported" => {
                ada.device.submit_report(newest).await;
                ada.device.end_cooldown().await;
            }
            _ => host.advance(180),
        }
        pages.add(&format!("login_{state}"), &waiting.again().await);
    }
    host.advance(3600);
    let browser = Browser::reading(&host.base, pages.language);
    let consent = [
        ("prompt", Some("consent")),
        ("scope", Some("openid profile email phone address groups")),
    ];
    let login = ada.application.login_page(&browser, &consent).await;
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    pages.add("login_waiting", &waiting);
    let page = browser.get(&waiting.url).await;
    pages.add("consent", &page);
    pages.add("consent_denied", &page.decide("deny").await);
    let form = browser
        .get(
            &ada.application
                .request(&[("response_mode", Some("form_post"))]),
        )
        .await;
    pages.add("form_post", &form);
    let choice = ada
        .application
        .login_page(&browser, &[("prompt", Some("select_account"))])
        .await;
    pages.add("select_account", &choice);
    let request = ada
        .application
        .request(&[("redirect_uri", Some("https://evil.example/"))]);
    pages.add("error_redirect_uri", &browser.get(&request).await);
    let end = browser.get("/oidc/session/end").await;
    pages.add("sign_out", &end);
}

/// Replaces the matching number and the reference number of an error page.
fn without_numbers(body: &str) -> String {
    let mut body = body.to_owned();
    for (start, name) in [("id=\"number\">", "NN"), ("<code>", "REFERENCE")] {
        if let Some((before, rest)) = body.split_once(start) {
            let (_, after) = rest.split_once('<').expect("an end");
            body = format!("{before}{start}{name}<{after}");
        }
    }
    body
}

async fn portal(world: &World, pages: &mut Pages) {
    let ada = world.test_user("ada", "books");
    let browser = Browser::reading(&world.host.base, pages.language);
    world.host.advance(3600);
    let mut login = browser.get("/profile").await.followed().await;
    if login.status.is_redirection() {
        login = login.followed().await;
    }
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    browser.get(&waiting.url).await;
    for path in PORTAL {
        pages.add(
            &format!("portal_{}", file_name(path)),
            &browser.get(path).await,
        );
    }
}
