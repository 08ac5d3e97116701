//! SAML: metadata, sign-on and logout.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use super::Log;
use crate::harness::{Browser, Page, http_client};
use crate::saml::service_provider::{Response, TestServiceProvider, identify, instant};
use crate::snapshots::compare::assert_snapshots;
use crate::snapshots::world::World;

const FORMATS: [&str; 5] = [
    "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
    "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
    "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
    "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
    "urn:oasis:names:tc:SAML:2.0:nameid-format:entity",
];

/// Follows the redirects of this instance.
async fn followed(mut page: Page) -> Page {
    while page.status.is_redirection() {
        page = page.followed().await;
    }
    page
}

/// Writes a page, and the SAML response in it.
fn write(log: &mut Log, title: &str, page: &Page) {
    log.page(title, page);
    if page.body.contains("SAMLResponse") {
        let xml = Response::from_page(page).xml.replace("><", ">\n<");
        log.text.push_str(&format!("{xml}\n\n"));
        // The form has the same message in base64.
        let start = log
            .text
            .rfind("name=\"SAMLResponse\" value=\"")
            .expect("the field");
        let (before, rest) = log.text.split_at(start);
        let (_, value) = rest.split_once("value=\"").expect("a value");
        let (_, after) = value.split_once('"').expect("an end");
        log.text = format!("{before}name=\"SAMLResponse\" value=\"<message>\"{after}");
    }
}

#[tokio::test]
async fn service_providers_receive_the_same_as_before() {
    let mut world = World::filled("").await;
    let settings = json!({"custom_attributes": [{"name": "team", "values": ["{email}", "x"]}],
        "other_name_id_formats": ["persistent", "transient"], "idp_initiated": true});
    let provider = TestServiceProvider::register(&world.host, settings).await;
    world.store("engines", &provider.id);
    let path = format!("/applications/{}/accounts", provider.id);
    let account = json!({"user_id": world.value("ada"), "roles": ["reader"]});
    world.host.admin_ok(Method::POST, &path, account).await;
    let mut log = Log::new();
    for path in [
        format!("/sso/metadata/{}", provider.id),
        "/sso/metadata/nothing".to_owned(),
    ] {
        log.send(
            &path,
            http_client().get(format!("{}{path}", world.host.base)),
        )
        .await;
    }
    let metadata = log.finish(&world);
    let mut log = Log::new();
    sign_on(&world, &provider, &mut log).await;
    let texts = BTreeMap::from([
        ("metadata.txt".to_owned(), metadata),
        ("sign_on.txt".to_owned(), log.finish(&world)),
    ]);
    assert_snapshots("clients/saml", &texts);
}

async fn sign_on(world: &World, provider: &TestServiceProvider, log: &mut Log) {
    let (host, base) = (&world.host, &world.host.base);
    let mut ada = world.test_user("ada", "wiki");
    ada.application = provider.application();
    let browser = Browser::new(base);
    let page = provider
        .sign_in(&ada, &browser, &provider.request(host))
        .await;
    write(log, "a sign-in", &page);
    for format in FORMATS {
        host.advance(1);
        let request = provider.request(host).name_id(format);
        let page = followed(provider.begin_raw(&browser, &request).await).await;
        write(log, &format!("NameID {format}"), &page);
    }
    let request = || provider.request(host);
    let stranger = Browser::new(base);
    for (title, request) in [
        ("IsPassive", request().with("IsPassive", "true")),
        ("ForceAuthn", request().with("ForceAuthn", "true")),
        (
            "another ACS",
            request().with("AssertionConsumerServiceURL", "https://evil.example/acs"),
        ),
        (
            "another binding",
            request().with(
                "ProtocolBinding",
                "urn:oasis:names:tc:SAML:2.0:bindings:SOAP",
            ),
        ),
        (
            "an unknown index",
            request().with("AssertionConsumerServiceIndex", "9"),
        ),
        ("another issuer", {
            let mut request = request();
            request.issuer = "https://evil.example".to_owned();
            request
        }),
        ("another destination", {
            let mut request = request();
            request.destination = Some("https://evil.example".to_owned());
            request
        }),
        ("an old request", {
            let mut request = request();
            request.issue_instant = instant(host, -3600);
            request
        }),
    ] {
        let first = provider.begin_raw(&stranger, &request).await;
        write(log, title, &first);
        if first.status.is_redirection() {
            write(log, &format!("{title}, then"), &first.followed().await);
        }
    }
    for query in [
        "",
        "?SAMLRequest=x",
        "?SAMLRequest=x&SigAlg=y&Signature=z",
        "?RelayState=a",
    ] {
        let page = stranger
            .get(&format!("{}{query}", provider.sign_on()))
            .await;
        write(log, &format!("query {query:?}"), &page);
    }
    // A denial.
    let first = provider
        .begin_raw(&Browser::new(base), &provider.request(host))
        .await;
    let login = followed(first).await;
    let waiting = identify(&ada, &login).await;
    let requests = ada.device.pending_requests(5).await;
    ada.device.deny(requests.last().expect("a request")).await;
    let ended = waiting.again().await;
    write(log, "denied", &ended.leave().await);
}
