//! Receipts of back-channel requests, for the application that asked.

use assent_model::receipt::content::{ReceiptAnswer, ReceiptSubject};
use assent_model::receipt::verification::Proof;
use assent_model::secret::Digest;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

use super::ciba::{approved, ask, asked, pending, permit, poll, start, start_with};
use crate::harness::{
    Application, Body, Browser, Database, Respond, TestHost, TestUser, Text, http_client, id,
};
use crate::lifecycle::entries;
use crate::receipts::{key_document, verify};

fn address(host: &TestHost, receipt: &str) -> String {
    format!("{}/oidc/receipts/{receipt}", host.base)
}

/// Reads a receipt with the secret of the application.
async fn read(host: &TestHost, application: &Application, receipt: &str) -> (StatusCode, Value) {
    let request = http_client()
        .get(address(host, receipt))
        .basic_auth(&application.id, application.secret.as_deref());
    let response = request.response().await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    (response.status(), response.read_json().await)
}

/// Asks for Ada, who approves. Returns the identifier of the receipt.
async fn receipt_id(host: &TestHost, ada: &TestUser) -> String {
    let tokens = approved(host, ada, &[]).await;
    tokens["receipt_id"].text().to_owned()
}

#[both_databases]
async fn an_application_reads_the_receipt_of_its_request(database: Database) {
    let (host, ada) = start(database).await;
    let receipt = receipt_id(&host, &ada).await;
    let (status, answer) = read(&host, &ada.application, &receipt).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    assert_eq!(answer["id"], receipt);
    let text = answer["receipt"].text();
    assert_eq!(answer["digest"], Digest::sha256(text.as_bytes()).to_text());
    let (found, proof) = verify(&key_document(&host).await, text).expect("a valid receipt");
    assert!(matches!(proof, Proof::Device(_)), "{proof:?}");
    let content = found.content();
    assert_eq!(answer["decided_at"], content.decided_at);
    assert_eq!(content.request.id.to_string(), receipt);
    assert_eq!(content.request.kind, ReceiptSubject::Backchannel);
    let application = content.request.application.as_ref().expect("one");
    assert_eq!(application.as_str(), ada.application.id);
    let ReceiptAnswer::Device { statement, .. } = &content.answer else {
        panic!("{content:?}");
    };
    assert!(statement.contains("message: \"Order 42\""), "{statement}");
    // It is the one of the audit log.
    let entry = &entries(&host, "event=sign-in.approved").await[0];
    assert_eq!(entry["detail"]["request"], receipt);
    assert_eq!(entry["detail"]["receipt"], answer["digest"]);
    // A client may also post its credentials and nothing else.
    let request = http_client()
        .post(address(&host, &receipt))
        .basic_auth(&ada.application.id, ada.application.secret.as_deref())
        .form(&[("client_id", &ada.application.id)]);
    let posted: Value = request.response().await.read_json().await;
    assert_eq!(posted, answer);
    // An erasure deletes it here, too.
    host.erase_user(&format!("/users/{}", id(&ada.user))).await;
    let (status, _) = read(&host, &ada.application, &receipt).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{database:?}");
}

/// Receipts of other applications, of sign-ins, of denials and of reports, and unknown ones: all look the same.
#[both_databases]
async fn every_other_receipt_is_unknown(database: Database) {
    let (host, ada) = start(database).await;
    let own = receipt_id(&host, &ada).await;
    let other = host.web_application().await;
    permit(&host, &other).await;
    let unknown = read(&host, &ada.application, "0").await;
    assert_eq!(unknown.0, StatusCode::NOT_FOUND);
    assert_eq!(unknown.1["error"], "not_found", "{}", unknown.1);
    assert_eq!(read(&host, &other, &own).await, unknown, "{database:?}");

    ada.sign_in(&Browser::new(&host.base)).await;
    let sign_ins = entries(&host, "event=sign-in.approved").await;
    let sign_in = sign_ins.last().expect("an entry");
    let sign_in = sign_in["detail"]["request"].text();
    assert_ne!(sign_in, own);
    let denied = asked(&host, &ada, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.deny(&request).await;
    let (_, answer) = poll(&host.base, &ada.application, &denied).await;
    assert_eq!(answer["error"], "access_denied");
    assert!(answer["receipt_id"].is_null(), "{answer}");
    let denied = request.id.to_string();
    for receipt in [sign_in, denied.as_str(), "nothing", "%00", "a%2Fb"] {
        let found = read(&host, &ada.application, receipt).await;
        match receipt {
            "%00" => assert_eq!(found.0, StatusCode::BAD_REQUEST),
            _ => assert_eq!(found, unknown, "{database:?}: {receipt}"),
        }
    }
    // Administrators have all of them.
    for receipt in [&own, &denied, sign_in] {
        let path = format!("/receipts/{receipt}");
        host.admin_ok(Method::GET, &path, Value::Null).await;
    }
    ada.device.submit_report(&request).await;
    assert_eq!(read(&host, &ada.application, &denied).await, unknown);
}

#[tokio::test]
async fn only_the_authenticated_application_reads_a_receipt() {
    let (host, ada) = start(Database::Sqlite).await;
    let receipt = receipt_id(&host, &ada).await;
    let secret = ada.application.secret.as_deref().expect("a secret");
    let client = &ada.application.id;
    let url = address(&host, &receipt);
    let wrong = http_client().get(&url).basic_auth(client, Some("wrong"));
    let wrong = wrong.response().await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    assert!(wrong.headers().contains_key("www-authenticate"));
    for (query, status, error) in [
        (
            vec![("client_id", client.as_str())],
            StatusCode::UNAUTHORIZED,
            "invalid_client",
        ),
        (Vec::new(), StatusCode::BAD_REQUEST, "invalid_request"),
        // An address is written to logs.
        (
            vec![("client_id", client), ("client_secret", secret)],
            StatusCode::BAD_REQUEST,
            "invalid_request",
        ),
        (
            vec![("client_id", client), ("client_assertion", "x")],
            StatusCode::BAD_REQUEST,
            "invalid_request",
        ),
    ] {
        let named = Url::parse_with_params(&url, &query).expect("a URL");
        let answer = http_client().get(named).response().await;
        assert_eq!(answer.status(), status, "{query:?}");
        let answer: Value = answer.read_json().await;
        assert_eq!(answer["error"], error, "{query:?}: {answer}");
    }
    // A token of the user or of the application is no credential here.
    let tokens = approved(&host, &ada, &[]).await;
    let request = http_client().get(&url);
    let answer = request.bearer_auth(tokens["access_token"].text());
    let answer: Value = answer.response().await.read_json().await;
    assert_eq!(answer["error"], "invalid_client", "{answer}");
    // A public application only names itself, so it never had such a request.
    let native = host.native_application().await;
    let named = Url::parse_with_params(&url, [("client_id", &native.id)]).expect("a URL");
    let answer: Value = http_client().get(named).response().await.read_json().await;
    assert_eq!(answer["error"], "unauthorized_client", "{answer}");
    let path = format!("/applications/{client}");
    host.admin_ok(Method::PATCH, &path, json!({"enabled": false}))
        .await;
    let (status, answer) = read(&host, &ada.application, &receipt).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "unauthorized_client", "{answer}");
    // The key set is public, and no receipt.
    let keys = http_client().get(address(&host, "keys")).response().await;
    assert_eq!(keys.status(), StatusCode::OK);
    assert_eq!(keys.headers()["cache-control"], "public, max-age=300");
}

#[tokio::test]
async fn a_server_without_receipts_names_none() {
    let settings = "[receipts]\nretention = \"0s\"\n[oidc.backchannel]\ninterval = \"1s\"\n";
    let (host, ada) = start_with(Database::Sqlite, settings).await;
    let (_, answer) = ask(&host.base, &ada.application, &[]).await;
    let request = pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    let id = answer["auth_req_id"].text();
    let (status, tokens) = poll(&host.base, &ada.application, id).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert!(tokens.get("receipt_id").is_none(), "{tokens}");
    let found = read(&host, &ada.application, &request.id.to_string()).await;
    assert_eq!(found.0, StatusCode::NOT_FOUND);
}
