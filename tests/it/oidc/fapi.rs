//! The security profiles (FAPI 2.0). A test of a requirement of the OpenID suite has the name of its module.

mod assertions;
mod modules;

use std::time::Duration;

use assent_model::clock::Clock;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::pushed_requests::address;
use crate::harness::proof_key::ProofKey;
use crate::harness::{
    Body, Browser, CHALLENGE, Database, Json, Page, Respond, TestHost, TestUser, Text, VERIFIER,
    http_client, jwt_header,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A host, a user, and an application with a profile that authenticates with a key, and whose tokens are bound to DPoP
/// keys.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    key: ProofKey,
    proofs: ProofKey,
    browser: Browser,
}

/// The settings of an application with FAPI 2.0.
fn settings(key: &ProofKey) -> Value {
    json!({
        "security_profile": "fapi2",
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [key.public()]},
        "dpop_bound_access_tokens": true,
        "require_pushed_authorization_requests": true,
        "require_pkce": true,
        "id_token_signed_response_alg": "ES256",
    })
}

async fn fixture_on(database: Database, changes: Value) -> Fixture {
    let (host, ada, browser) = TestHost::start_on(database)
        .await
        .with_ada_and_browser()
        .await;
    let key = ProofKey::generate();
    let mut change = settings(&key);
    change.members_mut().extend(changes.members().clone());
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, change).await;
    Fixture {
        host,
        ada,
        key,
        proofs: ProofKey::generate(),
        browser,
    }
}

async fn fixture() -> Fixture {
    fixture_on(Database::Sqlite, json!({})).await
}

impl Fixture {
    /// Returns an assertion of the application with these changes; null removes a claim.
    fn assertion(&self, changes: &Value) -> String {
        self.key
            .proof_with(&json!({"alg": "ES256"}), self.assertion_claims(changes))
    }

    fn assertion_claims(&self, changes: &Value) -> Map<String, Value> {
        let client = &self.ada.application.id;
        let now = self.host.clock.now().seconds();
        let mut claims = json!({
            "iss": client, "sub": client, "aud": self.host.issuer(), "exp": now + 60, "iat": now,
            "jti": ProofKey::generate().thumbprint(),
        });
        for (name, value) in changes.members() {
            claims[name] = value.clone();
        }
        claims.members_mut().retain(|_, value| !value.is_null());
        claims.members().clone()
    }

    /// Posts a form with this assertion and a proof of this key, if there is one.
    async fn post_with(
        &self,
        path: &str,
        form: &[(&str, &str)],
        assertion: &str,
        proofs: Option<&ProofKey>,
    ) -> (StatusCode, Value) {
        let address = format!("{}{path}", self.host.base);
        let mut form = form.to_vec();
        if !assertion.is_empty() {
            form.extend([
                ("client_assertion_type", ASSERTION),
                ("client_assertion", assertion),
            ]);
        }
        let mut request = http_client().post(&address).form(&form);
        if let Some(key) = proofs {
            request = request.header("DPoP", key.proof(&self.host, "POST", &address, json!({})));
        }
        let response = request.response().await;
        (response.status(), response.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let assertion = self.assertion(&json!({}));
        self.post_with(path, form, &assertion, Some(&self.proofs))
            .await
    }

    /// Returns the parameters of a request with these changes.
    fn parameters<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut parameters = vec![
            ("response_type", "code"),
            ("redirect_uri", "https://rp.example/cb"),
            ("scope", "openid offline_access"),
            ("prompt", "consent"),
            ("state", "st&te"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in changes {
            parameters.retain(|(known, _)| known != name);
            parameters.push((name, value));
        }
        parameters.retain(|(_, value)| !value.is_empty());
        parameters
    }

    /// Pushes a request with these changes. Returns the status and the answer.
    async fn push(&self, changes: &[(&str, &str)]) -> (StatusCode, Value) {
        self.post("/oidc/par", &Self::parameters(changes)).await
    }

    /// Pushes a request with these changes, without a proof. Returns the status and the answer.
    async fn push_without_proof(&self, changes: &[(&str, &str)]) -> (StatusCode, Value) {
        let assertion = self.assertion(&json!({}));
        let form = Self::parameters(changes);
        self.post_with("/oidc/par", &form, &assertion, None).await
    }

    /// Signs the user in. Returns the page of the answer.
    async fn sign_in(&self) -> Page {
        self.sign_in_with(&[]).await
    }

    /// Signs the user in by a request with these changes. Returns the page of the answer.
    async fn sign_in_with(&self, changes: &[(&str, &str)]) -> Page {
        let pushed = self.push(changes).await;
        self.sign_in_by(&pushed).await
    }

    /// Signs the user in by a request that was pushed. Returns the page of the answer.
    async fn sign_in_by(&self, (status, answer): &(StatusCode, Value)) -> Page {
        assert_eq!(*status, StatusCode::CREATED, "{answer}");
        let uri = address(&self.ada.application.id, answer["request_uri"].text());
        let browser = Browser::new(&self.host.base);
        let first = browser.get(&uri).await.followed().await;
        let waiting = first.submit_name(self.ada.user["name"].text()).await;
        self.ada.approve(&waiting).await;
        browser.finish(&waiting.url).await
    }

    fn exchange_form(code: &str) -> Vec<(&'static str, String)> {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", "https://rp.example/cb".to_owned()),
            ("code_verifier", VERIFIER.to_owned()),
        ]
    }

    async fn exchange(&self, code: &str) -> (StatusCode, Value) {
        let assertion = self.assertion(&json!({}));
        self.exchange_with(code, &[], &assertion, Some(&self.proofs))
            .await
    }

    /// Exchanges a code with these changes to the form; an empty value removes a parameter.
    async fn exchange_with(
        &self,
        code: &str,
        changes: &[(&'static str, &str)],
        assertion: &str,
        proofs: Option<&ProofKey>,
    ) -> (StatusCode, Value) {
        let mut form = Self::exchange_form(code);
        for (name, value) in changes {
            form.retain(|(known, _)| known != name);
            form.push((name, (*value).to_owned()));
        }
        form.retain(|(_, value)| !value.is_empty());
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, &**value)).collect();
        self.post_with("/oidc/token", &form, assertion, proofs)
            .await
    }

    async fn refresh(&self, token: &str, proofs: &ProofKey) -> (StatusCode, Value) {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        let assertion = self.assertion(&json!({}));
        self.post_with("/oidc/token", &form, &assertion, Some(proofs))
            .await
    }
}

#[both_databases]
async fn happy_flow(database: Database) {
    for algorithm in ["ES256", "PS256", "EdDSA"] {
        let changes = json!({"id_token_signed_response_alg": algorithm});
        let it = fixture_on(database, changes).await;
        let page = it.sign_in().await;
        assert_eq!(page.parameter("state"), "st&te");
        assert_eq!(page.parameter("iss"), it.host.issuer());
        let (status, tokens) = it.exchange(&page.parameter("code")).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
        assert_eq!(tokens["token_type"], "DPoP");
        let id_token = tokens["id_token"].text();
        let header = jwt_header(id_token);
        assert_eq!(header["alg"], algorithm);
        let keys: Value = http_client()
            .get(format!("{}/jwks", it.host.issuer()))
            .response()
            .await
            .read_json()
            .await;
        let keys = assent::keys::client::keys_of_set(&keys).expect("keys");
        let accepted = [algorithm];
        let claims = assent::keys::client::verify(id_token, &keys, &accepted).expect("signed");
        assert_eq!(claims.get("nonce"), None);
        let length = if algorithm == "EdDSA" { 43 } else { 22 };
        assert_eq!(claims["at_hash"].text().len(), length);
    }
}

/// The keys of ES256 and EdDSA exist as soon as an application chooses them, and not before.
#[both_databases]
async fn keys_of_an_algorithm_are_created_at_its_first_use(database: Database) {
    let host = TestHost::start_on(database).await;
    let algorithms = async || {
        let set: Value = http_client()
            .get(format!("{}/jwks", host.issuer()))
            .response()
            .await
            .read_json()
            .await;
        let keys = set["keys"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> = keys
            .iter()
            .map(|key| key["alg"].text().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(algorithms().await, ["PS256", "RS256"]);
    let body = |algorithm: &str| {
        json!({
            "name": algorithm, "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
            "id_token_signed_response_alg": algorithm,
        })
    };
    host.admin_ok(Method::POST, "/applications", body("EdDSA"))
        .await;
    assert_eq!(algorithms().await, ["EdDSA", "PS256", "RS256"]);
    let made = host
        .admin_ok(Method::POST, "/applications", body("RS256"))
        .await;
    let path = format!("/applications/{}", made["id"].text());
    let change = json!({"userinfo_signed_response_alg": "ES256"});
    host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(algorithms().await, ["ES256", "EdDSA", "PS256", "RS256"]);
}

/// `refresh-token`: the token is bound to the client and not to its DPoP key, it is not rotated, and a refused refresh
/// does not use it up.
#[both_databases]
async fn refresh_token(database: Database) {
    let it = fixture_on(database, json!({})).await;
    let page = it.sign_in().await;
    let (_, tokens) = it.exchange(&page.parameter("code")).await;
    let token = tokens["refresh_token"].text().to_owned();
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", token.as_str()),
    ];
    let assertion = it.assertion(&json!({}));
    let (status, error) = it.post_with("/oidc/token", &form, &assertion, None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "no proof: {error}");
    let (status, error) = it
        .post_with("/oidc/token", &form, "", Some(&it.proofs))
        .await;
    assert!(status.is_client_error(), "no authentication: {error}");
    for _ in 0..3 {
        let other = ProofKey::generate();
        let (status, fresh) = it.refresh(&token, &other).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {fresh}");
        it.host.clock.advance(Duration::from_secs(31));
        // The renewed text works, too.
        let renewed = fresh["refresh_token"].text();
        assert_eq!(it.refresh(renewed, &other).await.0, StatusCode::OK);
    }
    let all = (0..8).map(|_| it.refresh(&token, &it.proofs));
    for (status, fresh) in futures_util::future::join_all(all).await {
        assert_eq!(status, StatusCode::OK, "{database:?}: {fresh}");
    }
}

#[tokio::test]
async fn ensure_token_endpoint_fails_with_expired_auth_code() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    it.host.clock.advance(Duration::from_secs(62));
    let (status, error) = it.exchange(&code).await;
    assert_eq!(
        (status, error["error"].text()),
        (StatusCode::BAD_REQUEST, "invalid_grant")
    );
}

/// Each rule that a setting breaks is named, and a profile may be set with all that it requires.
#[tokio::test]
async fn a_setting_that_breaks_the_profile_is_refused_by_its_rule() {
    let it = fixture().await;
    let path = format!("/applications/{}", it.ada.application.id);
    for (member, value, rule) in [
        ("dpop_bound_access_tokens", json!(false), "5.3.2.1"),
        (
            "require_pushed_authorization_requests",
            json!(false),
            "5.3.2.2",
        ),
        ("require_pkce", json!(false), "5.3.2.2"),
        ("id_token_signed_response_alg", json!("RS256"), "5.4.1"),
        ("userinfo_signed_response_alg", json!("RS256"), "5.4.1"),
        ("authorization_signed_response_alg", json!("RS256"), "5.4.1"),
        ("lenient_assertion_audience", json!(true), "5.3.2.1"),
        (
            "token_endpoint_auth_method",
            json!("client_secret_basic"),
            "5.3.2.1",
        ),
        ("redirect_uris", json!(["http://rp.example/cb"]), ""),
    ] {
        let change = json!({member: value});
        let (status, error) = it.host.admin(Method::PATCH, &path, change).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{member}: {error}"
        );
        let text = error.to_string();
        assert!(text.contains(member) && text.contains(rule), "{text}");
    }
    // The signed form needs one more setting, and the form of CIBA other ones.
    let listed = it
        .host
        .admin_ok(Method::GET, &format!("{path}/profiles"), Value::Null)
        .await;
    let members = |profile: &str| -> Vec<String> {
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let found = items
            .iter()
            .find(|item| item["profile"] == profile)
            .cloned();
        let unmet = found.expect("listed")["unmet"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        unmet
            .iter()
            .map(|one| one["member"].text().to_owned())
            .collect()
    };
    assert!(members("fapi2").is_empty(), "{listed}");
    assert_eq!(
        members("fapi2-message-signing"),
        ["require_signed_request_object"]
    );
    assert_eq!(
        members("fapi-ciba"),
        ["tls_client_certificate_bound_access_tokens"]
    );
    let change = json!({"security_profile": "fapi2-message-signing"});
    let (status, error) = it.host.admin(Method::PATCH, &path, change).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        error.to_string().contains("Message Signing section 5.3.1"),
        "{error}"
    );
    let change = json!({
        "security_profile": "fapi2-message-signing", "require_signed_request_object": true,
    });
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let change = json!({"security_profile": null, "require_pkce": false});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    for kind in ["spa", "native"] {
        let body = json!({
            "name": "App", "application_type": kind, "redirect_uris": ["https://rp.example/cb"],
            "security_profile": "fapi2",
        });
        let (status, error) = it.host.admin(Method::POST, "/applications", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{error}");
    }
}

/// `user-rejects-authentication`, with `state` and `iss`.
#[tokio::test]
async fn user_rejects_authentication() {
    let it = fixture().await;
    let (_, answer) = it.push(&[("prompt", ""), ("scope", "openid")]).await;
    let uri = address(&it.ada.application.id, answer["request_uri"].text());
    let first = it.browser.get(&uri).await.followed().await;
    let waiting = first.submit_name(it.ada.user["name"].text()).await;
    let requests = it.ada.device.pending_requests(5).await;
    it.ada.device.deny(&requests[0]).await;
    let page = it.browser.get(&waiting.url).await.leave().await;
    assert_eq!(page.parameter("error"), "access_denied");
    assert_eq!(page.parameter("state"), "st&te");
    assert_eq!(page.parameter("iss"), it.host.issuer());
}
