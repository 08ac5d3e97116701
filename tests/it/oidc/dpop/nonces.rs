//! Nonces, and the endpoints beside the token endpoint: of browsers and of the admin API.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ask, me, push, pushed_requests, refused, token_endpoint, userinfo};
use crate::harness::proof_key::digest;
use crate::harness::{
    Application, Database, HostOptions, ProofKey, Respond, TestHost, Text, http_client,
};

/// With the setting, each proof needs a nonce of the last minutes. Then the clock of the client does not matter.
#[tokio::test]
async fn nonces_are_required_by_setting() {
    let settings = "[oidc]\ndpop_nonces = true\n";
    let (host, ada) = TestHost::start_with_settings(settings)
        .await
        .with_ada()
        .await;
    let key = ProofKey::generate();
    let own = [("grant_type", "client_credentials")];
    let send = async |changes: Value| {
        let proof = key.proof(&host, "POST", &token_endpoint(&host), changes);
        let request = http_client()
            .post(format!("{}/oidc/token", host.base))
            .basic_auth(&ada.application.id, ada.application.secret.as_ref())
            .header("DPoP", proof)
            .form(&own);
        let response = request.response().await;
        let nonces: Vec<String> = response
            .headers()
            .get_all("dpop-nonce")
            .iter()
            .map(|nonce| nonce.to_str().expect("text").to_owned())
            .collect();
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        (status, body, nonces)
    };
    let (status, answer, nonces) = send(json!({})).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("use_dpop_nonce"))
    );
    let [nonce] = nonces.as_slice() else {
        panic!("{nonces:?}")
    };
    // The client's clock is wrong by an hour.
    let late = assent_model::clock::Clock::now(&*host.clock).seconds() - 3600;
    let (status, answer, nonces) = send(json!({"nonce": nonce, "iat": late})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(nonces.len(), 1, "the next nonce");
    let token = answer["access_token"].text().to_owned();
    let proof = key.proof_with_token(&host, "GET", &userinfo(&host), &token);
    let (status, error, challenge) = me(&host.base, &format!("DPoP {token}"), &[&proof]).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "use_dpop_nonce")
    );
    assert!(
        challenge.starts_with("DPoP error=\"use_dpop_nonce\""),
        "{challenge}"
    );
    // The nonce limits the age of a proof, and its jti is used once all the same.
    let proof = key.proof(
        &host,
        "POST",
        &token_endpoint(&host),
        json!({"nonce": nonce}),
    );
    let (status, _) = ask(&host.base, &ada.application, &own, &[&proof]).await;
    assert_eq!(status, StatusCode::OK);
    host.advance(120);
    refused(
        &ask(&host.base, &ada.application, &own, &[&proof]).await,
        "invalid_dpop_proof",
    );
    let changed = format!("{}A", &nonce[..nonce.len() - 1]);
    for wrong in ["", "unknown", &changed, &"A".repeat(32)] {
        let (_, answer, _) = send(json!({"nonce": wrong})).await;
        assert_eq!(answer["error"], "use_dpop_nonce", "{wrong}");
    }
    host.advance(6 * 60);
    let (_, answer, _) = send(json!({"nonce": nonce})).await;
    assert_eq!(answer["error"], "use_dpop_nonce", "an old nonce");
}

/// With the setting, a pushed request needs one, too. The answer has exactly one nonce.
#[tokio::test]
async fn nonces_are_required_with_pushed_requests() {
    let settings = "[oidc]\ndpop_nonces = true\n";
    let host = TestHost::start_with_settings(settings).await;
    let web = host.web_application().await;
    let key = ProofKey::generate();
    let request = web.request(&[]);
    let query = request.split_once('?').expect("a query").1;
    let send = async |changes: Value| {
        let proof = key.proof(&host, "POST", &pushed_requests(&host), changes);
        let response = http_client()
            .post(format!("{}/oidc/par", host.base))
            .basic_auth(&web.id, web.secret.as_ref())
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("DPoP", proof)
            .body(query.to_owned())
            .response()
            .await;
        let nonces: Vec<String> = response
            .headers()
            .get_all("dpop-nonce")
            .iter()
            .map(|nonce| nonce.text().to_owned())
            .collect();
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        (status, body["error"].clone(), nonces)
    };
    let mut nonce = json!(null);
    for sent in [json!({}), json!({"nonce": "unknown"}), json!({"nonce": ""})] {
        let (status, error, nonces) = send(sent).await;
        assert_eq!(
            (status, error),
            (StatusCode::BAD_REQUEST, json!("use_dpop_nonce"))
        );
        let [next] = nonces.as_slice() else {
            panic!("{nonces:?}")
        };
        let permitted = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        assert!(next.bytes().all(permitted), "{next}");
        nonce = json!(next);
    }
    let (status, error, nonces) = send(json!({"nonce": nonce})).await;
    assert_eq!(status, StatusCode::CREATED, "{error}");
    assert_eq!(nonces.len(), 1, "the next nonce");
    // A request without a proof needs none.
    let (status, answer) = push(&host.base, &web, &[], &[]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

/// Pages of single-page applications read the nonce.
#[tokio::test]
async fn browsers_may_send_proofs_and_read_nonces() {
    let host = TestHost::start().await;
    let body = json!({
        "name": "Pages", "application_type": "spa", "redirect_uris": ["https://spa.example/cb"],
    });
    host.admin_ok(Method::POST, "/applications", body).await;
    for path in ["/oidc/token", "/oidc/par", "/oidc/me"] {
        let response = http_client()
            .request(Method::OPTIONS, format!("{}{path}", host.base))
            .header("Origin", "https://spa.example")
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "dpop")
            .response()
            .await;
        let allowed = response.headers()["access-control-allow-headers"]
            .to_str()
            .expect("text");
        assert!(allowed.contains("dpop"), "{path}: {allowed}");
        let request = http_client().post(format!("{}{path}", host.base));
        let response = request
            .header("Origin", "https://spa.example")
            .response()
            .await;
        let exposed = response.headers()["access-control-expose-headers"]
            .to_str()
            .expect("text");
        assert!(exposed.contains("dpop-nonce"), "{path}: {exposed}");
    }
}

/// A service account may bind its tokens for the admin API. A proof is valid once, also at another instance.
#[tokio::test]
async fn the_admin_api_accepts_bound_tokens_with_a_proof() {
    let host = TestHost::start_on(Database::Postgres).await;
    let options = HostOptions {
        base_url: &host.base,
        settings: "[oidc]\ndpop_nonces = true\n",
        ..HostOptions::default()
    };
    let (_second, _running, with_nonces) = host.second(options).await;
    let options = HostOptions {
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_third, _running, other) = host.second(options).await;
    let body = json!({
        "name": "Robot", "application_type": "web", "redirect_uris": [],
        "grant_types": ["client_credentials"], "admin_scopes": ["admin:users"],
        "dpop_bound_access_tokens": true,
    });
    let created = host.admin_ok(Method::POST, "/applications", body).await;
    let path = format!("/applications/{}/secret/rotate", created["id"].text());
    let secret = host.admin_ok(Method::POST, &path, Value::Null).await;
    let robot = Application {
        id: created["id"].text().to_owned(),
        secret: secret["client_secret"].as_str().map(str::to_owned),
        redirect_uri: String::new(),
    };
    let key = ProofKey::generate();
    let proof = key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let form = [
        ("grant_type", "client_credentials"),
        ("scope", "admin:users"),
    ];
    let (status, tokens) = ask(&host.base, &robot, &form, &[&proof]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let token = tokens["access_token"].text();
    let address = |path: &str| format!("{}{path}", host.base);
    let users = "/admin/api/v1/users";
    let call = async |base: &str, method: Method, authorization: String, proof: Option<&str>| {
        let mut request = http_client()
            .request(method, format!("{base}{users}"))
            .header("Authorization", authorization)
            .json(&json!({"name": format!("user-{}", crate::harness::proof_key::digest(base))}));
        if let Some(proof) = proof {
            request = request.header("DPoP", proof);
        }
        let response = request.response().await;
        let header = |name| {
            let value = response.headers().get(name).cloned();
            value.map(|value| value.to_str().expect("text").to_owned())
        };
        let (challenge, nonce) = (header("www-authenticate"), header("dpop-nonce"));
        (response.status(), challenge.unwrap_or_default(), nonce)
    };
    let prove =
        |method: &str, path: &str| key.proof_with_token(&host, method, &address(path), token);
    let dpop = format!("DPoP {token}");
    let proof = prove("POST", users);
    let (status, ..) = call(&host.base, Method::POST, dpop.clone(), Some(&proof)).await;
    assert_eq!(status, StatusCode::CREATED);
    for base in [&host.base, &other] {
        let (status, challenge, _) = call(base, Method::POST, dpop.clone(), Some(&proof)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "a replay");
        assert!(
            challenge.starts_with("DPoP error=\"invalid_dpop_proof\""),
            "{challenge}"
        );
    }
    let bearer = format!("Bearer {token}");
    for (authorization, proof) in [
        (&bearer, Some(prove("GET", users))),
        (&bearer, None),
        (&dpop, None),
        (&dpop, Some(prove("GET", "/users"))),
        (&dpop, Some(prove("POST", users))),
    ] {
        let answer = call(
            &host.base,
            Method::GET,
            authorization.clone(),
            proof.as_deref(),
        )
        .await;
        assert_eq!(answer.0, StatusCode::UNAUTHORIZED, "{authorization}");
    }
    // With nonces, the client learns the next one.
    let proof = prove("GET", users);
    let (status, challenge, nonce) =
        call(&with_nonces, Method::GET, dpop.clone(), Some(&proof)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(
        challenge.starts_with("DPoP error=\"use_dpop_nonce\""),
        "{challenge}"
    );
    let claims = json!({"ath": digest(token), "nonce": nonce.expect("a nonce")});
    let proof = key.proof(&host, "GET", &address(users), claims);
    let (status, _, nonce) = call(&with_nonces, Method::GET, dpop, Some(&proof)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(nonce.is_some(), "the next nonce");
}
