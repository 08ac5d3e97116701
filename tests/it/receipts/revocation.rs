//! The rotation and the revocation of receipt keys by hand.

use assent::domain::keys::signing_keys::PUBLICATION_MARGIN;
use assent_model::receipt::verification::ReceiptError;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::commands::{err, out, run};
use super::{key_document, receipt, verify};
use crate::harness::{Browser, Database, Json, TestHost, TestUser, Text, temp_folder, write_file};
use crate::lifecycle::entries;

/// Signs Ada in. Returns the receipt of the approval.
async fn approved(host: &TestHost, ada: &TestUser) -> String {
    ada.sign_in(&Browser::new(&host.base)).await;
    let entries = entries(host, "event=sign-in.approved").await;
    let last = entries.last().expect("an entry");
    receipt(host, last["detail"]["request"].text()).await
}

/// Returns the receipt keys as administrators see them.
async fn listed(host: &TestHost) -> Vec<Value> {
    let keys = host.admin_ok(Method::GET, "/keys", Value::Null).await;
    let items = keys["items"].items().iter();
    let of_receipts = items.filter(|key| key["purpose"] == "receipt");
    of_receipts.cloned().collect()
}

async fn revoke(host: &TestHost, kid: &str) -> (StatusCode, Value) {
    let path = format!("/keys/{kid}/revoke");
    host.admin(Method::POST, &path, Value::Null).await
}

/// Lets the next key sign as soon as possible.
async fn rotate(host: &mut TestHost) {
    let body = json!({"purpose": "receipt", "now": true});
    let rotated = host.admin_ok(Method::POST, "/keys/rotate", body).await;
    assert_eq!(rotated["changed"], true, "{rotated}");
    host.advance(PUBLICATION_MARGIN.as_secs() + 1);
    host.renew_token().await;
}

#[both_databases]
async fn a_receipt_key_is_rotated_by_hand(database: Database) {
    let mut host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let first = approved(&host, &ada).await;
    let tokens = |keys: &Value| {
        let items = keys["items"].items().iter();
        items.filter(|key| key["purpose"] == "id_token").count()
    };
    let before = host.admin_ok(Method::GET, "/keys", Value::Null).await;
    let body = json!({"purpose": "receipt"});
    let rotated = host.admin_ok(Method::POST, "/keys/rotate", body).await;
    assert_eq!(rotated["changed"], true);
    assert_eq!(tokens(&rotated), tokens(&before), "{database:?}");
    let stages: Vec<Value> = listed(&host)
        .await
        .iter()
        .map(|key| key["stage"].clone())
        .collect();
    assert_eq!(stages, ["signing", "published"], "{database:?}");
    // The published key is the next one, and signs sooner.
    rotate(&mut host).await;
    let second = approved(&host, &ada).await;
    let keys = key_document(&host).await;
    let [one, two] = [&first, &second].map(|text| verify(&keys, text).expect("a valid receipt").0);
    assert_ne!(one.key_id(), two.key_id());
    assert_eq!(keys["keys"].items().len(), 2, "{keys}");
    assert_eq!(keys["keys"][0]["exp"], keys["keys"][1]["nbf"]);
    for algorithm in ["RS256", "EdDSA"] {
        let body = json!({"purpose": "receipt", "algorithm": algorithm});
        let (status, answer) = host.admin(Method::POST, "/keys/rotate", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    }
    let published = entries(&host, "event=signing-key.published").await;
    let last = published.last().expect("an entry");
    assert_eq!(last["detail"]["purpose"], "receipt", "{last}");
    assert_eq!(last["detail"]["kid"], two.key_id());
}

#[both_databases]
async fn a_revoked_receipt_key_stays_in_the_key_set_with_its_revocation(database: Database) {
    let mut host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let first = approved(&host, &ada).await;
    rotate(&mut host).await;
    let second = approved(&host, &ada).await;
    let kid = verify(&key_document(&host).await, &first).expect("valid").0;
    let kid = kid.key_id().to_owned();
    let (status, answer) = revoke(&host, &kid).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    let (status, answer) = revoke(&host, &kid).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");

    let keys = key_document(&host).await;
    let revoked = &keys["keys"][0];
    assert_eq!(revoked["kid"], kid);
    let at = host.host.now().seconds();
    assert_eq!(revoked["revoked"], json!({"revoked_at": at}), "{revoked}");
    assert!(revoked["d"].is_null() && revoked["nbf"].is_i64() && revoked["exp"].is_i64());
    assert!(keys["keys"][1]["revoked"].is_null(), "{keys}");
    assert_eq!(
        verify(&keys, &first).expect_err("revoked"),
        ReceiptError::RevokedKey,
        "{database:?}"
    );
    verify(&keys, &second).expect("the other key is valid");
    let stage = |all: &[Value]| {
        let key = all.iter().find(|key| key["kid"] == kid);
        key.expect("the key")["stage"].clone()
    };
    assert_eq!(stage(&listed(&host).await), "revoked");
    // It is never deleted, and the command says when it was revoked.
    host.advance(400 * 86_400);
    host.renew_token().await;
    assert_eq!(stage(&listed(&host).await), "revoked");
    let keys = key_document(&host).await;
    let folder = temp_folder();
    let folder = folder.path();
    write_file(folder.join("keys.json"), keys.to_string());
    write_file(folder.join("receipt"), &first);
    let verified = run(folder, &["receipt", "--keys", "keys.json"]).await;
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
    let time = jiff::Timestamp::from_second(at)
        .expect("a time")
        .to_string();
    for part in ["Not proved:", &kid, &time] {
        assert!(out(&verified).contains(part), "{part}: {verified:?}");
    }
    assert!(!out(&verified).contains("signed this receipt with the key"));
    for part in ["revoked the key", "audit log", &time] {
        assert!(err(&verified).contains(part), "{part}: {verified:?}");
    }
}

/// The next key signs at once, because no answer counts without a receipt key.
#[both_databases]
async fn the_revocation_of_the_signing_receipt_key_lets_the_next_one_sign(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let first = approved(&host, &ada).await;
    let signing = listed(&host).await;
    let kid = signing[0]["kid"].text();
    let (status, answer) = revoke(&host, kid).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    host.advance(1);
    let second = approved(&host, &ada).await;
    let keys = key_document(&host).await;
    assert_eq!(keys["keys"].items().len(), 2, "{keys}");
    assert_eq!(keys["keys"][0]["exp"], keys["keys"][1]["nbf"], "{keys}");
    verify(&keys, &second).expect("a valid receipt");
    assert!(verify(&keys, &first).is_err());
    let entry = &entries(&host, "event=signing-key.revoked").await[0];
    assert_eq!(entry["detail"]["kid"], kid);
    assert_eq!(entry["detail"]["purpose"], "receipt");
    // ID tokens have other keys.
    assert!(
        host.host.key_ring.key_set(host.host.now())["keys"]
            .items()
            .len()
            >= 2
    );
}

/// A key that never signed has no period.
#[tokio::test]
async fn a_published_key_is_revoked_before_it_signs() {
    let mut host = TestHost::start().await;
    let ada = host.ada().await;
    let body = json!({"purpose": "receipt"});
    host.admin_ok(Method::POST, "/keys/rotate", body).await;
    let all = listed(&host).await;
    let published = all.iter().find(|key| key["stage"] == "published");
    let published = published.expect("a key")["kid"].text();
    let (status, answer) = revoke(&host, published).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    host.advance(10 * 86_400);
    host.renew_token().await;
    let receipt = approved(&host, &ada).await;
    let keys = key_document(&host).await;
    let (receipt, _) = verify(&keys, &receipt).expect("a valid receipt");
    assert_eq!(keys["keys"][0]["kid"], receipt.key_id());
    assert!(keys["keys"][0]["exp"].is_null(), "{keys}");
    assert_eq!(keys["keys"][1]["kid"], published);
    assert!(keys["keys"][1]["revoked"].is_object(), "{keys}");
}
