//! Hints of applications that the server rejects, and the algorithms that it announces.

use serde_json::{Value, json};

use crate::harness::{Body, TestHost, Text, get};

/// The description says which part of a foreign hint is wrong.
#[tokio::test]
async fn an_error_names_the_wrong_part_of_an_id_token_hint() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let tokens = ada.tokens(&host, &browser).await;
    let own = tokens["id_token"].text().to_owned();
    let encode = |value: &Value| {
        base64::Engine::encode(
            &base64::engine::general_purpose::URL_SAFE_NO_PAD,
            value.to_string(),
        )
    };
    let parts: Vec<&str> = own.split('.').collect();
    let other = host.web_application().await;
    let foreign = format!(
        "{}.{}.{}",
        encode(&json!({"alg": "RS256", "typ": "JWT", "kid": "theirs"})),
        encode(&json!({"iss": "https://other.example", "aud": ada.application.id, "sub": "ada"})),
        parts[2]
    );
    let unknown = format!(
        "{}.{}.{}",
        encode(&json!({"alg": "RS256", "typ": "JWT", "kid": "theirs"})),
        parts[1],
        parts[2]
    );
    let other_start = if parts[2].starts_with('A') { "B" } else { "A" };
    let forged = format!("{}.{}.{other_start}{}", parts[0], parts[1], &parts[2][1..]);
    for (application, hint, expected) in [
        (
            &ada.application,
            foreign.as_str(),
            "its iss is not this server's issuer",
        ),
        (&ada.application, &unknown, "its key is unknown"),
        (&ada.application, &forged, "its signature is invalid"),
        (&ada.application, "x.y", "it is not a JWT"),
        (&other, &own, "its aud does not contain the client_id"),
    ] {
        let changes = [("id_token_hint", Some(hint)), ("prompt", Some("none"))];
        let page = browser.get(&application.request(&changes)).await;
        assert_eq!(page.parameter("error"), "invalid_request");
        let description = page.parameter("error_description");
        assert!(description.ends_with(expected), "{description}");
    }
}

#[tokio::test]
async fn discovery_lists_the_algorithms_of_request_objects() {
    let host = TestHost::start().await;
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = get(url).await.read_json().await;
    assert_eq!(
        document["request_object_signing_alg_values_supported"],
        json!(["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"])
    );
}
