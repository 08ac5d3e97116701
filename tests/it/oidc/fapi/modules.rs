//! Modules of the OpenID suite about the authorization request, the code and its binding, each by its name.

use reqwest::Method;

use super::*;
use crate::harness::jwt_claims;

/// A second application with the same settings and another key.
struct Second {
    client: String,
    key: ProofKey,
}

impl Second {
    async fn new(it: &Fixture) -> Self {
        let key = ProofKey::generate();
        let mut body = json!({
            "name": "Second", "application_type": "web",
            "redirect_uris": ["https://rp.example/cb"],
        });
        body.members_mut().extend(settings(&key).members().clone());
        let created = it.host.admin_ok(Method::POST, "/applications", body).await;
        let client = created["id"].text().to_owned();
        Self { client, key }
    }

    /// Returns an assertion of this application.
    fn assertion(&self, it: &Fixture) -> String {
        let own = json!({"iss": self.client, "sub": self.client});
        let header = json!({"alg": "ES256"});
        self.key.proof_with(&header, it.assertion_claims(&own))
    }
}

/// Checks that a request is refused with this error and the status 400.
fn refused(answer: &(StatusCode, Value), expected: &str) {
    let (status, error) = answer;
    assert_eq!(
        (*status, &error["error"]),
        (StatusCode::BAD_REQUEST, &json!(expected)),
        "{error}"
    );
}

impl Fixture {
    /// Pushes a request with these changes, which is refused with this error.
    async fn refuses(&self, changes: &[(&str, &str)], expected: &str) {
        refused(&self.push(changes).await, expected);
    }

    /// Asks UserInfo with a token and its key.
    async fn userinfo(&self, token: &str) -> (StatusCode, Value) {
        let address = format!("{}/me", self.host.issuer());
        let proof = self
            .proofs
            .proof_with_token(&self.host, "GET", &address, token);
        let request = http_client()
            .get(&address)
            .header("Authorization", format!("DPoP {token}"))
            .header("DPoP", proof);
        let response = request.response().await;
        (response.status(), response.json().await.unwrap_or_default())
    }

    /// Signs the user in by a request with these changes, and exchanges the code. Returns the tokens.
    async fn tokens_of(&self, changes: &[(&str, &str)]) -> Value {
        let code = self.sign_in_with(changes).await.parameter("code");
        let (status, tokens) = self.exchange(&code).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        tokens
    }
}

#[tokio::test]
async fn discovery_end_point_verification() {
    let it = fixture().await;
    let address = format!("{}/.well-known/openid-configuration", it.host.issuer());
    let document: Value = http_client()
        .get(address)
        .response()
        .await
        .read_json()
        .await;
    assert_eq!(document["issuer"], it.host.issuer());
    let par = format!("{}/par", it.host.issuer());
    assert_eq!(document["pushed_authorization_request_endpoint"], par);
    assert_eq!(
        document["authorization_response_iss_parameter_supported"],
        true
    );
    for member in [
        "require_pushed_authorization_requests",
        "tls_client_certificate_bound_access_tokens",
    ] {
        assert!(document[member].is_boolean(), "{member}");
    }
    for (member, value) in [
        ("code_challenge_methods_supported", "S256"),
        ("grant_types_supported", "authorization_code"),
        ("response_modes_supported", "jwt"),
        ("response_types_supported", "code"),
        ("token_endpoint_auth_methods_supported", "private_key_jwt"),
        ("scopes_supported", "openid"),
    ] {
        assert!(document[member].items().contains(&json!(value)), "{member}");
    }
    for member in [
        "token_endpoint_auth_signing_alg_values_supported",
        "id_token_signing_alg_values_supported",
        "dpop_signing_alg_values_supported",
        "request_object_signing_alg_values_supported",
        "authorization_signing_alg_values_supported",
    ] {
        for algorithm in ["PS256", "ES256", "EdDSA"] {
            let listed = document[member].items().contains(&json!(algorithm));
            assert!(listed, "{member}: {algorithm}");
        }
        let none = document[member].items().contains(&json!("none"));
        assert!(!none, "{member}");
    }
}

#[tokio::test]
async fn ensure_unsigned_authorization_request_without_using_par_fails() {
    let it = fixture().await;
    let request = it.ada.application.request(&[]);
    let page = it.browser.get(&request).await;
    assert_eq!(page.parameter("error"), "invalid_request");
    assert_eq!(page.parameter("state"), "st&te");
    assert_eq!(page.parameter("iss"), it.host.issuer());
}

#[tokio::test]
async fn par_ensure_pkce_required() {
    let it = fixture().await;
    it.refuses(&[("code_challenge", "")], "invalid_request")
        .await;
    let without = [("code_challenge", ""), ("code_challenge_method", "")];
    it.refuses(&without, "invalid_request").await;
}

#[tokio::test]
async fn par_plain_pkce_rejected() {
    let it = fixture().await;
    let plain = ("code_challenge_method", "plain");
    it.refuses(&[plain], "invalid_request").await;
    it.refuses(&[plain, ("code_challenge", VERIFIER)], "invalid_request")
        .await;
    // A challenge without a method has the method `plain` (RFC 7636 section 4.3).
    it.refuses(&[("code_challenge_method", "")], "invalid_request")
        .await;
}

#[tokio::test]
async fn ensure_response_type_code_idtoken_fails() {
    let it = fixture().await;
    let hybrid = ("response_type", "code id_token");
    it.refuses(&[hybrid], "unsupported_response_type").await;
}

#[tokio::test]
async fn ensure_response_type_token_fails() {
    let it = fixture().await;
    let implicit = ("response_type", "token");
    it.refuses(&[implicit], "unsupported_response_type").await;
}

#[tokio::test]
async fn ensure_redirect_uri_in_authorization_request() {
    let it = fixture().await;
    it.refuses(&[("redirect_uri", "")], "invalid_request").await;
}

/// RFC 9126 section 2.4 permits a server to accept such an address. Assent does not.
#[tokio::test]
async fn plain_fapi_tolerate_unregistered_redirect_uri() {
    let it = fixture().await;
    for uri in [
        "https://rp.example/unknown",
        "https://rp.example/cb?extra=1",
        "https://rp.example/cb/",
    ] {
        it.refuses(&[("redirect_uri", uri)], "invalid_request")
            .await;
    }
}

#[tokio::test]
async fn par_authorization_request_containing_request_uri_form_param() {
    let it = fixture().await;
    let (_, pushed) = it.push(&[]).await;
    for uri in [
        "urn:ietf:params:oauth:request_uri:pr_other",
        pushed["request_uri"].text(),
    ] {
        it.refuses(&[("request_uri", uri)], "invalid_request").await;
    }
}

#[tokio::test]
async fn ensure_pkce_code_verifier_required() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    let assertion = it.assertion(&json!({}));
    let without = [("code_verifier", "")];
    let answer = it
        .exchange_with(&code, &without, &assertion, Some(&it.proofs))
        .await;
    refused(&answer, "invalid_grant");
}

#[tokio::test]
async fn incorrect_pkce_code_verifier_rejected() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    let assertion = it.assertion(&json!({}));
    let wrong = [(
        "code_verifier",
        "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong",
    )];
    let answer = it
        .exchange_with(&code, &wrong, &assertion, Some(&it.proofs))
        .await;
    refused(&answer, "invalid_grant");
}

/// The refused request does not use the code up.
#[tokio::test]
async fn ensure_holder_of_key_required() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    let assertion = it.assertion(&json!({}));
    let answer = it.exchange_with(&code, &[], &assertion, None).await;
    refused(&answer, "invalid_dpop_proof");
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let token = tokens["access_token"].text();
    assert_eq!(it.userinfo(token).await.0, StatusCode::OK);
    let as_bearer = http_client().get(format!("{}/me", it.host.issuer()));
    let answer = as_bearer.bearer_auth(token).response().await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn ensure_authorization_code_is_bound_to_client() {
    let it = fixture().await;
    let second = Second::new(&it).await;
    let code = it.sign_in().await.parameter("code");
    let assertion = second.assertion(&it);
    let answer = it
        .exchange_with(&code, &[], &assertion, Some(&it.proofs))
        .await;
    refused(&answer, "invalid_grant");
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// The assertion of one application with the `client_id` of another is refused, whose code it may be.
#[tokio::test]
async fn ensure_client_id_in_token_endpoint() {
    let it = fixture().await;
    let second = Second::new(&it).await;
    let first = it.ada.application.id.clone();
    let code = it.sign_in().await.parameter("code");
    for (client, assertion) in [
        (&second.client, it.assertion(&json!({}))),
        (&first, second.assertion(&it)),
    ] {
        let named = [("client_id", client.as_str())];
        let (status, error) = it
            .exchange_with(&code, &named, &assertion, Some(&it.proofs))
            .await;
        assert!(status == 400 || status == 401, "{status} {error}");
        let errors = ["invalid_client", "invalid_request"];
        assert!(errors.contains(&error["error"].text()), "{error}");
    }
    let assertion = it.assertion(&json!({}));
    let own = [("client_id", first.as_str())];
    let (status, tokens) = it
        .exchange_with(&code, &own, &assertion, Some(&it.proofs))
        .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// The second use is refused, and revokes the access token of the first.
#[tokio::test]
async fn attempt_reuse_authorization_code_after_one_second() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let token = tokens["access_token"].text();
    assert_eq!(it.userinfo(token).await.0, StatusCode::OK);
    it.host.advance(1);
    refused(&it.exchange(&code).await, "invalid_grant");
    assert_eq!(it.userinfo(token).await.0, StatusCode::UNAUTHORIZED);
    let refresh = tokens["refresh_token"].text();
    refused(&it.refresh(refresh, &it.proofs).await, "invalid_grant");
}

#[tokio::test]
async fn ensure_authorization_request_without_state_success() {
    let it = fixture().await;
    let page = it.sign_in_with(&[("state", "")]).await;
    let location = page.location();
    let mut names = location.query_pairs().map(|(name, _)| name);
    assert!(!names.any(|name| name == "state"), "{location}");
    let (status, tokens) = it.exchange(&page.parameter("code")).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// States of 128 and 1,000 characters come back without a change.
#[tokio::test]
async fn ensure_authorization_request_with_long_state() {
    let it = fixture().await;
    for length in [128, 1_000] {
        let state: String = "aZ0-._~+/=&% ".chars().cycle().take(length).collect();
        let page = it.sign_in_with(&[("state", &state)]).await;
        assert_eq!(page.parameter("state"), state, "{length}");
    }
}

#[tokio::test]
async fn ensure_authorization_request_without_nonce_success() {
    let it = fixture().await;
    let tokens = it.tokens_of(&[("nonce", "")]).await;
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims.get("nonce"), None);
}

/// Checks that a nonce of this length arrives in the ID token without a change.
async fn nonce_returns(length: usize) {
    let it = fixture().await;
    let nonce: String = "aZ0-._~+/=&% ".chars().cycle().take(length).collect();
    let tokens = it.tokens_of(&[("nonce", &nonce)]).await;
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["nonce"], json!(nonce));
}

#[tokio::test]
async fn ensure_authorization_request_with_64_char_nonce_success() {
    nonce_returns(64).await;
}

#[tokio::test]
async fn ensure_authorization_request_with_long_nonce() {
    for length in [43, 384] {
        nonce_returns(length).await;
    }
}

#[tokio::test]
async fn ensure_other_scope_order_succeeds() {
    let it = fixture().await;
    let tokens = it
        .tokens_of(&[("scope", "offline_access email openid")])
        .await;
    let mut scopes: Vec<&str> = tokens["scope"].text().split(' ').collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["email", "offline_access", "openid"]);
    assert!(tokens["id_token"].is_string() && tokens["refresh_token"].is_string());
}

/// Each claim is where the request asked for it, and only there.
#[tokio::test]
async fn test_claims_parameter_identity_claims() {
    let it = fixture().await;
    let requested = json!({
        "id_token": {"email": {"essential": true}, "name": null},
        "userinfo": {"given_name": null, "phone_number": null},
    });
    let requested = requested.to_string();
    let tokens = it.tokens_of(&[("claims", requested.as_str())]).await;
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["email"], "ada@example.org");
    assert_eq!(claims["name"], "Ada Lovelace");
    for absent in ["given_name", "phone_number"] {
        assert_eq!(claims.get(absent), None, "{claims}");
    }
    let (status, info) = it.userinfo(tokens["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{info}");
    assert_eq!(info["given_name"], "Ada");
    assert_eq!(info["phone_number"], "+44 20 7946 0000");
    for absent in ["email", "name"] {
        assert_eq!(info.get(absent), None, "{info}");
    }
    assert_eq!(info["sub"], claims["sub"]);
}

/// `dpop_jkt` without a proof binds the code to the key.
#[tokio::test]
async fn ensure_dpop_auth_code_binding_success() {
    let it = fixture().await;
    let thumbprint = it.proofs.thumbprint();
    let named = [("dpop_jkt", thumbprint.as_str())];
    let pushed = it.push_without_proof(&named).await;
    let code = it.sign_in_by(&pushed).await.parameter("code");
    let assertion = it.assertion(&json!({}));
    let other = ProofKey::generate();
    let answer = it.exchange_with(&code, &[], &assertion, Some(&other)).await;
    refused(&answer, "invalid_grant");
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert_eq!(tokens["token_type"], "DPoP");
}

/// The proof of the pushed request has another key than `dpop_jkt` names.
#[tokio::test]
async fn ensure_mismatched_dpop_jkt_fails() {
    let it = fixture().await;
    let other = ProofKey::generate().thumbprint();
    let named = [("dpop_jkt", other.as_str())];
    it.refuses(&named, "invalid_dpop_proof").await;
    let own = it.proofs.thumbprint();
    let (status, answer) = it.push(&[("dpop_jkt", &own)]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

/// The proof of the pushed request binds the code to its key.
#[tokio::test]
async fn ensure_token_endpoint_fails_with_mismatched_dpop_proof_jkt() {
    let it = fixture().await;
    let code = it.sign_in().await.parameter("code");
    let assertion = it.assertion(&json!({}));
    let other = ProofKey::generate();
    let answer = it.exchange_with(&code, &[], &assertion, Some(&other)).await;
    refused(&answer, "invalid_grant");
    let (status, tokens) = it.exchange(&code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// The second client of the suite has a callback with a query, which stays.
#[tokio::test]
async fn happy_flow_of_a_callback_with_a_query() {
    let it = fixture().await;
    let callback = "https://rp.example/cb?dummy1=lorem&dummy2=ipsum";
    let path = format!("/applications/{}", it.ada.application.id);
    let change = json!({"redirect_uris": [callback]});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let state = "s".repeat(128);
    for mode in ["query", "jwt"] {
        let page = it
            .sign_in_with(&[
                ("redirect_uri", callback),
                ("response_mode", mode),
                ("state", &state),
            ])
            .await;
        assert!(page.location().as_str().starts_with(callback), "{mode}");
        assert_eq!(page.parameter("dummy1"), "lorem");
        assert_eq!(page.parameter("dummy2"), "ipsum");
        let names: Vec<String> = page
            .location()
            .query_pairs()
            .map(|(name, _)| name.into_owned())
            .collect();
        let (code, returned) = if mode == "jwt" {
            assert_eq!(names, ["dummy1", "dummy2", "response"]);
            let claims = jwt_claims(&page.parameter("response"));
            (claims["code"].text().to_owned(), claims["state"].clone())
        } else {
            assert_eq!(names.len(), 5, "{names:?}");
            (page.parameter("code"), json!(page.parameter("state")))
        };
        assert_eq!(returned, json!(state), "{mode}");
        let assertion = it.assertion(&json!({}));
        let changes = [("redirect_uri", callback)];
        let (status, tokens) = it
            .exchange_with(&code, &changes, &assertion, Some(&it.proofs))
            .await;
        assert_eq!(status, StatusCode::OK, "{mode}: {tokens}");
    }
}
