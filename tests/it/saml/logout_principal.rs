//! The principal of a LogoutRequest. `Success` never leaves a named session open.

use assent_saml_core::message::{LogoutRequest, NameId};
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::json;

use super::logout::{
    SUCCESS, SessionRecord, answer, codes, message_text, must_sign_in, request, send, signed_in,
};
use super::service_provider::{TestServiceProvider, query};
use crate::harness::{Browser, Database, Page, TestHost, TestUser, Text};

const REQUESTER: &str = "urn:oasis:names:tc:SAML:2.0:status:Requester";
const UNKNOWN: (&str, Option<&str>) = (
    REQUESTER,
    Some("urn:oasis:names:tc:SAML:2.0:status:UnknownPrincipal"),
);
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const DONE: (&str, Option<&str>) = (SUCCESS, None);

struct Journey {
    host: TestHost,
    service_provider: TestServiceProvider,
    ada: TestUser,
    bob: TestUser,
    browser: Browser,
}

impl Journey {
    async fn new(changes: serde_json::Value) -> Self {
        Self::on(Database::Sqlite, changes).await
    }

    async fn on(database: Database, changes: serde_json::Value) -> Self {
        let host = TestHost::start_on(database).await;
        let service_provider = TestServiceProvider::register(&host, changes).await;
        let ada = service_provider.ada(&host).await;
        let bob = host
            .user_with_account("bob", service_provider.application())
            .await;
        let browser = Browser::new(&host.base);
        Self {
            host,
            service_provider,
            ada,
            bob,
            browser,
        }
    }

    async fn sign_in(&self) -> SessionRecord {
        // The pause keeps the approvals below the rate limits.
        self.host.advance(60);
        signed_in(&self.service_provider, &self.ada, &self.browser, &self.host).await
    }

    /// Sends a request with this change. Returns the status codes, and whether Ada's session has ended.
    async fn requested(
        &self,
        change: &dyn Fn(&mut LogoutRequest),
    ) -> (String, Option<String>, bool) {
        let mut request = request(&self.service_provider, &self.host, &self.sign_in().await);
        change(&mut request);
        let signs = self.signs_requests();
        let page = if signs {
            send(&self.service_provider, &self.browser, &request, None).await
        } else {
            self.unsigned(&request).await
        };
        let response = answer(&page);
        let (code, second) = codes(&response);
        let ended = must_sign_in(&self.service_provider, &self.browser, &self.host).await;
        (code.to_owned(), second.map(str::to_owned), ended)
    }

    /// Sends the request, and returns the page with the response. A repeated request leads to the page of the logout,
    /// which ends with the response.
    async fn answered(&self, request: &LogoutRequest) -> Page {
        let page = send(&self.service_provider, &self.browser, request, None).await;
        match page.location().path().starts_with("/sso/logout/") {
            true => page.followed().await,
            false => page,
        }
    }

    fn signs_requests(&self) -> bool {
        self.service_provider.entity_id != UNSIGNED
    }

    async fn unsigned(&self, request: &LogoutRequest) -> Page {
        let xml = request.write(None).expect("written");
        self.browser
            .get(&format!(
                "{}?{}",
                self.service_provider.single_logout(),
                query("SAMLRequest", &xml, None)
            ))
            .await
    }

    async fn assert(
        &self,
        what: &str,
        expected: (&str, Option<&str>),
        ends: bool,
        change: &dyn Fn(&mut LogoutRequest),
    ) {
        let (code, second, ended) = self.requested(change).await;
        assert_eq!(
            ((code.as_str(), second.as_deref()), ended),
            (expected, ends),
            "{what}"
        );
    }
}

/// The entity ID of a service provider that registered no certificate.
const UNSIGNED: &str = "https://unsigned.example";

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_index_ends_the_session_of_its_own_name() {
    for changes in [
        json!({}),
        json!({"certificates": [], "entity_id": UNSIGNED}),
    ] {
        let journey = Journey::new(changes).await;
        let name = |value: &str| {
            let value = value.to_owned();
            move |request: &mut LogoutRequest| request.name_id.value.clone_from(&value)
        };
        journey.assert("the name", DONE, true, &|_| {}).await;
        journey
            .assert("another case", DONE, true, &name("ADA@Example.org"))
            .await;
        journey
            .assert(
                "surrounding spaces",
                DONE,
                true,
                &name(" ada@example.org\n"),
            )
            .await;
        // Any client can write an unsigned request, so the response must not reveal whether the name belongs to a user.
        let (status, ends) = if journey.signs_requests() {
            (DONE, true)
        } else {
            (UNKNOWN, false)
        };
        journey
            .assert("a name of no user", status, ends, &name("eve@example.org"))
            .await;
        journey
            .assert("no format", DONE, true, &|request| {
                request.name_id.format = None
            })
            .await;
        journey
            .assert(
                "another user's address",
                UNKNOWN,
                false,
                &name("bob@example.org"),
            )
            .await;
        journey
            .assert(
                "another user's address, in capitals",
                UNKNOWN,
                false,
                &name(" BOB@example.org"),
            )
            .await;
        let account = journey.bob.account["name"].text().to_owned();
        journey
            .assert("another user's account", UNKNOWN, false, &name(&account))
            .await;
        let opaque = format!("_{}", "0f".repeat(32));
        journey
            .assert("another opaque name", UNKNOWN, false, &name(&opaque))
            .await;
        let format =
            |request: &mut LogoutRequest| request.name_id.format = Some(PERSISTENT.to_owned());
        journey
            .assert("another format", UNKNOWN, false, &format)
            .await;
        let foreign = |request: &mut LogoutRequest| {
            request.name_id.name_qualifier = Some("https://idp.example".into())
        };
        journey
            .assert("of another identity provider", UNKNOWN, false, &foreign)
            .await;
        let foreign = |request: &mut LogoutRequest| {
            request.name_id.sp_name_qualifier = Some("https://x.example".into())
        };
        journey
            .assert("for another service provider", UNKNOWN, false, &foreign)
            .await;
        let (own, theirs) = (
            journey.host.issuer(),
            journey.service_provider.entity_id.clone(),
        );
        let qualified = move |request: &mut LogoutRequest| {
            request.name_id.name_qualifier = Some(own.clone());
            request.name_id.sp_name_qualifier = Some(theirs.clone());
        };
        journey
            .assert("our own qualifiers", DONE, true, &qualified)
            .await;
    }
}

/// A user knows the SessionIndex of the own session. With it and an unsigned request, the user must not learn which
/// names have an account.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_with_a_live_index_does_not_reveal_names() {
    let journey = Journey::new(json!({"certificates": [], "entity_id": UNSIGNED})).await;
    let Journey {
        host,
        service_provider,
        ada,
        bob,
        browser,
    } = &journey;
    host.user("carol").await;
    let known = journey.sign_in().await;
    let account = |of: &TestUser| of.account["name"].text().to_owned();
    let (adas, bobs) = (account(ada), account(bob));
    let opaque = format!("_{}", "0f".repeat(32));
    let mut statuses = Vec::new();
    for name in [
        "eve@example.org",
        "bob@example.org",
        "carol@example.org",
        "eve",
        &bobs,
        &adas,
        &opaque,
    ] {
        let mut request = request(service_provider, host, &known);
        request.name_id.value = name.to_owned();
        let page = journey.unsigned(&request).await;
        assert_eq!(codes(&answer(&page)), UNKNOWN, "{name}");
        statuses.push((name, page.status, status_text(&page)));
    }
    let (_, first_code, first) = &statuses[0];
    for (name, code, status) in &statuses {
        assert_eq!((code, status), (first_code, first), "{name}");
    }
    assert!(
        !must_sign_in(service_provider, browser, host).await,
        "no guess ends the session"
    );
}

/// Returns the element `samlp:Status` of a response, byte by byte.
fn status_text(page: &Page) -> String {
    const END: &str = "</samlp:Status>";
    let xml = message_text(&page.location(), "SAMLResponse");
    let begin = xml
        .find("<samlp:Status>")
        .or_else(|| xml.find("<samlp:Status "))
        .expect("a status");
    let end = xml.find(END).expect("the end of the status") + END.len();
    xml[begin..end].to_owned()
}

/// By default, mod_shib does not sign a LogoutRequest, and sends the NameID as it received it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_with_the_issued_name_ends_the_session_in_each_format() {
    for format in ["emailAddress", "persistent", "transient"] {
        let changes = json!({"certificates": [], "entity_id": UNSIGNED, "name_id_format": format});
        let journey = Journey::new(changes).await;
        let (own, theirs) = (
            journey.host.issuer(),
            journey.service_provider.entity_id.clone(),
        );
        let qualified = move |request: &mut LogoutRequest| {
            request.name_id.name_qualifier = Some(own.clone());
            request.name_id.sp_name_qualifier = Some(theirs.clone());
        };
        journey.assert(format, DONE, true, &|_| {}).await;
        journey.assert(format, DONE, true, &qualified).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_request_without_a_session_index_ends_all_sessions_of_exactly_its_name() {
    let journey = Journey::new(json!({})).await;
    let all = |value: &str| {
        let value = value.to_owned();
        move |request: &mut LogoutRequest| {
            request.session_indexes.clear();
            request.name_id.value.clone_from(&value);
        }
    };
    journey
        .assert("the name", DONE, true, &all("ada@example.org"))
        .await;
    journey
        .assert("another case", DONE, true, &all("ADA@example.org"))
        .await;
    journey
        .assert("full width", DONE, true, &all("ａｄａ＠example.org"))
        .await;
    // An empty element names no session.
    journey
        .assert("an empty index", DONE, true, &|request| {
            request.session_indexes = vec![String::new()];
        })
        .await;
    journey
        .assert("a name of no user", UNKNOWN, false, &all("eve@example.org"))
        .await;
    journey
        .assert(
            "a user without a session",
            DONE,
            false,
            &all("bob@example.org"),
        )
        .await;
    let foreign = |request: &mut LogoutRequest| {
        request.session_indexes.clear();
        request.name_id.name_qualifier = Some("https://idp.example".to_owned());
    };
    journey
        .assert("of another identity provider", UNKNOWN, false, &foreign)
        .await;
}

/// The name of an account may have spaces and upper case. The service provider may write it in another spelling.
#[both_databases(flavor = "multi_thread")]
async fn a_request_names_an_account_in_any_spelling(database: Database) {
    let changes = json!({"name_id_format": "unspecified", "name_id_source": "account_name"});
    let journey = Journey::on(database, changes).await;
    let rename = async |user: &TestUser, name: &str| {
        let path = format!("/accounts/{}", user.account["id"].text());
        let change = json!({ "name": name });
        journey
            .host
            .admin_ok(reqwest::Method::PATCH, &path, change)
            .await;
    };
    rename(&journey.ada, "Ada Lovelace").await;
    rename(&journey.bob, "Bob Straße").await;
    let named = |value: &str, has_index: bool| {
        let value = value.to_owned();
        move |request: &mut LogoutRequest| {
            if !has_index {
                request.session_indexes.clear();
            }
            request.name_id.value.clone_from(&value);
        }
    };
    for spelling in ["ADA LOVELACE", " ada lovelace\n", "ＡＤＡ Lovelace"] {
        for has_index in [true, false] {
            journey
                .assert(spelling, DONE, true, &named(spelling, has_index))
                .await;
        }
    }
    journey
        .assert("another user", UNKNOWN, false, &named("BOB STRASSE", true))
        .await;
    journey
        .assert("no session", DONE, false, &named("BOB STRASSE", false))
        .await;
    journey
        .assert("no user", UNKNOWN, false, &named("ADA BYRON", false))
        .await;
    // Two accounts with names that differ only in case: the request means the one that it spells.
    rename(&journey.bob, "ada lovelace").await;
    journey
        .assert("Bob", DONE, false, &named("ada lovelace", false))
        .await;
    journey
        .assert("Ada", DONE, true, &named("Ada Lovelace", false))
        .await;
}

/// The email address of Ada changed after the sign-in. The service provider uses the new one, which it did not receive.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_email_does_not_match_an_open_session() {
    let journey = Journey::new(json!({})).await;
    let mut request = request(
        &journey.service_provider,
        &journey.host,
        &journey.sign_in().await,
    );
    let path = format!("/users/{}", journey.ada.user["id"].text());
    journey
        .host
        .admin_ok(
            reqwest::Method::PATCH,
            &path,
            json!({"email": "lovelace@example.org"}),
        )
        .await;
    request.session_indexes.clear();
    request.name_id.value = "lovelace@example.org".to_owned();
    let page = send(&journey.service_provider, &journey.browser, &request, None).await;
    assert_eq!(codes(&answer(&page)), UNKNOWN);
    assert!(!must_sign_in(&journey.service_provider, &journey.browser, &journey.host).await);
}

/// Without a live index, an unsigned request proves nothing. Its response must not reveal signed-in or known users.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_without_a_live_index_reveals_nothing() {
    let journey = Journey::new(json!({"certificates": [], "entity_id": UNSIGNED})).await;
    for name in ["ada@example.org", "bob@example.org", "eve@example.org"] {
        let guess = |request: &mut LogoutRequest| {
            request.session_indexes = vec!["_guessed".to_owned()];
            request.name_id.value = name.to_owned();
        };
        journey.assert(name, UNKNOWN, false, &guess).await;
    }
}

/// The session had this service provider only, so no other one is notified. The browser discards the first response if
/// it sends the request twice.
#[both_databases(flavor = "multi_thread")]
async fn a_request_that_ended_a_session_is_answered_again_for_30_seconds(database: Database) {
    let journey = Journey::on(database, json!({})).await;
    let Journey {
        host,
        service_provider,
        browser,
        ..
    } = &journey;
    let known = journey.sign_in().await;
    let mut request = request(service_provider, host, &known);
    request.session_indexes.clear();
    let (first, second) = tokio::join!(journey.answered(&request), journey.answered(&request));
    host.advance(10);
    for page in [first, second, journey.answered(&request).await] {
        let response = answer(&page);
        assert_eq!(codes(&response), DONE, "{database:?}");
        assert_eq!(response.in_response_to.as_ref(), Some(&request.header.id));
    }
    assert!(must_sign_in(service_provider, browser, host).await);
    // The repeated request does not end a session that began since.
    let elsewhere = Browser::new(&host.base);
    signed_in(service_provider, &journey.ada, &elsewhere, host).await;
    assert_eq!(codes(&answer(&journey.answered(&request).await)), DONE);
    assert!(!must_sign_in(service_provider, &elsewhere, host).await);
    // Another message with the same ID is a replay.
    let mut changed = request.clone();
    changed.session_indexes.push(known.index.clone());
    let replayed = send(service_provider, browser, &changed, None).await;
    assert_eq!(replayed.status, StatusCode::BAD_REQUEST, "{database:?}");
    host.advance(20);
    let late = send(service_provider, browser, &request, None).await;
    assert_eq!(late.status, StatusCode::BAD_REQUEST, "{}", late.body);
    assert!(!must_sign_in(service_provider, &elsewhere, host).await);
}

/// A repeated request that was rejected gets the same status, even if a new request would get another one by now.
#[both_databases(flavor = "multi_thread")]
async fn a_rejected_request_is_rejected_again_for_30_seconds(database: Database) {
    let journey = Journey::on(database, json!({})).await;
    let Journey {
        host,
        service_provider,
        browser,
        ..
    } = &journey;
    let known = journey.sign_in().await;
    let of_eve = || {
        let mut request = request(service_provider, host, &known);
        request.session_indexes.clear();
        request.name_id.value = "eve@example.org".to_owned();
        request
    };
    let request = of_eve();
    let answers = join_all((0..4).map(|_| journey.answered(&request))).await;
    for page in &answers {
        let response = answer(page);
        assert_eq!(codes(&response), UNKNOWN, "{database:?}");
        assert_eq!(response.in_response_to.as_ref(), Some(&request.header.id));
    }
    let eve = host.user("eve").await;
    host.account(&eve, &service_provider.application()).await;
    assert_eq!(codes(&answer(&journey.answered(&of_eve()).await)), DONE);
    host.advance(29);
    assert_eq!(
        codes(&answer(&journey.answered(&request).await)),
        UNKNOWN,
        "{database:?}"
    );
    host.advance(1);
    let late = send(service_provider, browser, &request, None).await;
    assert_eq!(late.status, StatusCode::BAD_REQUEST, "{}", late.body);
    assert!(!must_sign_in(service_provider, browser, host).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_without_single_logout_gets_an_explaining_page() {
    let journey = Journey::new(json!({"single_logout": null})).await;
    let mut request = request(
        &journey.service_provider,
        &journey.host,
        &journey.sign_in().await,
    );
    request.name_id.value = "bob@example.org".to_owned();
    let page = send(&journey.service_provider, &journey.browser, &request, None).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(
        page.body.contains("does not name the user correctly"),
        "{}",
        page.body
    );
    assert!(!must_sign_in(&journey.service_provider, &journey.browser, &journey.host).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_versions_and_encrypted_names_get_an_error_response() {
    let journey = Journey::new(json!({})).await;
    let Journey {
        host,
        service_provider,
        browser,
        ..
    } = &journey;
    let xml = |change: &dyn Fn(String) -> String, known: &SessionRecord| {
        change(
            request(service_provider, host, known)
                .write(None)
                .expect("written"),
        )
    };
    let version = |xml: String| xml.replace("Version=\"2.0\"", "Version=\"2.1\"");
    let encrypted = |xml: String| {
        let (before, rest) = xml.split_once("<saml:NameID").expect("a name");
        let (_, after) = rest.split_once("</saml:NameID>").expect("a name");
        format!(
            r#"{before}<saml:EncryptedID xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>{after}"#
        )
    };
    let known = journey.sign_in().await;
    for (message, expected) in [
        (
            xml(&version, &known),
            ("urn:oasis:names:tc:SAML:2.0:status:VersionMismatch", None),
        ),
        (
            xml(&encrypted, &known),
            (
                REQUESTER,
                Some("urn:oasis:names:tc:SAML:2.0:status:RequestUnsupported"),
            ),
        ),
    ] {
        let address = format!(
            "{}?{}",
            service_provider.single_logout(),
            service_provider.signed_query("SAMLRequest", &message, None)
        );
        assert_eq!(
            codes(&answer(&browser.get(&address).await)),
            expected,
            "{message}"
        );
        for _ in 0..2 {
            let repeated = browser.get(&address).await.followed().await;
            assert_eq!(codes(&answer(&repeated)), expected, "{message}");
        }
        host.advance(30);
        assert_eq!(
            browser.get(&address).await.status,
            StatusCode::BAD_REQUEST,
            "a replay"
        );
        assert!(!must_sign_in(service_provider, browser, host).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_id_may_omit_its_format() {
    let journey = Journey::new(json!({"name_id_format": "persistent"})).await;
    let known = journey.sign_in().await;
    let mut request = request(&journey.service_provider, &journey.host, &known);
    request.name_id = NameId {
        value: known.name.to_uppercase(),
        format: None,
        name_qualifier: None,
        sp_name_qualifier: None,
    };
    let page = send(&journey.service_provider, &journey.browser, &request, None).await;
    assert_eq!(codes(&answer(&page)), DONE);
    assert!(must_sign_in(&journey.service_provider, &journey.browser, &journey.host).await);
}
