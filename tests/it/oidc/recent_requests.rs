//! The requests of an application in the last hour, for its administrator.

use std::time::Duration;

use assent::domain::operations::recent_requests;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::proof_key::ProofKey;
use crate::harness::{
    Application, Browser, Database, Respond, TestHost, Text, VERIFIER, http_client,
};

/// Returns the shown requests of an application, as soon as there are so many.
async fn shown(host: &TestHost, application: &Application, count: usize) -> Vec<Value> {
    let path = format!("/applications/{}/requests", application.id);
    for _ in 0..100 {
        let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        if items.len() >= count {
            return items;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{count} requests are not shown");
}

/// Posts a form with the secret of the application.
async fn post(host: &TestHost, path: &str, secret: &str, form: &[(&str, &str)]) -> StatusCode {
    let application = form.first().expect("client_id first").1;
    let request = http_client()
        .post(format!("{}{path}", host.base))
        .basic_auth(application, Some(secret))
        .form(form);
    request.response().await.status()
}

#[both_databases]
async fn an_administrator_sees_what_an_application_sent_and_why_it_was_rejected(
    database: Database,
) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    let application = &ada.application;
    ada.tokens(&host, &browser).await;
    let secret = application.secret.clone().expect("a secret");
    let id = application.id.as_str();
    let status = post(&host, "/oidc/token", "wrong-secret", &[("client_id", id)]).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let key = ProofKey::generate();
    let object = key.proof_with(
        &json!({"alg": "ES256"}),
        json!({"iss": "someone", "scope": "openid", "login_hint": "ada"})
            .as_object()
            .cloned()
            .unwrap_or_default(),
    );
    let path = format!("/applications/{id}");
    let keys = json!({"jwks": {"keys": [key.public()]}});
    host.admin_ok(Method::PATCH, &path, keys).await;
    let form = [("client_id", id), ("request", object.as_str())];
    assert_eq!(
        post(&host, "/oidc/par", &secret, &form).await,
        StatusCode::BAD_REQUEST
    );
    let requests = shown(&host, application, 4).await;
    let of = |request: &Value| {
        let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
        (text("endpoint"), text("error"))
    };
    let mut known: Vec<(String, String)> = requests.iter().map(of).collect();
    // The clock of the host stands still.
    known.sort();
    let expected = [
        ("/oidc/auth", ""),
        ("/oidc/par", "invalid_request_object"),
        ("/oidc/token", ""),
        ("/oidc/token", "invalid_client"),
    ];
    assert_eq!(
        known,
        expected.map(|(one, other)| (one.to_owned(), other.to_owned()))
    );
    let rejected = requests.iter().find(|one| one["endpoint"] == "/oidc/par");
    let rejected = rejected.expect("a pushed request");
    assert!(rejected["reason"].text().contains("iss"), "{rejected}");
    let part = &rejected["parts"][1];
    assert_eq!(part["part"], "request_object");
    assert_eq!(part["header"]["alg"], "ES256");
    assert_eq!(part["members"]["iss"], "someone");
    assert_eq!(part["members"]["login_hint"], "…");
    // Neither secrets nor what identifies a user.
    let all = json!(requests).to_string();
    let signature = object.rsplit('.').next().expect("a signature");
    for secret in [secret.as_str(), "wrong-secret", signature, "ada", &object] {
        assert!(!all.contains(secret), "{database:?}: {secret}");
    }
    host.clock.advance(Duration::from_secs(3601));
    let id = id.parse().expect("a DID");
    let later = recent_requests::of_application(&host.host, &id).await;
    assert_eq!(later.expect("read"), [], "{database:?}");
}

/// Strangers who know the Client ID cannot fill the table, nor hide what is accepted.
#[tokio::test]
async fn many_rejected_requests_are_few_rows() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let id = ada.application.id.as_str();
    for _ in 0..40 {
        let address = format!("{}/oidc/auth?client_id={id}", host.base);
        let status = http_client().get(&address).response().await.status();
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
    ada.tokens(&host, &Browser::new(&host.base)).await;
    let requests = shown(&host, &ada.application, 4).await;
    let rejected = requests
        .iter()
        .filter(|one| !one["error"].is_null())
        .count();
    assert_eq!((requests.len(), rejected), (4, 2));
    // A request that names an unknown application is not stored.
    let unknown = format!("{}/oidc/auth?client_id=did:web:unknown.example", host.base);
    http_client().get(&unknown).response().await;
    assert_eq!(shown(&host, &ada.application, 4).await.len(), 4);
}

/// A request of UserInfo with a wrong proof names its rule. Accepted ones are not listed.
#[tokio::test]
async fn a_rejected_userinfo_request_is_shown_with_its_proof() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let (key, other) = (ProofKey::generate(), ProofKey::generate());
    let code = ada.sign_in_with(&browser, &[]).await;
    let application = &ada.application;
    let token_endpoint = format!("{}/token", host.issuer());
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", application.redirect_uri.as_str()),
        ("code_verifier", VERIFIER),
    ];
    let request = http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&application.id, application.secret.as_ref())
        .header("DPoP", key.proof(&host, "POST", &token_endpoint, json!({})))
        .form(&form);
    let tokens: Value = request.response().await.json().await.expect("JSON");
    let token = tokens["access_token"].text();
    let address = format!("{}/me", host.issuer());
    let me = async |scheme: &str, key: &ProofKey| {
        let proof = key.proof_with_token(&host, "GET", &address, token);
        let request = http_client()
            .get(format!("{}/oidc/me", host.base))
            .header("Authorization", format!("{scheme} {token}"))
            .header("DPoP", proof);
        request.response().await.status()
    };
    assert_eq!(me("DPoP", &key).await, StatusCode::OK);
    assert_eq!(me("DPoP", &other).await, StatusCode::UNAUTHORIZED);
    assert_eq!(me("Bearer", &key).await, StatusCode::UNAUTHORIZED);
    let requests = shown(&host, application, 4).await;
    let at_userinfo = |error: &str| {
        let mut all = requests.iter();
        let found = all.find(|one| one["endpoint"] == "/oidc/me" && one["error"] == error);
        found.unwrap_or_else(|| panic!("{error}: {requests:?}"))
    };
    let by_other = at_userinfo("invalid_dpop_proof");
    assert!(
        by_other["reason"].text().contains("another key"),
        "{by_other}"
    );
    let proof = &by_other["parts"][1];
    assert_eq!(
        (&proof["part"], &proof["members"]["htu"]),
        (&json!("proof"), &json!(address))
    );
    let reason = at_userinfo("invalid_token")["reason"].text();
    assert!(reason.contains("the scheme DPoP"), "{reason}");
    let count = requests.iter().filter(|one| one["endpoint"] == "/oidc/me");
    assert_eq!(count.count(), 2);
    assert!(!json!(requests).to_string().contains(token));
}

/// The object at a `request_uri` is shown as one that the request contains.
#[tokio::test]
async fn a_fetched_request_object_is_shown() {
    let host = TestHost::start_with_settings("[egress]\nallow_private_addresses = true\n").await;
    let (host, ada) = host.with_ada().await;
    let key = ProofKey::generate();
    let claims = json!({
        "iss": "someone", "response_type": "code", "redirect_uri": "https://rp.example/cb",
    });
    let claims = claims.as_object().cloned().unwrap_or_default();
    let object = key.proof_with(&json!({"alg": "ES256"}), claims);
    let served = object.clone();
    let router =
        axum::Router::new().route("/object", axum::routing::get(move || async move { served }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let uri = format!(
        "http://{}/object",
        listener.local_addr().expect("an address")
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"jwks": {"keys": [key.public()]}, "request_uris": [uri]});
    host.admin_ok(Method::PATCH, &path, change).await;
    let request = ada.application.request(&[("request_uri", Some(&uri))]);
    let answer = Browser::new(&host.base).get(&request).await;
    assert_eq!(answer.parameter("error"), "invalid_request_object");
    let requests = shown(&host, &ada.application, 1).await;
    let part = &requests[0]["parts"][1];
    assert_eq!(part["part"], "request_object", "{requests:?}");
    assert_eq!(part["members"]["iss"], "someone");
}
