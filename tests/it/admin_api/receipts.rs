//! Receipts of protected actions.

use assent_model::receipt::content::{ReceiptAnswer, ReceiptSubject};
use assent_model::receipt::verification::Proof;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{number, owner, requested, waiting};
use crate::harness::{Database, TestHost, id};
use crate::receipts::{key_document, receipt, shown, verify};

/// The signed text of an action has the name of the user that it concerns, so the receipt goes with either user.
#[both_databases]
async fn the_receipt_of_an_action_has_its_text_and_is_erased_with_its_target(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let change = json!({"console_role": "auditor"});
    let action = requested(&console, Method::PATCH, &path, &change).await;
    let request = waiting(&grace.device).await;
    grace
        .device
        .submit_decision(&request, number(&action))
        .await;
    let request = request.id.to_string();
    let text = receipt(&host, &request).await;
    let (found, proof) = verify(&key_document(&host).await, &text).expect("a valid receipt");
    assert!(matches!(proof, Proof::Device(_)), "{proof:?}");
    let content = found.content();
    assert_eq!(content.request.kind, ReceiptSubject::Action);
    assert_eq!(content.request.application, None);
    assert_eq!(content.user.name, "grace");
    let ReceiptAnswer::Device { statement, .. } = &content.answer else {
        panic!("{content:?}");
    };
    assert!(
        statement.starts_with("assent-action-v1\n") && statement.contains("bob"),
        "{statement}"
    );
    let (status, missing) = host.admin(Method::GET, "/receipts/0", Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{missing}");
    assert_eq!(missing["detail"], "there is no such receipt");

    host.erase_user(&path).await;
    let (status, erased) = shown(&host, &request).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{erased}");
}
