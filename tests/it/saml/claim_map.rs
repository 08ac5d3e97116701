//! Attributes from settings only, in a real assertion.

use serde_json::json;

use super::service_provider::{Response, TestServiceProvider};
use crate::harness::{Browser, TestHost, component};

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_contains_attributes_of_the_rules() {
    let plugins = format!(
        r#"
            [[plugins.claim_mappers]]
            name = "claim-map"
            file = "{}"
            writes = ["groups", "attribute:*"]

            [[plugins.claim_mappers.config.rules]]
            claim = "groups"
            from = "roles"
            lookup = {{ editor = "Wiki & <Co>", reader = ["read", "comment"] }}

            [[plugins.claim_mappers.config.rules]]
            attribute = "urn:oid:1.3.6.1.4.1.5923.1.5.1.1"
            friendly_name = "isMemberOf"
            name_format = "uri"
            from = "groups"

            [[plugins.claim_mappers.config.rules]]
            attribute = "verified"
            type = "boolean"
            from = "email_verified"

            [[plugins.claim_mappers.config.rules]]
            attribute = "login"
            value = "{{account.name}}@{{user.profile.given_name}}"
            when = {{ role = "editor", sink = "saml-assertion" }}

            [[plugins.claim_mappers.config.rules]]
            attribute = "nick"
            from = "nickname"
        "#,
        component("claim-map").display()
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    let page = service_provider
        .sign_in(
            &ada,
            &Browser::new(&host.base),
            &service_provider.request(&host),
        )
        .await;
    let response = Response::from_page(&page);
    let groups = ["read", "comment", "Wiki & <Co>"].map(|group| ("xs:string", group));
    assert_eq!(response.values("urn:oid:1.3.6.1.4.1.5923.1.5.1.1"), groups);
    let uri = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri";
    assert_eq!(response.attribute("Attribute", "NameFormat"), uri);
    assert_eq!(
        response.attribute("Attribute", "FriendlyName"),
        "isMemberOf"
    );
    assert_eq!(response.values("verified"), [("xs:boolean", "true")]);
    assert_eq!(response.values("login"), [("xs:string", "ada@Ada")]);
    assert!(!response.xml.contains("\"nick\""), "the fact is unknown");
    assert!(
        !response.xml.contains("\"groups\""),
        "a claim is not an attribute"
    );
}
