//! Receipts of approvals: a real instance signs them, and the verification needs only the receipt and the receipt keys.

mod commands;
mod evidence;
mod revocation;
mod storage;

use assent_model::receipt::verification::{Proof, Receipt, ReceiptError, ReceiptKeySet};
use assent_model::secret::Digest;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::harness::{Body, Parsed, TestHost, Text, get};
use crate::lifecycle::entries;

/// Returns the response to a request for the receipt of an approval request.
pub async fn shown(host: &TestHost, request: &str) -> (StatusCode, Value) {
    let path = format!("/receipts/{request}");
    host.admin(Method::GET, &path, Value::Null).await
}

/// Returns the receipt of an approval request.
pub async fn receipt(host: &TestHost, request: &str) -> String {
    let (status, shown) = shown(host, request).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    let receipt = shown["receipt"].text().to_owned();
    assert_eq!(
        shown["digest"],
        Digest::sha256(receipt.as_bytes()).to_text()
    );
    assert_eq!(shown["id"], request);
    receipt
}

/// Returns the receipt keys, as verifiers fetch them.
pub async fn key_document(host: &TestHost) -> Value {
    let address = format!("{}/oidc/receipts/keys", host.base);
    get(address).await.read_json().await
}

/// Verifies a receipt as another machine does.
pub fn verify(keys: &Value, receipt: &str) -> Result<(Receipt, Proof), ReceiptError> {
    let keys = ReceiptKeySet::parse(keys.to_string().as_bytes()).expect("a key set");
    let receipt = Receipt::parse(receipt)?;
    let proof = receipt.verify(&keys)?;
    Ok((receipt, proof))
}

/// Returns a valid receipt and its proof, after a comparison with the only entry of this event in the audit log.
pub async fn verified(host: &TestHost, event: &str) -> (Receipt, Proof) {
    let entries = entries(host, &format!("event={event}")).await;
    let [entry] = entries.as_slice() else {
        panic!("there should be one entry: {entries:?}");
    };
    let receipt = receipt(host, entry["detail"]["request"].text()).await;
    let (receipt, proof) = verify(&key_document(host).await, &receipt)
        .unwrap_or_else(|error| panic!("{entry}: {error}"));
    assert_eq!(entry["detail"]["receipt"], receipt.digest().to_text());
    let content = receipt.content();
    assert_eq!(content.iss, host.issuer());
    assert_eq!(content.user.id, entry["user_id"].text().parsed());
    (receipt, proof)
}
