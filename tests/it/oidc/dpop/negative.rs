//! Proofs that are not accepted.

use josekit::jws::{HS256, JwsHeader, RS256};
use josekit::jwt::{self, JwtPayload};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{bound_token, me, token_endpoint, userinfo};
use crate::harness::proof_key::{claims, digest};
use crate::harness::{EncodedKey, ProofKey, rsa_key};

#[tokio::test]
async fn dpop_negative_tests() {
    let (host, key, token) = bound_token().await;
    let authorization = format!("DPoP {token}");
    let address = userinfo(&host);
    let ath = digest(&token);
    let valid = json!({"ath": ath});
    let header = |changes: Value| {
        let mut header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": key.public()});
        for (name, value) in changes.as_object().into_iter().flatten() {
            header[name] = value.clone();
        }
        header
            .as_object_mut()
            .expect("an object")
            .retain(|_, value| !value.is_null());
        header
    };
    let with_claims = |changes: Value| {
        let mut all = valid.clone();
        for (name, value) in changes.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        key.proof(&host, "GET", &address, all)
    };
    let with_header = |changes: Value| {
        key.proof_with(
            &header(changes),
            claims(&host, "GET", &address, valid.clone()),
        )
    };
    let other = ProofKey::generate();
    let now = assent_model::clock::Clock::now(&*host.clock).seconds();
    let good = with_claims(json!({}));
    let mut tampered = good.clone();
    tampered.truncate(good.len() - 8);
    tampered.push_str("AAAAAAAA");
    let payload = claims(&host, "GET", &address, valid.clone());
    let by_other_algorithms = [by_rs256(&payload), by_hs256(&payload), unsigned(&payload)];
    let mut wrong = vec![
        "not a JWT".to_owned(),
        String::new(),
        tampered,
        "x".repeat(9000),
        with_header(json!({"typ": null})),
        with_header(json!({"typ": "JWT"})),
        with_header(json!({"jwk": null})),
        with_header(json!({"jwk": key.private()})),
        with_header(json!({"jwk": other.public()})),
        with_header(json!({"jwk": "text"})),
        other.proof(&host, "GET", &address, valid.clone()),
    ];
    for claim in ["jti", "htm", "htu", "iat", "ath"] {
        wrong.push(with_claims(json!({claim: null})));
        wrong.push(with_claims(json!({claim: ["list"]})));
    }
    for (claim, value) in [
        ("jti", json!("")),
        ("jti", json!("x".repeat(257))),
        ("htm", json!("POST")),
        ("htm", json!("get")),
        ("htu", json!(token_endpoint(&host))),
        ("htu", json!("https://evil.example/oidc/me")),
        ("htu", json!(format!("{address}/"))),
        ("htu", json!("/oidc/me")),
        ("iat", json!(now - 31)),
        ("iat", json!(now + 31)),
        ("iat", json!(now - 70 * 60)),
        ("iat", json!(now + 3600)),
        ("ath", json!(digest("another token"))),
    ] {
        wrong.push(with_claims(json!({claim: value})));
    }
    wrong.extend(by_other_algorithms);
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
    let (status, ..) = me(&host.base, &authorization, &[&good]).await;
    assert_eq!(status, StatusCode::OK);
    let (status, error, _) = me(&host.base, &authorization, &[&good]).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_dpop_proof"),
        "a replay"
    );
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
