//! The algorithms with which an application signs, by its registration.

use assent_model::clock::Clock;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Fixture, fixture, metadata};
use crate::harness::proof_key::ProofKey;
use crate::harness::{Json, Respond, Text, http_client};

const MEMBER: &str = "token_endpoint_auth_signing_alg";

/// Returns the error of a token request with an assertion that this key signed with ES256.
async fn error(it: &Fixture, client: &Value, key: &ProofKey) -> (StatusCode, String) {
    let (id, now) = (&client["client_id"], it.host.clock.now().seconds());
    let claims = json!({
        "iss": id, "sub": id, "aud": it.host.issuer(), "exp": now + 60, "jti": ProofKey::generate().thumbprint(),
    });
    let assertion = key.proof_with(&json!({"alg": "ES256"}), claims.members().clone());
    let form = [
        ("grant_type", "authorization_code"),
        ("code", "unknown"),
        ("redirect_uri", "https://rp.example/cb"),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
        ("client_assertion", assertion.as_str()),
    ];
    let request = http_client().post(format!("{}/oidc/token", it.host.base));
    let response = request.form(&form).response().await;
    let status = response.status();
    let answer: Value = response.json().await.expect("JSON");
    (status, answer["error"].text().to_owned())
}

/// Requests with another algorithm are rejected (OpenID Connect Dynamic Client Registration section 2).
#[tokio::test]
async fn an_assertion_with_another_algorithm_than_the_registered_one_is_refused() {
    let it = fixture().await;
    let key = ProofKey::generate();
    let registration = json!({
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [key.public()]},
        MEMBER: "PS256",
        "request_object_signing_alg": "ES256",
    });
    let client = it.registered(registration.clone()).await;
    assert_eq!(client[MEMBER], "PS256", "{client}");
    assert_eq!(client["request_object_signing_alg"], "ES256", "{client}");
    let own = it.application(&client).await;
    assert_eq!(own[MEMBER], "PS256", "{own}");
    let refused = (StatusCode::UNAUTHORIZED, "invalid_client".to_owned());
    assert_eq!(error(&it, &client, &key).await, refused);
    let mut update = metadata(&registration);
    update
        .members_mut()
        .insert("client_id".to_owned(), client["client_id"].clone());
    update[MEMBER] = json!("ES256");
    let (status, updated) = it.call(Method::PUT, &client, update).await;
    assert_eq!(
        (status, &updated[MEMBER]),
        (StatusCode::OK, &json!("ES256"))
    );
    let authenticated = (StatusCode::BAD_REQUEST, "invalid_grant".to_owned());
    assert_eq!(error(&it, &client, &key).await, authenticated);
}

/// An algorithm that the method cannot have is an error. The only one of `client_secret_jwt` is repeated.
#[tokio::test]
async fn an_algorithm_fits_the_authentication_method() {
    let it = fixture().await;
    for (method, algorithm) in [
        ("client_secret_jwt", "ES256"),
        ("client_secret_jwt", "HS512"),
        ("client_secret_basic", "none"),
    ] {
        let changes = json!({"token_endpoint_auth_method": method, MEMBER: algorithm});
        let error = it.refusal(changes).await;
        assert_eq!(error, "invalid_client_metadata", "{method} {algorithm}");
    }
    let key = ProofKey::generate().public();
    let changes = json!({
        "token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [key]}, MEMBER: "HS256",
    });
    assert_eq!(it.refusal(changes).await, "invalid_client_metadata");
    let changes = json!({"token_endpoint_auth_method": "client_secret_jwt", MEMBER: "HS256"});
    let client = it.registered(changes).await;
    assert_eq!(client[MEMBER], "HS256", "{client}");
    assert_eq!(it.application(&client).await.get(MEMBER), None);
}

/// The members of OpenID CIBA Core 1.0 section 4. A registration may require signed requests, and an update does not
/// end the requirement.
#[tokio::test]
async fn a_registration_has_the_members_of_back_channel_requests() {
    const ALGORITHM: &str = "backchannel_authentication_request_signing_alg";
    let it = fixture().await;
    let key = ProofKey::generate();
    let registration = json!({
        "jwks": {"keys": [key.public()]}, ALGORITHM: "ES256", "backchannel_user_code_parameter": false,
        "backchannel_binding": "typed",
    });
    let client = it.registered(registration.clone()).await;
    assert_eq!(client[ALGORITHM], "ES256", "{client}");
    assert_eq!(client["backchannel_binding"], "typed", "{client}");
    assert_eq!(client["backchannel_user_code_parameter"], false, "{client}");
    let own = it.application(&client).await;
    assert_eq!(own[ALGORITHM], "ES256", "{own}");
    assert_eq!(own["backchannel_binding"], "typed", "{own}");
    let mut update = metadata(&json!({"jwks": {"keys": [key.public()]}}));
    update["client_id"] = client["client_id"].clone();
    update["backchannel_binding"] = json!("shown");
    let (status, updated) = it.call(Method::PUT, &client, update).await;
    assert_eq!(status, StatusCode::OK, "{updated}");
    assert_eq!(updated[ALGORITHM], "ES256", "{updated}");
    assert_eq!(updated["backchannel_binding"], "typed", "{updated}");
    for changes in [
        json!({ALGORITHM: "none"}),
        json!({ALGORITHM: "HS256"}),
        json!({"backchannel_user_code_parameter": true}),
        json!({"backchannel_binding": "compared"}),
    ] {
        let mut refused = registration.clone();
        refused.members_mut().extend(changes.members().clone());
        let (status, answer) = it.register(refused).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{changes}: {answer}");
        assert_eq!(answer["error"], "invalid_client_metadata", "{changes}");
    }
}
