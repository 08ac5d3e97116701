//! Single logout that a service provider or the server itself begins.

use assent_saml_core::message::{Header, LogoutRequest, LogoutResponse, NameId, Status};
use assent_saml_core::xml::Document;
use assent_saml_core::xml::XmlLimits;
use assent_store::sql;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::schema::validate;
use super::service_provider::{ENTITY_ID, Response, SLO, TestServiceProvider};
use crate::harness::{Browser, Page, TestHost, TestUser, Text};

pub(super) const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
pub(super) const PARTIAL: &str = "urn:oasis:names:tc:SAML:2.0:status:PartialLogout";

/// The data of a session at a service provider.
pub(super) struct SessionRecord {
    pub(super) name: String,
    pub(super) format: String,
    pub(super) index: String,
}

/// Signs Ada in to a service provider. Returns the session data that the service provider received.
pub(super) async fn signed_in(
    service_provider: &TestServiceProvider,
    ada: &TestUser,
    browser: &Browser,
    host: &TestHost,
) -> SessionRecord {
    let login = service_provider
        .begin(browser, &service_provider.request(host), None)
        .await;
    let page = if login.body.contains("SAMLResponse") {
        login
    } else {
        let waiting = super::service_provider::identify(ada, &login).await;
        ada.approve(&waiting).await;
        browser.finish(&waiting.url).await
    };
    let response = Response::from_page(&page);
    SessionRecord {
        name: response.text("NameID").to_owned(),
        format: response.attribute("NameID", "Format").to_owned(),
        index: response
            .attribute("AuthnStatement", "SessionIndex")
            .to_owned(),
    }
}

pub(super) fn request(
    service_provider: &TestServiceProvider,
    host: &TestHost,
    known: &SessionRecord,
) -> LogoutRequest {
    LogoutRequest {
        header: header(service_provider, host),
        not_on_or_after: None,
        name_id: NameId {
            value: known.name.clone(),
            format: Some(known.format.clone()),
            name_qualifier: None,
            sp_name_qualifier: None,
        },
        session_indexes: vec![known.index.clone()],
        reason: None,
    }
}

pub(super) fn header(service_provider: &TestServiceProvider, host: &TestHost) -> Header {
    Header {
        id: service_provider.request(host).id,
        issuer: Some(service_provider.entity_id.clone()),
        issue_instant: host.host.now(),
        destination: Some(format!("{}{}", host.base, service_provider.single_logout())),
    }
}

/// Sends the request by redirect, with a signature.
pub(super) async fn send(
    service_provider: &TestServiceProvider,
    browser: &Browser,
    request: &LogoutRequest,
    relay_state: Option<&str>,
) -> Page {
    let xml = request.write(None).expect("written");
    browser
        .get(&format!(
            "{}?{}",
            service_provider.single_logout(),
            service_provider.signed_query("SAMLRequest", &xml, relay_state)
        ))
        .await
}

/// Returns the text of the message in the query of a URL.
pub(super) fn message_text(location: &Url, parameter: &str) -> String {
    let (_, value) = location
        .query_pairs()
        .find(|(name, _)| name == parameter)
        .expect("a message");
    let compressed = STANDARD.decode(value.as_bytes()).expect("base64");
    let mut xml = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::DeflateDecoder::new(compressed.as_slice()),
        &mut xml,
    )
    .expect("inflated");
    validate(&xml).expect("a valid message");
    xml
}

/// Returns the message in the query of a URL.
fn message(location: &Url, parameter: &str) -> Document {
    Document::read(
        message_text(location, parameter).as_bytes(),
        XmlLimits::MESSAGE,
    )
    .expect("XML")
}

/// Returns the LogoutResponse that a redirect to the service provider carries.
pub(super) fn answer(page: &Page) -> LogoutResponse {
    let location = page.location();
    assert!(location.as_str().starts_with(SLO), "{location}");
    LogoutResponse::read(message(&location, "SAMLResponse").unverified()).expect("a response")
}

pub(super) fn codes(response: &LogoutResponse) -> (&str, Option<&str>) {
    (
        response.status.code.as_str(),
        response.status.second.as_deref(),
    )
}

/// Returns the LogoutRequest that the frame of a logout page sends to a service provider.
pub(super) async fn requested(page: &Page) -> LogoutRequest {
    let frame = frame(page).await;
    LogoutRequest::read(message(&frame.location(), "SAMLRequest").unverified()).expect("a request")
}

pub(super) async fn frame(page: &Page) -> Page {
    page.browser().get(&frame_address(page)).await
}

fn frame_address(page: &Page) -> String {
    let address = page
        .body
        .split_once("<iframe")
        .and_then(|(_, rest)| rest.split_once("src=\""))
        .expect("a frame")
        .1;
    address.split('"').next().expect("an address").to_owned()
}

/// Sends the service provider's response to the request.
pub(super) async fn answered(
    service_provider: &TestServiceProvider,
    host: &TestHost,
    browser: &Browser,
    request: &LogoutRequest,
    status: Status,
) -> Page {
    let response = LogoutResponse {
        header: header(service_provider, host),
        in_response_to: Some(request.header.id.clone()),
        status,
    };
    let query = service_provider.signed_query(
        "SAMLResponse",
        &response.write(None).expect("written"),
        None,
    );
    browser
        .get(&format!("{}?{query}", service_provider.single_logout()))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn single_logout_of_a_service_provider_ends_the_session() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let request = request(&service_provider, &host, &known);
    let page = send(&service_provider, &browser, &request, Some("st&te")).await;
    let response = answer(&page);
    assert_eq!(codes(&response), (SUCCESS, None));
    assert_eq!(response.in_response_to.as_ref(), Some(&request.header.id));
    assert_eq!(response.header.issuer, Some(host.issuer()));
    assert_eq!(response.header.destination.as_deref(), Some(SLO));
    assert_eq!(page.parameter("RelayState"), "st&te");
    assert!(
        page.location()
            .query()
            .expect("a query")
            .contains("&Signature=")
    );
    // After the logout, the server asks for a sign-in again.
    let login = service_provider
        .begin(&browser, &service_provider.request(&host), None)
        .await;
    assert!(login.body.contains("name=\"name\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn single_logout_by_cross_site_form_without_cookies() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(
        &host,
        json!({"single_logout": {"url": "https://sp.example/in", "response_url": SLO, "binding": "post"}}),
    )
    .await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let request = request(&service_provider, &host, &known);
    let xml = STANDARD.encode(
        request
            .write(Some(&service_provider.signer))
            .expect("written"),
    );
    let elsewhere = Browser::new(&host.base);
    let page = elsewhere
        .post(
            &service_provider.single_logout(),
            &[("SAMLRequest", &xml), ("RelayState", "x")],
        )
        .await;
    let (action, body) = page.form();
    assert_eq!(action, SLO);
    let fields: Vec<_> = form_urlencoded::parse(body.as_bytes()).collect();
    assert_eq!(fields[1], ("RelayState".into(), "x".into()));
    let xml = STANDARD.decode(fields[0].1.as_bytes()).expect("base64");
    validate(std::str::from_utf8(&xml).expect("text")).expect("a valid message");
    let document = Document::read(&xml, XmlLimits::MESSAGE).expect("XML");
    assert!(document.has_signature());
    assert_eq!(
        codes(&LogoutResponse::read(document.unverified()).expect("a response")),
        (SUCCESS, None)
    );
    assert!(
        service_provider
            .begin(&browser, &service_provider.request(&host), None)
            .await
            .body
            .contains("name=\"name\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn single_logout_notifies_other_service_providers_and_answers_the_requester() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({"name": "Asking"})).await;
    let second = TestServiceProvider::register(
        &host,
        json!({"name": "Second", "entity_id": "https://second.example"}),
    )
    .await;
    let third = TestServiceProvider::register(
        &host,
        json!({"name": "Third", "entity_id": "https://third.example", "name_id_format": "persistent"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    for other in [&second, &third] {
        host.account(&ada.user, &other.application()).await;
    }
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    let others = [
        signed_in(&second, &ada, &browser, &host).await,
        signed_in(&third, &ada, &browser, &host).await,
    ];
    let page = send(&asking, &browser, &request(&asking, &host, &known), None)
        .await
        .followed()
        .await;
    // The session ends before any notification.
    assert!(
        asking
            .begin(&browser, &asking.request(&host), None)
            .await
            .body
            .contains("name=\"name\"")
    );

    let mut page = page;
    let mut returned = Vec::new();
    for _ in 0..2 {
        let logout = requested(&page).await;
        let destination = logout.header.destination.clone().expect("a destination");
        let (service_provider, known) = if page.body.contains("Second") {
            (&second, &others[0])
        } else {
            (&third, &others[1])
        };
        assert_eq!(destination, SLO);
        assert_eq!(
            (&logout.name_id.value, logout.name_id.format.as_ref()),
            (&known.name, Some(&known.format))
        );
        assert_eq!(logout.session_indexes, std::slice::from_ref(&known.index));
        assert!(logout.not_on_or_after.expect("a limit") > host.host.now());
        let framed = answered(
            service_provider,
            &host,
            &browser,
            &logout,
            Status::success(),
        )
        .await;
        assert_eq!(framed.headers["x-frame-options"], "SAMEORIGIN");
        assert!(framed.body.contains(&page.path()), "{}", framed.body);
        returned.push(service_provider.entity_id.clone());
        page = page.again().await;
    }
    returned.sort();
    assert_eq!(
        returned,
        ["https://second.example", "https://third.example"]
    );
    assert_eq!(codes(&answer(&page)), (SUCCESS, None));
    // The logout has ended. Its last response is repeated for 30 seconds.
    host.advance(31);
    assert_eq!(
        browser.get(&page.url).await.location().path(),
        "/session/ended"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_failed_response_makes_the_logout_partial() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({})).await;
    let silent = TestServiceProvider::register(
        &host,
        json!({"entity_id": "https://silent.example", "name": "Silent"}),
    )
    .await;
    let failing = TestServiceProvider::register(
        &host,
        json!({"entity_id": "https://failing.example", "name": "Failing"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    for other in [&silent, &failing] {
        host.account(&ada.user, &other.application()).await;
    }
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    for other in [&silent, &failing] {
        signed_in(other, &ada, &browser, &host).await;
    }
    let mut page = send(&asking, &browser, &request(&asking, &host, &known), None)
        .await
        .followed()
        .await;
    for _ in 0..2 {
        let logout = requested(&page).await;
        if page.body.contains("Silent") {
            host.advance(4);
            assert!(
                page.again().await.body.contains("Silent"),
                "the confirmation has not expired"
            );
            host.advance(2);
        } else {
            answered(
                &failing,
                &host,
                &browser,
                &logout,
                Status::new("urn:oasis:names:tc:SAML:2.0:status:Responder", None),
            )
            .await;
        }
        page = page.again().await;
    }
    assert_eq!(codes(&answer(&page)), (SUCCESS, Some(PARTIAL)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_provider_without_single_logout_makes_the_logout_partial() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({})).await;
    let without = TestServiceProvider::register(
        &host,
        json!({"entity_id": "https://without.example", "name": "Without", "single_logout": null}),
    )
    .await;
    let ada = asking.ada(&host).await;
    host.account(&ada.user, &without.application()).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    signed_in(&without, &ada, &browser, &host).await;
    let page = send(&asking, &browser, &request(&asking, &host, &known), None).await;
    assert_eq!(codes(&answer(&page)), (SUCCESS, Some(PARTIAL)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_logout_notifies_service_providers_and_lists_failures() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let without = TestServiceProvider::register(
        &host,
        json!({"entity_id": "https://without.example", "name": "Old <app>", "single_logout": null}),
    )
    .await;
    let ada = service_provider.ada(&host).await;
    host.account(&ada.user, &without.application()).await;
    let browser = Browser::new(&host.base);
    for sp in [&service_provider, &without] {
        signed_in(sp, &ada, &browser, &host).await;
    }
    let home = browser.get("/").await;
    let page = home.submit("/sign-out", &[]).await.followed().await;
    assert_eq!(page.headers["cache-control"], "no-store");
    let logout = requested(&page).await;
    answered(
        &service_provider,
        &host,
        &browser,
        &logout,
        Status::success(),
    )
    .await;
    let page = page.again().await;
    assert!(
        page.body.contains("signed-out") && page.body.contains("Old &#60;app&#62;"),
        "{}",
        page.body
    );
    assert!(!browser.get("/").await.body.contains("/sign-out"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openid_connect_logout_notifies_service_providers_before_it_returns() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = host.ada().await;
    host.account(&ada.user, &service_provider.application())
        .await;
    let path = format!("/applications/{}", ada.application.id);
    let uris = json!({"post_logout_redirect_uris": ["https://rp.example/bye"]});
    host.admin_ok(reqwest::Method::PATCH, &path, uris).await;
    let browser = Browser::new(&host.base);
    let tokens = ada.tokens(&host, &browser).await;
    signed_in(&service_provider, &ada, &browser, &host).await;
    let hint = tokens["id_token"].text();
    let end = format!(
        "/oidc/session/end?id_token_hint={hint}&post_logout_redirect_uri=https://rp.example/bye&state=s%26t"
    );
    let ended = browser.get(&end).await;
    // The same request again leads to the same logout, and one that returns elsewhere does not.
    assert_eq!(browser.get(&end).await.location(), ended.location());
    let other = browser.get(&end.replace("s%26t", "other")).await;
    assert_eq!(
        other.location().as_str(),
        "https://rp.example/bye?state=other"
    );
    let page = ended.followed().await;
    let logout = requested(&page).await;
    answered(
        &service_provider,
        &host,
        &browser,
        &logout,
        Status::success(),
    )
    .await;
    assert_eq!(
        page.again().await.location().as_str(),
        "https://rp.example/bye?state=s%26t"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn single_logout_triggers_backchannel_logout() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = host.ada().await;
    host.account(&ada.user, &service_provider.application())
        .await;
    let path = format!("/applications/{}", ada.application.id);
    let uri = json!({"backchannel_logout_uri": "https://rp.example/backchannel"});
    host.admin_ok(reqwest::Method::PATCH, &path, uri).await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    send(
        &service_provider,
        &browser,
        &request(&service_provider, &host, &known),
        None,
    )
    .await;
    let mut connection = host.connection().await;
    let queued: (i64,) = sql::query_as("SELECT COUNT(*) FROM logout_deliveries")
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    assert_eq!(queued.0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_a_logout_needs_the_session_index() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({"certificates": []})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let address = |request: &LogoutRequest| {
        format!(
            "{}?{}",
            service_provider.single_logout(),
            super::service_provider::query(
                "SAMLRequest",
                &request.write(None).expect("written"),
                None
            )
        )
    };
    let mut guessed = request(&service_provider, &host, &known);
    guessed.session_indexes.clear();
    let denied = browser.get(&address(&guessed)).await;
    assert_eq!(denied.status, StatusCode::BAD_REQUEST);
    assert!(
        denied.body.contains("nor does it name your session"),
        "{}",
        denied.body
    );
    assert!(
        Response::from_page(
            &service_provider
                .begin(&browser, &service_provider.request(&host), None)
                .await
        )
        .is_success()
    );
    let page = browser
        .get(&address(&request(&service_provider, &host, &known)))
        .await;
    assert_eq!(codes(&answer(&page)), (SUCCESS, None));
    assert!(
        service_provider
            .begin(&browser, &service_provider.request(&host), None)
            .await
            .body
            .contains("name=\"name\"")
    );
    assert_eq!(service_provider.entity_id, ENTITY_ID);
}

/// A logout request from the server of a service provider, without the user's browser.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_browser_of_the_session_continues_the_logout_and_sees_applications() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({"name": "Asking"})).await;
    let other = TestServiceProvider::register(
        &host,
        json!({"name": "Secret other", "entity_id": "https://other.example"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let attacker = Browser::new(&host.base);

    // A client without the session receives only the partial status.
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    signed_in(&other, &ada, &browser, &host).await;
    let page = send(&asking, &attacker, &request(&asking, &host, &known), None).await;
    assert_eq!(
        codes(&answer(&page.followed().await)),
        (SUCCESS, Some(PARTIAL))
    );
    assert!(
        must_sign_in(&asking, &browser, &host).await,
        "the session has ended nevertheless"
    );

    // During the logout, another browser sees no application, and the user's browser continues.
    let browser = Browser::new(&host.base);
    let known = signed_in(&asking, &ada, &browser, &host).await;
    let theirs = signed_in(&other, &ada, &browser, &host).await;
    let page = send(&asking, &browser, &request(&asking, &host, &known), None)
        .await
        .followed()
        .await;
    let peeked = attacker.get(&page.url).await;
    assert_eq!(peeked.location().path(), "/session/ended");
    assert_eq!(
        attacker.get(&frame_address(&page)).await.status,
        StatusCode::NO_CONTENT
    );
    let logout = requested(&page).await;
    assert_eq!(logout.name_id.value, theirs.name);
    answered(&other, &host, &browser, &logout, Status::success()).await;
    assert_eq!(
        attacker.get(&page.url).await.location().path(),
        "/session/ended"
    );
    assert_eq!(codes(&answer(&page.again().await)), (SUCCESS, None));
}

pub(super) async fn must_sign_in(
    service_provider: &TestServiceProvider,
    browser: &Browser,
    host: &TestHost,
) -> bool {
    service_provider
        .begin(browser, &service_provider.request(host), None)
        .await
        .body
        .contains("name=\"name\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_without_index_ends_all_sessions_of_the_name() {
    let host = TestHost::start().await;
    let asking = TestServiceProvider::register(&host, json!({})).await;
    let other = TestServiceProvider::register(
        &host,
        json!({"entity_id": "https://other.example", "name": "Other"}),
    )
    .await;
    let ada = asking.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let browsers = [
        Browser::new(&host.base),
        Browser::new(&host.base),
        Browser::new(&host.base),
    ];
    let mut known = Vec::new();
    for browser in &browsers {
        known.push(signed_in(&asking, &ada, browser, &host).await);
        signed_in(&other, &ada, browser, &host).await;
    }
    let mut all = request(&asking, &host, &known[0]);
    all.session_indexes.clear();
    let page = send(&asking, &browsers[1], &all, None)
        .await
        .followed()
        .await;
    let logout = requested(&page).await;
    answered(&other, &host, &browsers[1], &logout, Status::success()).await;
    // The sessions in the other two browsers cannot be ended at the service provider, so the logout is partial.
    assert_eq!(
        codes(&answer(&page.again().await)),
        (SUCCESS, Some(PARTIAL))
    );
    for browser in &browsers {
        assert!(must_sign_in(&asking, browser, &host).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_indexes_differ_per_service_provider_and_each_issued_name_ends_the_session() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let other =
        TestServiceProvider::register(&host, json!({"entity_id": "https://other.example"})).await;
    let ada = service_provider.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let theirs = signed_in(&other, &ada, &browser, &host).await;
    assert_ne!(known.index, theirs.index);
    assert_eq!(known.name, theirs.name);
    // The index of one service provider is not valid for the other.
    let foreign = SessionRecord {
        index: theirs.index.clone(),
        ..signed_in(&service_provider, &ada, &browser, &host).await
    };
    assert_eq!(
        codes(&answer(
            &send(
                &service_provider,
                &browser,
                &request(&service_provider, &host, &foreign),
                None
            )
            .await
        )),
        (SUCCESS, None)
    );
    assert!(!must_sign_in(&service_provider, &browser, &host).await);
    // Any site can make the browser request another name format. The first name stays valid.
    let transient = service_provider
        .request(&host)
        .name_id("urn:oasis:names:tc:SAML:2.0:nameid-format:transient");
    assert!(
        Response::from_page(&service_provider.begin(&browser, &transient, None).await).is_success()
    );
    let page = send(
        &service_provider,
        &browser,
        &request(&service_provider, &host, &known),
        None,
    )
    .await;
    assert!(page.status.is_redirection());
    assert!(must_sign_in(&service_provider, &browser, &host).await);
}
