//! The principal of a LogoutRequest. `Success` never leaves a named session open.

use assent_saml_core::message::{LogoutRequest, NameId};
use reqwest::StatusCode;
use serde_json::json;

use super::logout::{
    Known, SUCCESS, answer, codes, message_text, party_must_sign_in, request, send, signed_in,
};
use super::party::{Party, query};
use crate::harness::{Ada, Browser, Page, TestHost};

const REQUESTER: &str = "urn:oasis:names:tc:SAML:2.0:status:Requester";
const UNKNOWN: (&str, Option<&str>) = (
    REQUESTER,
    Some("urn:oasis:names:tc:SAML:2.0:status:UnknownPrincipal"),
);
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const DONE: (&str, Option<&str>) = (SUCCESS, None);

struct Journey {
    host: TestHost,
    party: Party,
    ada: Ada,
    bob: Ada,
    browser: Browser,
}

impl Journey {
    async fn new(changes: serde_json::Value) -> Self {
        let host = TestHost::start().await;
        let party = Party::register(&host, changes).await;
        let ada = party.ada(&host).await;
        let bob = host.person("bob", party.application()).await;
        let browser = Browser::new(&host.base);
        Self {
            host,
            party,
            ada,
            bob,
            browser,
        }
    }

    async fn known(&self) -> Known {
        // Not more approvals than the limits allow.
        self.host.advance(60);
        signed_in(&self.party, &self.ada, &self.browser, &self.host).await
    }

    /// The answer to a request with this change, and whether Ada's session has ended.
    async fn asked(&self, change: &dyn Fn(&mut LogoutRequest)) -> (String, Option<String>, bool) {
        let mut request = request(&self.party, &self.host, &self.known().await);
        change(&mut request);
        let signs = self.party_signs();
        let page = if signs {
            send(&self.party, &self.browser, &request, None).await
        } else {
            self.unsigned(&request).await
        };
        let response = answer(&page);
        let (code, second) = codes(&response);
        let ended = party_must_sign_in(&self.party, &self.browser, &self.host).await;
        (code.to_owned(), second.map(str::to_owned), ended)
    }

    fn party_signs(&self) -> bool {
        self.party.entity_id != UNSIGNED
    }

    async fn unsigned(&self, request: &LogoutRequest) -> Page {
        let xml = request.write(None).expect("written");
        self.browser
            .get(&format!(
                "{}?{}",
                self.party.single_logout(),
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
        let (code, second, ended) = self.asked(change).await;
        assert_eq!(
            ((code.as_str(), second.as_deref()), ended),
            (expected, ends),
            "{what}"
        );
    }
}

/// A service provider that registered no certificate.
const UNSIGNED: &str = "https://unsigned.example";

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_index_ends_the_session_unless_the_name_is_anothers() {
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
        // Anybody can write an unsigned request, so its answer must not say whether the name is a user's.
        let (status, ends) = if journey.party_signs() {
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
        let account = journey.bob.account["name"]
            .as_str()
            .expect("a name")
            .to_owned();
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
        let (ours, theirs) = (journey.host.issuer(), journey.party.entity_id.clone());
        let qualified = move |request: &mut LogoutRequest| {
            request.name_id.name_qualifier = Some(ours.clone());
            request.name_id.sp_name_qualifier = Some(theirs.clone());
        };
        journey
            .assert("our own qualifiers", DONE, true, &qualified)
            .await;
    }
}

/// A user knows the SessionIndex of their own session. With that and an unsigned request they must not learn who has an
/// account.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_with_a_live_index_does_not_say_whether_a_name_is_a_users() {
    let journey = Journey::new(json!({"certificates": [], "entity_id": UNSIGNED})).await;
    let Journey {
        host,
        party,
        ada,
        bob,
        browser,
    } = &journey;
    host.user("carol").await;
    let known = journey.known().await;
    let account = |of: &Ada| of.account["name"].as_str().expect("a name").to_owned();
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
        let mut request = request(party, host, &known);
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
        !party_must_sign_in(party, browser, host).await,
        "no guess ends the session"
    );
}

/// The element `samlp:Status` of an answer, byte by byte.
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

/// mod_shib signs no LogoutRequest by default, and sends the NameID as it received it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_with_the_name_that_was_issued_ends_the_session_in_each_format() {
    for format in ["emailAddress", "persistent", "transient"] {
        let changes = json!({"certificates": [], "entity_id": UNSIGNED, "name_id_format": format});
        let journey = Journey::new(changes).await;
        let (ours, theirs) = (journey.host.issuer(), journey.party.entity_id.clone());
        let qualified = move |request: &mut LogoutRequest| {
            request.name_id.name_qualifier = Some(ours.clone());
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
        .assert("another case", UNKNOWN, false, &all("ADA@example.org"))
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

/// Ada's address changed after the sign-in, and the service provider uses one that it did not receive.
#[tokio::test(flavor = "multi_thread")]
async fn a_users_new_address_gets_no_success_while_the_session_is_open() {
    let journey = Journey::new(json!({})).await;
    let mut request = request(&journey.party, &journey.host, &journey.known().await);
    let path = format!("/users/{}", journey.ada.user["id"].as_str().expect("an id"));
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
    let page = send(&journey.party, &journey.browser, &request, None).await;
    assert_eq!(codes(&answer(&page)), UNKNOWN);
    assert!(!party_must_sign_in(&journey.party, &journey.browser, &journey.host).await);
}

/// Without a live index an unsigned request proves nothing: its answer must not reveal signed-in or known users.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_request_without_a_live_index_learns_nothing() {
    let journey = Journey::new(json!({"certificates": [], "entity_id": UNSIGNED})).await;
    for name in ["ada@example.org", "bob@example.org", "eve@example.org"] {
        let guess = |request: &mut LogoutRequest| {
            request.session_indexes = vec!["_guessed".to_owned()];
            request.name_id.value = name.to_owned();
        };
        journey.assert(name, UNKNOWN, false, &guess).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_without_single_logout_gets_a_page_that_says_why() {
    let journey = Journey::new(json!({"single_logout": null})).await;
    let mut request = request(&journey.party, &journey.host, &journey.known().await);
    request.name_id.value = "bob@example.org".to_owned();
    let page = send(&journey.party, &journey.browser, &request, None).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(
        page.body.contains("does not name the user correctly"),
        "{}",
        page.body
    );
    assert!(!party_must_sign_in(&journey.party, &journey.browser, &journey.host).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_another_version_or_with_an_encrypted_name_is_answered() {
    let journey = Journey::new(json!({})).await;
    let Journey {
        host,
        party,
        browser,
        ..
    } = &journey;
    let xml = |change: &dyn Fn(String) -> String, known: &Known| {
        change(request(party, host, known).write(None).expect("written"))
    };
    let version = |xml: String| xml.replace("Version=\"2.0\"", "Version=\"2.1\"");
    let encrypted = |xml: String| {
        let (before, rest) = xml.split_once("<saml:NameID").expect("a name");
        let (_, after) = rest.split_once("</saml:NameID>").expect("a name");
        format!(
            r#"{before}<saml:EncryptedID xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>{after}"#
        )
    };
    let known = journey.known().await;
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
            party.single_logout(),
            party.signed_query("SAMLRequest", &message, None)
        );
        assert_eq!(
            codes(&answer(&browser.get(&address).await)),
            expected,
            "{message}"
        );
        assert_eq!(
            browser.get(&address).await.status,
            StatusCode::BAD_REQUEST,
            "a replay"
        );
        assert!(!party_must_sign_in(party, browser, host).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_may_have_no_format() {
    let journey = Journey::new(json!({"name_id_format": "persistent"})).await;
    let known = journey.known().await;
    let mut request = request(&journey.party, &journey.host, &known);
    request.name_id = NameId {
        value: known.name.to_uppercase(),
        format: None,
        name_qualifier: None,
        sp_name_qualifier: None,
    };
    let page = send(&journey.party, &journey.browser, &request, None).await;
    assert_eq!(codes(&answer(&page)), DONE);
    assert!(party_must_sign_in(&journey.party, &journey.browser, &journey.host).await);
}
