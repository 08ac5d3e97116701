//! The modules of the plan `fapi-ciba-id1` of the OpenID suite for poll mode, each by its name: an application with the
//! profile `fapi-ciba` at the listener for client certificates.

mod authentication;
mod request_objects;

use assent_model::clock::Clock;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::{GRANT, SETTINGS, pending};
use crate::harness::proof_key::ProofKey;
use crate::harness::tls::{certificate_of, client, mtls_settings};
use crate::harness::{
    EncodedCertificate, HostOptions, Json, Respond, TestHost, TestUser, Text, jwt_claims,
    jwt_header,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A host, a user, and an application with the profile; and the client of the application, which has a certificate, and
/// one without.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    key: ProofKey,
    with: Client,
    without: Client,
    base: String,
}

/// Returns an application that authenticates with its key.
async fn fixture() -> Fixture {
    fixture_by("private_key_jwt").await
}

async fn fixture_by(method: &str) -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    let own = certificate_of("own");
    let (settings, server) = mtls_settings(folder.path(), "");
    let settings = format!("{settings}{SETTINGS}");
    let options = HostOptions {
        settings: &settings,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let ada = host.ada().await;
    let key = ProofKey::generate();
    let mut change = json!({
        "security_profile": "fapi-ciba",
        "grant_types": ["authorization_code", "refresh_token", GRANT],
        "token_endpoint_auth_method": method,
        "jwks": {"keys": [key.public()]},
        "tls_client_certificate_bound_access_tokens": true,
        "id_token_signed_response_alg": "PS256",
        "backchannel_authentication_request_signing_alg": "ES256",
    });
    if method == "tls_client_certificate" {
        change["certificate"] = json!(own.0.pem());
    }
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, change).await;
    let listener = host.host.settings.http.mtls_url.as_ref();
    let base = listener.expect("an address").to_string();
    Fixture {
        base: base.trim_end_matches('/').to_owned(),
        with: client(&server, Some(&own)),
        without: client(&server, None),
        host,
        ada,
        key,
    }
}

impl Fixture {
    fn now(&self) -> i64 {
        self.host.clock.now().seconds()
    }

    fn client(&self) -> &str {
        &self.ada.application.id
    }

    /// Returns claims with these changes; null removes one.
    fn claims(claims: Value, changes: &Value) -> Value {
        let mut claims = claims;
        for (name, value) in changes.members() {
            claims[name] = value.clone();
        }
        claims.members_mut().retain(|_, value| !value.is_null());
        claims
    }

    fn sign(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm});
        self.key.proof_with(&header, claims.members().clone())
    }

    /// Returns the claims of a request with these changes.
    fn request(&self, changes: &Value) -> Value {
        let now = self.now();
        let claims = json!({
            "iss": self.client(), "aud": self.host.issuer(), "nbf": now, "iat": now, "exp": now + 300,
            "jti": ProofKey::generate().thumbprint(), "scope": "openid offline_access", "login_hint": "ada",
            "binding_message": "1234",
        });
        Self::claims(claims, changes)
    }

    /// Returns a signed request with these changes.
    fn object(&self, changes: &Value) -> String {
        self.sign("ES256", &self.request(changes))
    }

    /// Returns an assertion of the application with these changes.
    fn assertion(&self, algorithm: &str, changes: &Value) -> String {
        let claims = json!({
            "iss": self.client(), "sub": self.client(), "aud": self.host.issuer(), "exp": self.now() + 60,
            "jti": ProofKey::generate().thumbprint(),
        });
        self.sign(algorithm, &Self::claims(claims, changes))
    }

    /// Posts a form with this assertion; without one, with the certificate only.
    async fn post_with(
        &self,
        by: &Client,
        path: &str,
        form: &[(&str, &str)],
        assertion: Option<&str>,
    ) -> (StatusCode, Value) {
        let mut form = form.to_vec();
        if let Some(assertion) = assertion {
            form.push(("client_assertion_type", ASSERTION));
            form.push(("client_assertion", assertion));
        }
        let request = by.post(format!("{}{path}", self.base)).form(&form);
        let response = request.response().await;
        (response.status(), response.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let assertion = self.assertion("ES256", &json!({}));
        self.post_with(&self.with, path, form, Some(&assertion))
            .await
    }

    /// Sends a request object.
    async fn send(&self, object: &str) -> (StatusCode, Value) {
        self.post("/oidc/backchannel", &[("request", object)]).await
    }

    /// Sends a request with these changes, which is accepted. Returns the `auth_req_id`.
    async fn asked(&self, changes: Value) -> String {
        let (status, answer) = self.send(&self.object(&changes)).await;
        assert_eq!(status, StatusCode::OK, "{changes}: {answer}");
        answer["auth_req_id"].text().to_owned()
    }

    /// Sends a request object that is refused. FAPI-CIBA has no `invalid_request_object`.
    async fn refuses(&self, object: &str) {
        let (status, answer) = self.send(object).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"], "invalid_request", "{answer}");
        assert!(self.ada.device.pending_requests(0).await.is_empty());
    }

    /// Sends a request with these changes, which is refused.
    async fn refuses_with(&self, changes: Value) {
        self.refuses(&self.object(&changes)).await;
    }

    async fn poll(&self, auth_req_id: &str) -> (StatusCode, Value) {
        let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id)];
        self.post("/oidc/token", &form).await
    }

    /// Polls for a result that is an error, and returns it.
    async fn poll_error(&self, auth_req_id: &str) -> String {
        let (status, answer) = self.poll(auth_req_id).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        answer["error"].text().to_owned()
    }

    /// Approves the only pending request.
    async fn approve(&self) {
        let request = pending(&self.ada.device).await;
        assert_eq!(self.ada.device.approve(&request, "").await, "approved");
    }
}

#[tokio::test]
async fn discovery_end_point_verification() {
    let it = fixture().await;
    let url = format!("{}/oidc/.well-known/openid-configuration", it.host.base);
    let response = crate::harness::http_client().get(url).response().await;
    let document: Value = response.json().await.expect("JSON");
    for (member, value) in [
        ("backchannel_token_delivery_modes_supported", "poll"),
        ("grant_types_supported", GRANT),
        (
            "backchannel_authentication_request_signing_alg_values_supported",
            "PS256",
        ),
        (
            "backchannel_authentication_request_signing_alg_values_supported",
            "ES256",
        ),
    ] {
        let values = document[member].items();
        assert!(values.contains(&json!(value)), "{member}: {values:?}");
    }
    assert_eq!(document["backchannel_user_code_parameter_supported"], false);
    assert_eq!(document["tls_client_certificate_bound_access_tokens"], true);
    assert!(document["backchannel_authentication_endpoint"].is_string());
    let aliases = &document["mtls_endpoint_aliases"];
    assert!(aliases["backchannel_authentication_endpoint"].is_string());
}

/// The happy flow.
#[tokio::test]
async fn fapi_ciba_id1() {
    let it = fixture().await;
    let (status, answer) = it.send(&it.object(&json!({}))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(answer["expires_in"].is_u64() && answer["interval"].is_u64());
    let auth_req_id = answer["auth_req_id"].text();
    assert_eq!(it.poll_error(auth_req_id).await, "authorization_pending");
    it.approve().await;
    let (status, tokens) = it.poll(auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let id_token = tokens["id_token"].text();
    let header = jwt_header(id_token);
    assert_eq!(header["alg"], "PS256");
    assert!(header["kid"].is_string());
    let claims = jwt_claims(id_token);
    for absent in ["c_hash", "s_hash"] {
        assert!(claims.get(absent).is_none(), "{claims}");
    }
    assert_eq!(it.poll_error(auth_req_id).await, "invalid_grant", "once");
}

#[tokio::test]
async fn user_rejects_authentication() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    let request = pending(&it.ada.device).await;
    it.ada.device.deny(&request).await;
    assert_eq!(it.poll_error(&auth_req_id).await, "access_denied");
}

#[tokio::test]
async fn multiple_call_to_token_endpoint() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    assert_eq!(it.poll_error(&auth_req_id).await, "authorization_pending");
    for _ in 0..20 {
        let error = it.poll_error(&auth_req_id).await;
        assert!(["authorization_pending", "slow_down"].contains(&error.as_str()));
    }
    it.approve().await;
    assert_eq!(it.poll(&auth_req_id).await.0, StatusCode::OK);
}

#[tokio::test]
async fn auth_req_id_expired() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({"requested_expiry": 10})).await;
    for _ in 0..2 {
        it.host.advance(3);
        assert_eq!(it.poll_error(&auth_req_id).await, "authorization_pending");
    }
    it.host.advance(5);
    assert_eq!(it.poll_error(&auth_req_id).await, "expired_token");
}

#[tokio::test]
async fn ensure_authorization_request_with_binding_message_succeeds() {
    let it = fixture().await;
    it.asked(json!({"binding_message": "1234"})).await;
    let shown = pending(&it.ada.device).await.backchannel.expect("details");
    assert_eq!(shown.message.as_deref(), Some("1234"));
}

#[tokio::test]
async fn ensure_other_scope_order_succeeds() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({"scope": "profile email openid"})).await;
    it.approve().await;
    assert_eq!(it.poll(&auth_req_id).await.0, StatusCode::OK);
}

#[tokio::test]
async fn ensure_requested_expiry_as_string_succeeds() {
    let it = fixture().await;
    let object = it.object(&json!({"requested_expiry": "30"}));
    let (status, answer) = it.send(&object).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["expires_in"], 30);
}

#[tokio::test]
async fn ensure_authorization_request_with_potentially_bad_binding_message() {
    let it = fixture().await;
    let long = "1234 \u{1f60d} ".repeat(20);
    let object = it.object(&json!({"binding_message": long}));
    let (status, answer) = it.send(&object).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_binding_message");
    let text = "1234 \u{1f44d}\u{1f3ff} OK";
    it.asked(json!({"binding_message": text})).await;
    let shown = pending(&it.ada.device).await.backchannel.expect("details");
    assert_eq!(shown.message.as_deref(), Some(text));
}

#[tokio::test]
async fn ensure_wrong_auth_req_id_in_token_endpoint_request() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    it.approve().await;
    let wrong = format!(
        "{}{}",
        &auth_req_id[..30],
        "A".repeat(auth_req_id.len() - 30)
    );
    assert_eq!(it.poll_error(&wrong).await, "invalid_grant");
    assert_eq!(it.poll(&auth_req_id).await.0, StatusCode::OK);
}

#[tokio::test]
async fn refresh_token() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    it.approve().await;
    let (_, tokens) = it.poll(&auth_req_id).await;
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].text()),
    ];
    let (status, refreshed) = it.post("/oidc/token", &form).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
    let assertion = it.assertion("ES256", &json!({}));
    let unbound = it.post_with(&it.without, "/oidc/token", &form, Some(&assertion));
    let (status, answer) = unbound.await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
}

/// The tokens are bound to the certificate, so the token request needs it.
#[tokio::test]
async fn ensure_mtls_holder_of_key_required() {
    let it = fixture().await;
    let auth_req_id = it.asked(json!({})).await;
    it.approve().await;
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id.as_str())];
    let assertion = it.assertion("ES256", &json!({}));
    let unbound = it.post_with(&it.without, "/oidc/token", &form, Some(&assertion));
    let (status, answer) = unbound.await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_request");
    assert_eq!(it.poll(&auth_req_id).await.0, StatusCode::OK);
}
