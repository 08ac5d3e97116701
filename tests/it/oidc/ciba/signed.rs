//! Signed back-channel requests (OpenID CIBA Core 1.0 section 7.1.1) and signed hints of an application without a
//! security profile.

use assent_model::clock::Clock;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{approved, ask, pending, permit, post, start};
use crate::harness::proof_key::ProofKey;
use crate::harness::{Application, Database, Json, TestHost, TestUser, Text, jwt_claims};

/// A host, a user, and an application with a secret and a key.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    key: ProofKey,
}

async fn fixture_on(database: Database) -> Fixture {
    let (host, ada) = start(database).await;
    let key = ProofKey::generate();
    give_key(&host, &ada.application, &key).await;
    Fixture { host, ada, key }
}

async fn fixture() -> Fixture {
    fixture_on(Database::Sqlite).await
}

async fn give_key(host: &TestHost, application: &Application, key: &ProofKey) {
    let path = format!("/applications/{}", application.id);
    let change = json!({"jwks": {"keys": [key.public()]}});
    host.admin_ok(Method::PATCH, &path, change).await;
}

/// Applies changes to claims; null removes one.
fn changed(mut claims: Value, changes: &Value) -> Value {
    for (name, value) in changes.members() {
        claims[name] = value.clone();
    }
    claims.members_mut().retain(|_, value| !value.is_null());
    claims
}

impl Fixture {
    fn now(&self) -> i64 {
        self.host.clock.now().seconds()
    }

    fn sign(&self, claims: &Value) -> String {
        self.key
            .proof_with(&json!({"alg": "ES256"}), claims.members().clone())
    }

    /// Returns a signed request of this application with these changes.
    fn object(&self, application: &Application, changes: &Value) -> String {
        let now = self.now();
        let claims = json!({
            "iss": application.id, "aud": self.host.issuer(), "nbf": now, "iat": now, "exp": now + 300,
            "jti": ProofKey::generate().thumbprint(), "scope": "openid profile", "login_hint": "ada",
            "binding_message": "Order 42",
        });
        self.sign(&changed(claims, changes))
    }

    /// Sends a form as this application.
    async fn send(&self, application: &Application, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let url = format!("{}/oidc/backchannel", self.host.base);
        post(url, application, form).await
    }

    /// Sends a signed request that is accepted.
    async fn accepts(&self, object: &str) {
        let (status, answer) = self
            .send(&self.ada.application, &[("request", object)])
            .await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }

    /// Sends a signed request that is rejected. Returns the description.
    async fn refuses(&self, form: &[(&str, &str)]) -> String {
        let (status, answer) = self.send(&self.ada.application, form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"], "invalid_request", "{answer}");
        answer["error_description"].text().to_owned()
    }

    /// Returns a `login_hint_token` for this user with these changes.
    fn hint(&self, identifier: &Value, changes: &Value) -> String {
        let claims = json!({
            "iss": self.ada.application.id, "aud": self.host.issuer(), "iat": self.now(),
            "exp": self.now() + 600, "sub_id": identifier,
        });
        self.sign(&changed(claims, changes))
    }

    /// Asks with this `login_hint_token`. Returns the error, or nothing.
    async fn hinted(&self, token: &str) -> String {
        let changes = [("login_hint", None), ("login_hint_token", Some(token))];
        let (_, answer) = ask(&self.host.base, &self.ada.application, &changes).await;
        answer["error"].as_str().unwrap_or_default().to_owned()
    }
}

#[both_databases]
async fn a_signed_request_reaches_the_device(database: Database) {
    let it = fixture_on(database).await;
    let object = it.object(&it.ada.application, &json!({"requested_expiry": 30}));
    it.accepts(&object).await;
    let shown = pending(&it.ada.device).await.backchannel.expect("details");
    assert_eq!(shown.message.as_deref(), Some("Order 42"), "{database:?}");
    let again = it.refuses(&[("request", &object)]).await;
    assert!(again.contains("jti"), "{database:?}: {again}");
}

/// One client cannot use up the `jti` of another, and a client assertion none of a request.
#[tokio::test]
async fn the_jti_of_a_request_is_its_clients_own() {
    let it = fixture().await;
    let other = it.host.web_application().await;
    permit(&it.host, &other).await;
    it.host.account(&it.ada.user, &other).await;
    give_key(&it.host, &other, &it.key).await;
    for application in [&it.ada.application, &other] {
        let object = it.object(application, &json!({"jti": "1"}));
        let (status, answer) = it.send(application, &[("request", &object)]).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
}

/// A parameter beside the signed request has no signature, so the request is rejected.
#[tokio::test]
async fn parameters_beside_a_signed_request_are_rejected() {
    let it = fixture().await;
    for (name, value) in [
        ("scope", "openid"),
        ("login_hint", "ada"),
        ("binding_message", "Order 42"),
        ("requested_expiry", "30"),
        ("request_uri", "https://rp.example/r"),
        ("state", "x"),
    ] {
        let object = it.object(&it.ada.application, &json!({}));
        let description = it.refuses(&[("request", &object), (name, value)]).await;
        assert!(description.contains(name), "{description}");
    }
    let object = it.object(&it.ada.application, &json!({}));
    let client = it.ada.application.id.clone();
    let form = [("request", object.as_str()), ("client_id", client.as_str())];
    let (status, answer) = it.send(&it.ada.application, &form).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn a_signed_request_is_not_another_jwt() {
    let it = fixture().await;
    let client = it.ada.application.id.clone();
    for changes in [
        json!({"sub": client}),
        json!({"request": "x.y.z"}),
        json!({"request_uri": "https://rp.example/r"}),
        json!({"client_id": "did:key:zOther"}),
        json!({"jti": ""}),
        json!({"jti": 7}),
        json!({"jti": "x".repeat(257)}),
    ] {
        let object = it.object(&it.ada.application, &changes);
        it.refuses(&[("request", &object)]).await;
    }
}

/// With an algorithm of its own the application must sign each request, with that algorithm.
#[tokio::test]
async fn an_application_with_an_algorithm_signs_each_request() {
    const MEMBER: &str = "backchannel_authentication_request_signing_alg";
    let it = fixture().await;
    let path = format!("/applications/{}", it.ada.application.id);
    it.host
        .admin_ok(Method::PATCH, &path, json!({MEMBER: "ES256"}))
        .await;
    let (status, answer) = ask(&it.host.base, &it.ada.application, &[]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_request");
    it.accepts(&it.object(&it.ada.application, &json!({})))
        .await;
    it.host
        .admin_ok(Method::PATCH, &path, json!({MEMBER: "PS256"}))
        .await;
    let object = it.object(&it.ada.application, &json!({}));
    let description = it.refuses(&[("request", &object)]).await;
    assert!(description.contains("PS256"), "{description}");
    it.host
        .admin_ok(Method::PATCH, &path, json!({MEMBER: null}))
        .await;
    let (status, _) = ask(&it.host.base, &it.ada.application, &[]).await;
    assert_eq!(
        status,
        StatusCode::OK,
        "unsigned requests are permitted again"
    );
}

/// Without keys, an algorithm is an error of the settings, and a signed request one of the request.
#[tokio::test]
async fn signed_requests_need_keys() {
    let it = fixture().await;
    let other = it.host.web_application().await;
    permit(&it.host, &other).await;
    let object = it.object(&other, &json!({}));
    let (status, answer) = it.send(&other, &[("request", &object)]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_request");
    let path = format!("/applications/{}", other.id);
    let change = json!({"backchannel_authentication_request_signing_alg": "ES256"});
    let (status, problem) = it.host.admin(Method::PATCH, &path, change).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

/// A `login_hint_token` names a user by a subject identifier (RFC 9493).
#[both_databases]
async fn a_login_hint_token_names_a_user(database: Database) {
    let it = fixture_on(database).await;
    let tokens = approved(&it.host, &it.ada, &[]).await;
    let claims = jwt_claims(tokens["id_token"].text());
    let sub = claims["sub"].text();
    for identifier in [
        json!({"format": "iss_sub", "iss": it.host.issuer(), "sub": sub}),
        json!({"format": "opaque", "id": sub}),
        json!({"format": "email", "email": "ada@example.org"}),
    ] {
        let error = it.hinted(&it.hint(&identifier, &json!({}))).await;
        assert_eq!(error, "", "{database:?}: {identifier}");
    }
    assert_eq!(it.ada.device.pending_requests(5).await.len(), 3);
    for identifier in [
        json!({"format": "opaque", "id": "nobody"}),
        json!({"format": "email", "email": "nobody@example.org"}),
    ] {
        let error = it.hinted(&it.hint(&identifier, &json!({}))).await;
        assert_eq!(error, "unknown_user_id", "{database:?}: {identifier}");
    }
}

#[tokio::test]
async fn a_login_hint_token_is_the_clients_own_and_short_lived() {
    let it = fixture().await;
    let ada = json!({"format": "email", "email": "ada@example.org"});
    let now = it.now();
    for (changes, expected) in [
        (json!({"exp": now}), "expired_login_hint_token"),
        (json!({"exp": now + 601}), "invalid_request"),
        (json!({"exp": null}), "invalid_request"),
        (json!({"iat": now + 60}), "invalid_request"),
        (json!({"aud": "https://other.example"}), "invalid_request"),
        (json!({"aud": null}), "invalid_request"),
        (json!({"iss": "did:key:zOther"}), "invalid_request"),
        (json!({"sub_id": null}), "invalid_request"),
        (
            json!({"sub_id": {"format": "phone_number", "phone_number": "+12065550100"}}),
            "invalid_request",
        ),
    ] {
        let error = it.hinted(&it.hint(&ada, &changes)).await;
        assert_eq!(error, expected, "{changes}");
    }
    let foreign = Fixture {
        key: ProofKey::generate(),
        ..it
    };
    let error = foreign.hinted(&foreign.hint(&ada, &json!({}))).await;
    assert_eq!(error, "invalid_request", "a key of another application");
}
