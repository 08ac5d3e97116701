//! Sign-on: what a service provider may ask for, and what it is answered.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::party::{ACS, ENTITY_ID, Party, RESPONDER, Response, identify};
use crate::harness::{Browser, TestHost, id};

const EMAIL: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_by_redirect_and_the_assertion_has_the_shape_of_the_specification() {
    let host = TestHost::start().await;
    let party = Party::register(&host, json!({})).await;
    let ada = party.ada(&host).await;
    let browser = Browser::new(&host.base);
    let request = party.request(&host);
    let page = party.sign_in(&ada, &browser, &request).await;
    let response = Response::of(&page);
    assert!(response.is_success(), "{}", response.xml);
    assert_eq!(response.action, ACS);
    assert_eq!(response.relay_state.as_deref(), Some("back to /here?a=b&c"));
    let root = response.root();
    assert_eq!(root.attribute("InResponseTo"), Some(request.id.as_str()));
    assert_eq!(root.attribute("Destination"), Some(ACS));
    assert_eq!(response.text("Issuer"), host.issuer());
    assert_eq!(response.attribute("NameID", "Format"), EMAIL);
    assert_eq!(response.text("NameID"), "ada@example.org");
    let now = host.host.now().seconds();
    let moment = |text: &str| assent::saml::message::instant(text).expect("a moment").seconds();
    assert_eq!(response.attribute("SubjectConfirmation", "Method"), "urn:oasis:names:tc:SAML:2.0:cm:bearer");
    for (name, value) in [("Recipient", ACS), ("InResponseTo", request.id.as_str())] {
        assert_eq!(response.attribute("SubjectConfirmationData", name), value);
    }
    assert_eq!(moment(response.attribute("SubjectConfirmationData", "NotOnOrAfter")), now + 300);
    assert_eq!(moment(response.attribute("Conditions", "NotBefore")), now);
    assert_eq!(moment(response.attribute("Conditions", "NotOnOrAfter")), now + 300);
    assert_eq!(response.text("Audience"), ENTITY_ID);
    assert_eq!(moment(response.attribute("AuthnStatement", "AuthnInstant")), now);
    assert!(!response.attribute("AuthnStatement", "SessionIndex").is_empty());
    let class = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
    assert_eq!(response.text("AuthnContextClassRef"), class);
    assert!(response.element("AttributeStatement").is_none(), "none is configured");

    let policy = page.headers["content-security-policy"].to_str().expect("text");
    assert!(policy.contains("script-src 'nonce-") && policy.contains("form-action https:;"), "{policy}");
    assert_eq!(page.headers["cache-control"], "no-store");
}
