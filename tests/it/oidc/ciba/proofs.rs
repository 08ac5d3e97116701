//! Back-channel requests with keys and certificates of clients, hints with other tokens, and the end of a session that
//! no browser has.

use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::{GRANT, approved, ask, asked, pending, permit, poll, start, start_with};
use crate::harness::proof_key::digest;
use crate::harness::tls::{certificate_of, client, mtls_settings};
use crate::harness::{
    Application, Database, HostOptions, ProofKey, Respond, TestHost, Text, http_client, id,
    jwt_claims, jwt_header,
};
use crate::oidc::backchannel::{PRIVATE, Receiver, register};

/// Polls with this DPoP proof.
async fn poll_with(
    host: &TestHost,
    application: &Application,
    auth_req_id: &str,
    proof: &str,
) -> (StatusCode, Value) {
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id)];
    let request = http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&application.id, application.secret.as_ref())
        .header("DPoP", proof)
        .form(&form);
    let response = request.response().await;
    (response.status(), response.json().await.unwrap_or_default())
}

/// A DPoP proof is valid once, also at the claim, and a rejected one claims nothing.
#[both_databases]
async fn a_replayed_proof_claims_nothing(database: Database) {
    let (host, ada) = start(database).await;
    let key = ProofKey::generate();
    let prove = || {
        key.proof(
            &host,
            "POST",
            &format!("{}/token", host.issuer()),
            json!({}),
        )
    };
    let used = prove();
    let auth_req_id = asked(&host, &ada, &[]).await;
    ada.device.approve(&pending(&ada.device).await, "").await;
    let (status, tokens) = poll_with(&host, &ada.application, &auth_req_id, &used).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["token_type"], "DPoP");
    let auth_req_id = asked(&host, &ada, &[]).await;
    ada.device.approve(&pending(&ada.device).await, "").await;
    let (status, answer) = poll_with(&host, &ada.application, &auth_req_id, &used).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{database:?}: {answer}");
    assert_eq!(answer["error"], "invalid_dpop_proof", "{database:?}");
    let (status, tokens) = poll_with(&host, &ada.application, &auth_req_id, &prove()).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    // The token is useless without the key.
    let access = tokens["access_token"].text();
    let me = |authorization: String, proof: Option<String>| {
        let request = http_client()
            .get(format!("{}/oidc/me", host.base))
            .header("Authorization", authorization);
        let request = match proof {
            Some(proof) => request.header("DPoP", proof),
            None => request,
        };
        async move { request.response().await.status() }
    };
    let stolen = me(format!("Bearer {access}"), None).await;
    assert_eq!(stolen, StatusCode::UNAUTHORIZED, "{database:?}");
    let address = format!("{}/me", host.issuer());
    let proof = key.proof(&host, "GET", &address, json!({"ath": digest(access)}));
    let own = me(format!("DPoP {access}"), Some(proof)).await;
    assert_eq!(own, StatusCode::OK, "{database:?}");
}

/// `fapi-ciba-id1-ensure-mtls-holder-of-key-required`: the tokens of a claim are bound to the certificate of the
/// connection.
#[tokio::test]
async fn fapi_ciba_id1_ensure_mtls_holder_of_key_required() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, another] = ["own", "other"].map(certificate_of);
    let (settings, server) = mtls_settings(folder.path(), "");
    let options = HostOptions {
        settings: &settings,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let ada = host.ada().await;
    permit(&host, &ada.application).await;
    let path = format!("/applications/{}", ada.application.id);
    let bound = json!({"tls_client_certificate_bound_access_tokens": true});
    host.admin_ok(Method::PATCH, &path, bound).await;
    let base = host.host.settings.http.mtls_url.as_ref();
    let base = base.expect("an address").to_string();
    let base = base.trim_end_matches('/');
    let [with, other] = [&own, &another].map(|own| client(&server, Some(own)));

    let auth_req_id = asked(&host, &ada, &[]).await;
    ada.device.approve(&pending(&ada.device).await, "").await;
    // Without a certificate the claim is rejected, and uses up nothing.
    let (status, answer) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id.as_str())];
    let request = with
        .post(format!("{base}/oidc/token"))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&form);
    let response = request.response().await;
    let status = response.status();
    let tokens: Value = response.json().await.unwrap_or_default();
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let access = tokens["access_token"].text();
    let me = async |by: &Client| {
        let request = by.get(format!("{base}/oidc/me")).bearer_auth(access);
        request.response().await.status()
    };
    assert_eq!(me(&with).await, StatusCode::OK);
    assert_eq!(me(&other).await, StatusCode::UNAUTHORIZED, "a stolen token");
}

/// The application is notified of the end of the session, which no browser has.
#[tokio::test]
async fn the_end_of_a_session_without_a_browser_sends_a_logout_token() {
    let (host, ada) = start_with(Database::Sqlite, PRIVATE).await;
    let mut receiver = Receiver::start().await;
    register(&host, &ada.application, &receiver, "200").await;
    let tokens = approved(&host, &ada, &[]).await;
    let signed_in = jwt_claims(tokens["id_token"].text());
    let path = format!("/users/{}/sessions", id(&ada.user));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let logout = receiver.next().await;
    let claims = jwt_claims(&logout);
    for same in ["iss", "sub", "aud", "sid"] {
        assert_eq!(claims[same], signed_in[same], "{same}");
    }
}

/// A `sub` that differs by application names the user only to this application.
#[both_databases]
async fn a_pairwise_id_token_hint_names_the_user_of_an_open_session(database: Database) {
    let (host, ada) = start(database).await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"subject_type": "pairwise"}))
        .await;
    let tokens = approved(&host, &ada, &[]).await;
    let hint = tokens["id_token"].text();
    assert_ne!(jwt_claims(hint)["sub"], ada.user["id"]);
    let changes = [("login_hint", None), ("id_token_hint", Some(hint))];
    asked(&host, &ada, &changes).await;
    assert_eq!(pending(&ada.device).await.account, "ada", "{database:?}");
    let other = host.web_application().await;
    permit(&host, &other).await;
    host.account(&ada.user, &other).await;
    let (status, answer) = ask(&host.base, &other, &changes).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{database:?}: {answer}");
    assert_eq!(answer["error"], "invalid_request");
    // Without an open session the subject cannot be computed back.
    let path = format!("/users/{}/sessions", id(&ada.user));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let (_, answer) = ask(&host.base, &ada.application, &changes).await;
    assert_eq!(answer["error"], "unknown_user_id", "{database:?}");
}

/// JWTs as hints: `alg: none`, without a signature, signed by another key, and other claims under the signature.
#[tokio::test]
async fn a_forged_id_token_hint_names_nobody() {
    let (host, ada) = start(Database::Sqlite).await;
    let tokens = approved(&host, &ada, &[]).await;
    let hint = tokens["id_token"].text();
    let header = jwt_header(hint);
    let claims = jwt_claims(hint);
    let parts: Vec<&str> = hint.split('.').collect();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!("{}.{}.", part(&json!({"alg": "none"})), parts[1]);
    let same_key = json!({"alg": "none", "kid": header["kid"]});
    let foreign = ProofKey::generate();
    let signed = foreign.proof_with(
        &json!({"alg": "ES256", "kid": header["kid"]}),
        claims.as_object().cloned().unwrap_or_default(),
    );
    let mut other = claims.clone();
    other["sub"] = json!("somebody");
    for forged in [
        unsigned,
        format!("{}.{}.", part(&same_key), parts[1]),
        format!("{}.{}.{}", part(&same_key), parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], part(&other), parts[2]),
        signed,
        tokens["access_token"].text().to_owned(),
    ] {
        let changes = [
            ("login_hint", None),
            ("id_token_hint", Some(forged.as_str())),
        ];
        let (status, answer) = ask(&host.base, &ada.application, &changes).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{forged}: {answer}");
        assert_eq!(answer["error"], "invalid_request", "{forged}");
    }
}
