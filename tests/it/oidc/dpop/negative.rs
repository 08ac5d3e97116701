//! Proofs that are not accepted.

use josekit::jws::{HS256, JwsHeader, RS256};
use josekit::jwt::{self, JwtPayload};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{ask, bound_token, me, push, pushed_requests, refused, token_endpoint, userinfo};
use crate::harness::proof_key::{claims, digest};
use crate::harness::{EncodedKey, Json, ProofKey, TestHost, rsa_key};

/// A request that needs a proof.
struct Target<'a> {
    host: &'a TestHost,
    key: &'a ProofKey,
    method: &'a str,
    address: String,
    /// The claims beside the usual ones.
    claims: Value,
}

impl Target<'_> {
    /// Returns a proof with these changes to its claims; null removes one.
    fn with_claims(&self, changes: Value) -> String {
        let mut all = self.claims.clone();
        all.members_mut().extend(changes.members().clone());
        self.key.proof(self.host, self.method, &self.address, all)
    }

    /// Returns a proof with these changes to its header; null removes a member.
    fn with_header(&self, changes: Value) -> String {
        let mut header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.public()});
        header.members_mut().extend(changes.members().clone());
        header.members_mut().retain(|_, value| !value.is_null());
        self.key.proof_with(&header, self.payload())
    }

    fn payload(&self) -> serde_json::Map<String, Value> {
        claims(self.host, self.method, &self.address, self.claims.clone())
    }

    /// Returns proofs that no endpoint accepts.
    fn wrong(&self) -> Vec<String> {
        let other = ProofKey::generate();
        let now = assent_model::clock::Clock::now(&*self.host.clock).seconds();
        let good = self.with_claims(json!({}));
        let mut tampered = good.clone();
        tampered.truncate(good.len() - 8);
        tampered.push_str("AAAAAAAA");
        let payload = self.payload();
        let mut wrong = vec![
            "not a JWT".to_owned(),
            String::new(),
            tampered,
            "x".repeat(9000),
            self.with_header(json!({"typ": null})),
            self.with_header(json!({"typ": "JWT"})),
            self.with_header(json!({"jwk": null})),
            self.with_header(json!({"jwk": self.key.private()})),
            self.with_header(json!({"jwk": other.public()})),
            self.with_header(json!({"jwk": "text"})),
            by_rs256(&payload),
            by_hs256(&payload),
            unsigned(&payload),
        ];
        for claim in ["jti", "htm", "htu", "iat"] {
            wrong.push(self.with_claims(json!({claim: null})));
            wrong.push(self.with_claims(json!({claim: ["list"]})));
        }
        for (claim, value) in [
            ("jti", json!("")),
            ("jti", json!("x".repeat(257))),
            ("htm", json!("PUT")),
            ("htm", json!(self.method.to_lowercase())),
            ("htu", json!(format!("{}/session/end", self.host.issuer()))),
            ("htu", json!("https://evil.example/oidc/me")),
            ("htu", json!(format!("{}/", self.address))),
            ("htu", json!("/oidc/me")),
            ("iat", json!(now - 31)),
            ("iat", json!(now + 31)),
            ("iat", json!(now - 70 * 60)),
            ("iat", json!(now + 70 * 60)),
        ] {
            wrong.push(self.with_claims(json!({claim: value})));
        }
        wrong
    }
}

#[tokio::test]
async fn dpop_negative_tests() {
    let (host, key, token) = bound_token().await;
    let authorization = format!("DPoP {token}");
    let target = Target {
        host: &host,
        key: &key,
        method: "GET",
        address: userinfo(&host),
        claims: json!({"ath": digest(&token)}),
    };
    let mut wrong = target.wrong();
    for ath in [
        Value::Null,
        json!(["list"]),
        json!(digest("another token")),
        json!(token),
    ] {
        wrong.push(target.with_claims(json!({"ath": ath})));
    }
    wrong.push(target.with_claims(json!({"htm": "POST"})));
    wrong.push(target.with_claims(json!({"htu": token_endpoint(&host)})));
    let by_other = ProofKey::generate();
    wrong.push(by_other.proof(&host, "GET", &target.address, target.claims.clone()));
    for proof in &wrong {
        let (status, error, challenge) = me(&host.base, &authorization, &[proof]).await;
        assert_eq!(
            (status, error.as_str()),
            (StatusCode::UNAUTHORIZED, "invalid_dpop_proof"),
            "{proof}"
        );
        assert!(
            challenge.starts_with("DPoP error=\"invalid_dpop_proof\""),
            "{challenge}"
        );
    }
    let good = target.with_claims(json!({}));
    let (status, ..) = me(&host.base, &authorization, &[&good]).await;
    assert_eq!(status, StatusCode::OK);
    let (status, error, _) = me(&host.base, &authorization, &[&good]).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_dpop_proof"),
        "a replay"
    );
}

/// The same proofs at the token endpoint, and two proofs in one request.
#[tokio::test]
async fn dpop_negative_tests_at_the_token_endpoint() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let key = ProofKey::generate();
    let target = Target {
        host: &host,
        key: &key,
        method: "POST",
        address: token_endpoint(&host),
        claims: json!({}),
    };
    let mut wrong = target.wrong();
    wrong.push(target.with_claims(json!({"htm": "GET"})));
    wrong.push(target.with_claims(json!({"htu": pushed_requests(&host)})));
    let form = [("grant_type", "client_credentials")];
    let send = async |proofs: &[&str]| ask(&host.base, &ada.application, &form, proofs).await;
    for proof in &wrong {
        let answer = send(&[proof]).await;
        assert_eq!(answer.0, StatusCode::BAD_REQUEST, "{proof}: {}", answer.1);
        refused(&answer, "invalid_dpop_proof");
    }
    let [one, two] = [target.with_claims(json!({})), target.with_claims(json!({}))];
    refused(&send(&[&one, &two]).await, "invalid_dpop_proof");
    refused(&send(&[&one, &one]).await, "invalid_dpop_proof");
    let (status, answer) = send(&[&target.with_claims(json!({}))]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// The same proofs with a pushed request.
#[tokio::test]
async fn dpop_negative_tests_with_a_pushed_request() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let key = ProofKey::generate();
    let target = Target {
        host: &host,
        key: &key,
        method: "POST",
        address: pushed_requests(&host),
        claims: json!({}),
    };
    let mut wrong = target.wrong();
    wrong.push(target.with_claims(json!({"htm": "GET"})));
    wrong.push(target.with_claims(json!({"htu": token_endpoint(&host)})));
    let send = async |proofs: &[&str]| push(&host.base, &web, &[], proofs).await;
    for proof in &wrong {
        let answer = send(&[proof]).await;
        assert_eq!(answer.0, StatusCode::BAD_REQUEST, "{proof}: {}", answer.1);
        refused(&answer, "invalid_dpop_proof");
    }
    let [one, two] = [target.with_claims(json!({})), target.with_claims(json!({}))];
    refused(&send(&[&one, &two]).await, "invalid_dpop_proof");
    let (status, answer) = send(&[&target.with_claims(json!({}))]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

fn by_rs256(claims: &serde_json::Map<String, Value>) -> String {
    let key = rsa_key();
    let jwk = assent::keys::client::key_of_pem(&key.public_pem()).expect("a key");
    let mut header = JwsHeader::new();
    header.set_token_type("dpop+jwt");
    header
        .set_claim("jwk", Some(Value::Object(jwk)))
        .expect("set");
    let payload = JwtPayload::from_map(claims.clone()).expect("a payload");
    let signer = RS256.signer_from_der(key.pkcs8_der()).expect("a signer");
    jwt::encode_with_signer(&payload, &header, &signer).expect("signed")
}

fn by_hs256(claims: &serde_json::Map<String, Value>) -> String {
    let mut header = JwsHeader::new();
    header.set_token_type("dpop+jwt");
    let secret = "a-secret-of-more-than-thirty-two-bytes";
    let jwk = json!({"kty": "oct", "k": "YS1zZWNyZXQtb2YtbW9yZS10aGFuLXRoaXJ0eS10d28tYnl0ZXM"});
    header.set_claim("jwk", Some(jwk)).expect("set");
    let payload = JwtPayload::from_map(claims.clone()).expect("a payload");
    let signer = HS256.signer_from_bytes(secret).expect("a signer");
    jwt::encode_with_signer(&payload, &header, &signer).expect("signed")
}

fn unsigned(claims: &serde_json::Map<String, Value>) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"typ": "dpop+jwt", "alg": "none"});
    format!(
        "{}.{}.",
        part(&header),
        part(&Value::Object(claims.clone()))
    )
}

/// Any client can send a proof, so a key that takes long to verify is refused before that.
#[tokio::test]
async fn a_proof_has_no_expensive_key() {
    let (host, key, token) = bound_token().await;
    let long = |characters: usize| "_".repeat(characters);
    for jwk in [
        json!({"kty": "RSA", "n": long(2731), "e": "AQAB"}),
        json!({"kty": "RSA", "n": long(683), "e": long(683)}),
        json!({"kty": "RSA", "n": long(171), "e": "AQAB"}),
    ] {
        let header = json!({"typ": "dpop+jwt", "alg": "PS256", "jwk": jwk});
        let claims = claims(
            &host,
            "GET",
            &userinfo(&host),
            json!({"ath": digest(&token)}),
        );
        let proof = key.proof_with(&header, claims);
        let (status, error, _) = me(&host.base, &format!("DPoP {token}"), &[&proof]).await;
        assert_eq!(
            (status, error.as_str()),
            (StatusCode::UNAUTHORIZED, "invalid_dpop_proof")
        );
    }
}
