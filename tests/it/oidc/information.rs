//! The information about an application for its users (OpenID Connect Dynamic Client Registration 1.0 section 2): pages
//! and contacts on the consent page, and the logo that the server fetches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assent::domain::admin::{AdminContext, AdminError, SetLogo, UpdateClient};
use assent_model::id::Did;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::backchannel::PRIVATE;
use crate::harness::{
    Browser, Database, Json, LogoServer, Page, TestHost, TestUser, Text, get, id, png,
};

async fn consent_page(ada: &TestUser, browser: &Browser) -> Page {
    let waiting = ada.begin_sign_in(browser, &[]).await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    page
}

fn path_of(ada: &TestUser) -> String {
    format!("/applications/{}", ada.application.id)
}

/// Expects that a change is rejected because of a member. Returns the message.
async fn rejected(host: &TestHost, path: &str, member: &str, change: Value) -> String {
    let (status, answer) = host.admin(Method::PATCH, path, change.clone()).await;
    let what = format!("{change}: {answer}");
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{what}");
    let error = &answer["errors"][0];
    assert_eq!(error["pointer"], format!("/{member}"), "{what}");
    answer["detail"].text().to_owned()
}

#[both_databases]
async fn the_consent_page_shows_pages_with_their_hosts_and_contacts(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let page = consent_page(&ada, &browser).await;
    assert!(!page.body.contains("class=\"information"), "{}", page.body);

    let change = json!({
        "policy_uri": "https://privacy.example/?a=1&b='\"><script>alert(1)</script>#data",
        "tos_uri": "https://b\u{fc}cher.example:8443/terms",
        "client_uri": "http://localhost:3000/about",
        "contacts": ["\"Ops\" <ops@rp.example>", "<script>alert(2)</script>"],
    });
    let shown = host.admin_ok(Method::PATCH, &path_of(&ada), change).await;
    assert_eq!(shown["tos_uri"], "https://xn--bcher-kva.example:8443/terms");
    let page = browser.get(&page.url).await;
    let attributes = "target=\"_blank\" rel=\"noopener noreferrer\" referrerpolicy=\"no-referrer\"";
    let host_of = |host: &str| format!("<bdi class=\"muted\" dir=\"ltr\">{host}</bdi>");
    for link in [
        format!(
            "<a href=\"https://privacy.example/?a=1&#38;b=%27%22%3E%3Cscript%3Ealert(1)%3C/script%3E#data\" \
             {attributes}>Privacy policy</a> {}",
            host_of("privacy.example")
        ),
        format!(
            "<a href=\"https://xn--bcher-kva.example:8443/terms\" {attributes}>Terms of service</a> {}",
            host_of("xn--bcher-kva.example:8443")
        ),
        format!(
            "<a href=\"http://localhost:3000/about\" {attributes}>About this application</a> {}",
            host_of("localhost:3000")
        ),
        "<bdi>&#34;Ops&#34; &#60;ops@rp.example&#62;</bdi>".to_owned(),
        "<bdi>&#60;script&#62;alert(2)&#60;/script&#62;</bdi>".to_owned(),
    ] {
        assert!(page.body.contains(&link), "{link}: {}", page.body);
    }
    // Links need no permission of the policy.
    let policy = page.headers["content-security-policy"].text();
    for foreign in ["privacy.example", "cher-kva.example", "localhost:3000"] {
        assert!(!policy.contains(foreign), "{policy}");
    }

    let removal =
        json!({"policy_uri": null, "tos_uri": null, "client_uri": null, "contacts": null});
    let removed = host.admin_ok(Method::PATCH, &path_of(&ada), removal).await;
    assert_eq!(
        (&removed["policy_uri"], &removed["contacts"]),
        (&Value::Null, &json!([]))
    );
    let page = browser.get(&page.url).await;
    assert!(!page.body.contains("class=\"information"), "{}", page.body);
}

/// The page that only continues in a native application asks nothing about data.
#[tokio::test]
async fn the_page_without_a_question_shows_no_information() {
    let host = TestHost::start().await;
    let native = host.native_application().await;
    let path = format!("/applications/{}", native.id);
    let change = json!({"consent": "implied", "policy_uri": "https://privacy.example/"});
    host.admin_ok(Method::PATCH, &path, change).await;
    let ada = host.user_with_account("ada", native).await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let page = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    assert!(page.body.contains("Continue in"), "{}", page.body);
    assert!(!page.body.contains("privacy.example"), "{}", page.body);
}

#[tokio::test]
async fn other_addresses_and_unreadable_contacts_are_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = path_of(&ada);
    let long = format!("https://rp.example/{}", "a".repeat(2000));
    for member in ["policy_uri", "tos_uri", "client_uri"] {
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "http://rp.example/",
            "http://localhost.evil.example/",
            "https://rp.example@evil.example/",
            "ftp://rp.example/",
            "//evil.example/",
            "/privacy",
            "",
            &long,
        ] {
            let detail = rejected(&host, &path, member, json!({member: address})).await;
            assert!(detail.contains("starts with https://"), "{detail}");
        }
    }
    let eleven = vec!["support@rp.example"; 11];
    for contacts in [
        json!([""]),
        json!(["   "]),
        json!(["support@rp.example", "a\nb"]),
        json!(["support\u{202e}elpmaxe.pr@"]),
        json!(["support\u{2067}@rp.example"]),
        json!(["a".repeat(255)]),
        json!(eleven),
    ] {
        rejected(&host, &path, "contacts", json!({"contacts": contacts})).await;
    }
    let ten = json!({"contacts": vec!["a".repeat(254); 10]});
    host.admin_ok(Method::PATCH, &path, ten).await;
}

#[both_databases]
async fn the_logo_of_an_address_is_stored_and_served_here(database: Database) {
    let host = TestHost::start_on_with(database, PRIVATE).await;
    let ada = host.ada().await;
    let logos = LogoServer::start().await;
    let path = path_of(&ada);
    let logo = format!("{path}/logo");
    let browser = Browser::new(&host.base);
    let change = json!({"logo_uri": logos.address("first")});
    host.admin_ok(Method::PATCH, &path, change).await;
    let page = consent_page(&ada, &browser).await;
    let known = host.admin_ok(Method::GET, &logo, Value::Null).await;
    let url = known["url"].text().to_owned();
    assert!(
        page.body
            .contains(&format!("<img class=\"app-logo\" src=\"{url}\"")),
        "{}",
        page.body
    );
    let origin = logos.address("").trim_end_matches('/').to_owned();
    let policy = page.headers["content-security-policy"].text();
    assert!(!page.body.contains(&origin), "{}", page.body);
    assert!(!policy.contains(&origin), "{policy}");
    let image = get(format!("{}{url}", host.base)).await;
    assert_eq!(image.headers()["content-type"], "image/png");
    assert_eq!(image.bytes().await.expect("an image"), png(1));

    // Only a new address is fetched.
    let same = json!({"logo_uri": logos.address("first"), "slim_id_token": true});
    host.admin_ok(Method::PATCH, &path, same).await;
    assert_eq!(logos.requests(), 1, "{database:?}");
    let other = json!({"logo_uri": logos.address("second")});
    host.admin_ok(Method::PATCH, &path, other).await;
    assert_eq!(logos.requests(), 2);
    let second = host.admin_ok(Method::GET, &logo, Value::Null).await;
    assert_ne!(second["url"], known["url"]);

    // The image is always the one of the address.
    let (status, problem) = host.admin(Method::DELETE, &logo, Value::Null).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    assert!(problem["detail"].text().contains("remove logo_uri first"));
    let removed = host
        .admin_ok(Method::PATCH, &path, json!({"logo_uri": null}))
        .await;
    assert_eq!(removed["logo_uri"], Value::Null);
    let (status, _) = host.admin(Method::GET, &logo, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let page = browser.get(&page.url).await;
    assert!(page.body.contains("class=\"initial\""), "{}", page.body);
}

#[tokio::test]
async fn a_new_application_has_the_logo_of_its_address_or_is_not_created() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let logos = LogoServer::start().await;
    let application = |name: &str| {
        json!({"name": "Wiki", "application_type": "web", "redirect_uris": ["https://wiki.example/cb"],
               "logo_uri": logos.address(name)})
    };
    let wiki = host
        .admin_ok(Method::POST, "/applications", application("first"))
        .await;
    let logo = format!("/applications/{}/logo", id(&wiki));
    let known = host.admin_ok(Method::GET, &logo, Value::Null).await;
    assert_eq!(known["bytes"], 9);
    let (status, answer) = host
        .admin(Method::POST, "/applications", application("missing"))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let all = host
        .admin_ok(Method::GET, "/applications", Value::Null)
        .await;
    let named = all["items"].items().iter();
    let named = named.filter(|application| application["name"] == "Wiki");
    assert_eq!(named.count(), 1, "{all}");
}

#[tokio::test]
async fn an_address_without_a_logo_is_rejected_and_nothing_is_stored() {
    let host = TestHost::start_with_settings(PRIVATE).await;
    let ada = host.ada().await;
    let logos = LogoServer::start().await;
    let path = path_of(&ada);
    for (name, reason) in [
        ("redirect", "it redirects to another address"),
        ("large", "expected an image of 64 KiB at most"),
        ("svg", "expected an image in PNG, JPEG or WebP format"),
        ("page", "expected an image in PNG, JPEG or WebP format"),
        ("empty", "expected an image in PNG, JPEG or WebP format"),
        ("missing", "answered with the status 404"),
    ] {
        let change =
            json!({"logo_uri": logos.address(name), "policy_uri": "https://rp.example/privacy"});
        let detail = rejected(&host, &path, "logo_uri", change).await;
        assert!(detail.contains(reason), "{name}: {detail}");
    }
    assert_eq!(logos.requests(), 6, "no redirect is followed");
    let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (&shown["logo_uri"], &shown["policy_uri"]),
        (&Value::Null, &Value::Null)
    );
    let (status, _) = host
        .admin(Method::GET, &format!("{path}/logo"), Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn no_logo_is_fetched_from_a_private_address_or_without_https() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let logos = LogoServer::start().await;
    let path = path_of(&ada);
    let local = logos.address("first");
    let secure = local.replacen("http://", "https://", 1);
    for address in [
        local.as_str(),
        &secure,
        "http://rp.example/logo.png",
        "https://127.0.0.1/logo.png",
        "https://10.0.0.1/logo.png",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/logo.png",
        "https://[fd00::1]/logo.png",
        "https://ada:secret@rp.example/logo.png",
        "data:image/png;base64,iVBORw0KGgo=",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "",
    ] {
        rejected(&host, &path, "logo_uri", json!({"logo_uri": address})).await;
    }
    assert_eq!(logos.requests(), 0);
}

/// An upload and a new `logo_uri` at the same time: the later one decides with the state after the earlier one.
#[both_databases]
async fn an_upload_never_replaces_the_logo_of_an_address(database: Database) {
    let host = TestHost::start_on_with(database, PRIVATE).await;
    let ada = host.ada().await;
    let logos = LogoServer::start().await;
    let path = path_of(&ada);
    let application: Did = ada.application.id.parse().expect("a DID");
    let context = AdminContext::of_operator(Arc::clone(&host.host));
    let digest = async || {
        let known = host.host.store.logo_digest(&application).await;
        known.expect("a digest")
    };
    let image = |byte: u8| SetLogo {
        application: application.clone(),
        image: png(byte),
    };
    // The address has the image that was uploaded before, so the address changes no logo.
    context.run(&image(1)).await.expect("a logo");
    let before = digest().await;
    let address = json!({"logo_uri": logos.address("first")});
    let is_changed = AtomicBool::new(false);
    let once = async |change: Value| {
        if !is_changed.swap(true, Ordering::Relaxed) {
            host.admin_ok(Method::PATCH, &path, change).await;
        }
    };
    let upload = context
        .run_with(&image(2), async || once(address.clone()).await)
        .await;
    assert!(
        matches!(upload, Err(AdminError::Conflict(why)) if why.contains("remove logo_uri first")),
        "{database:?}: {upload:?}"
    );
    assert_eq!(digest().await, before, "{database:?}");
    // An upload after the plan of a new address: the address is planned again, and its image replaces the upload.
    let removed = json!({"logo_uri": null});
    host.admin_ok(Method::PATCH, &path, removed).await;
    let update = UpdateClient {
        application: application.clone(),
        change: serde_json::from_value(address).expect("a change"),
    };
    let (plans, requests) = (AtomicUsize::new(0), logos.requests());
    let uploaded = async || {
        if plans.fetch_add(1, Ordering::Relaxed) == 0 {
            context.run(&image(2)).await.expect("a logo");
        }
    };
    let updated = context.run_with(&update, uploaded).await;
    assert!(updated.is_ok(), "{database:?}: {updated:?}");
    assert_eq!(plans.load(Ordering::Relaxed), 2, "{database:?}");
    assert_eq!(logos.requests(), requests + 2, "{database:?}");
    assert_eq!(digest().await, before, "{database:?}");
}
