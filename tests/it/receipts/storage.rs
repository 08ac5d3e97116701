//! The time for which receipts and their keys are stored.

use std::time::Duration;

use assent::domain::keys::signing_keys;
use assent_store::Retention;
use assent_test_macros::both_databases;
use reqwest::StatusCode;

use super::{key_document, receipt, shown, verify};
use crate::harness::{Browser, Database, Json, TestHost, Text, id};
use crate::lifecycle::entries;
use crate::retention::RETENTION;

const DAY: Duration = Duration::from_secs(86_400);

/// Signs Ada in. Returns the id of the approval request.
async fn approved(host: &TestHost) -> String {
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    request(host).await
}

/// Returns the id of the last approved request.
async fn request(host: &TestHost) -> String {
    let entries = entries(host, "event=sign-in.approved").await;
    let last = entries.last().expect("an entry");
    last["detail"]["request"].text().to_owned()
}

#[both_databases]
async fn receipts_are_deleted_after_their_retention(database: Database) {
    let host = TestHost::start_on(database).await;
    let request = approved(&host).await;
    let retention = Retention {
        logins: DAY * 500,
        sessions: DAY * 500,
        enrolments: DAY * 500,
        admin_tokens: DAY * 500,
        audit: DAY * 500,
        receipts: DAY * 400,
        ..RETENTION
    };
    let store = &host.host.store;
    for (days, status) in [(399, StatusCode::OK), (401, StatusCode::NOT_FOUND)] {
        let now = host.host.now() + DAY * days;
        store
            .apply_retention(retention, now)
            .await
            .expect("applied");
        let (found, body) = shown(&host, &request).await;
        assert_eq!(found, status, "{body}");
    }
}

#[both_databases]
async fn a_retention_of_zero_keeps_no_receipt(database: Database) {
    let host = TestHost::start_on_with(database, "[receipts]\nretention = \"0s\"\n").await;
    let request = approved(&host).await;
    let (status, _) = shown(&host, &request).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let entry = &entries(&host, "event=sign-in.approved").await[0];
    assert!(entry["detail"]["receipt"].is_null(), "{entry}");
    // The keys are published nevertheless, for receipts of earlier settings.
    assert_eq!(key_document(&host).await["keys"].items().len(), 1);
}

#[both_databases]
async fn an_erasure_deletes_the_receipts_of_the_user(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let request = request(&host).await;
    receipt(&host, &request).await;
    host.erase_user(&format!("/users/{}", id(&ada.user))).await;
    let (status, _) = shown(&host, &request).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    // The digest stays: it proves which receipt was issued.
    let entry = &entries(&host, "event=sign-in.approved").await[0];
    assert!(entry["detail"]["receipt"].is_string(), "{entry}");
}

#[both_databases]
async fn receipt_keys_rotate_and_stay_in_the_key_set(database: Database) {
    let host = TestHost::start_on(database).await;
    let request = approved(&host).await;
    let first = receipt(&host, &request).await;
    let before = key_document(&host).await;
    assert_eq!(before["issuer"], host.issuer());
    assert!(before["keys"][0]["exp"].is_null(), "{before}");
    for _ in 0..12 {
        host.advance(60 * 86_400);
        signing_keys::maintain_at(&host.host, host.host.now())
            .await
            .expect("maintained");
    }
    let after = key_document(&host).await;
    let keys = after["keys"].items();
    assert!(keys.len() > 4, "{after}");
    assert_eq!(keys[0]["kid"], before["keys"][0]["kid"]);
    for pair in keys.windows(2) {
        assert_eq!(pair[0]["exp"], pair[1]["nbf"], "{after}");
        assert!(pair[0]["d"].is_null(), "{after}");
    }
    for document in [&before, &after] {
        verify(document, &first).expect("a valid receipt");
    }
    // No key signs ID tokens and receipts.
    let tokens = host.host.key_ring.key_set(host.host.now());
    for key in tokens["keys"].items() {
        assert!(keys.iter().all(|receipt| receipt["kid"] != key["kid"]));
    }
}
