//! The content of receipts for each source of an answer.

use assent_model::receipt::content::{ReceiptAnswer, ReceiptSubject};
use assent_model::receipt::signed_statement::SignedStatement;
use assent_model::receipt::verification::Proof;
use assent_model::statement::Decision;
use assent_test_macros::both_databases;
use serde_json::{Value, json};

use super::{key_document, receipt, verified, verify};
use crate::channels::vendor::Vendor;
use crate::channels::{add_external_authenticator, next_page, question};
use crate::harness::{Browser, Database, TestHost, id, plugins};
use crate::oidc::{ciba, device_authorization};
use crate::passkeys::Fixture;
use crate::passkeys::sign_in::{agree, permit, use_passkey};
use crate::passkeys::software::Software;

fn value<'a>(statement: &'a SignedStatement, name: &str) -> &'a Value {
    let mut values = statement.values.iter();
    let (_, value) = values
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("{name} in {statement:?}"));
    value
}

#[both_databases]
async fn an_approval_has_a_receipt_that_fails_after_any_changed_byte(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    ada.approve(&waiting).await;
    let (found, proof) = verified(&host, "sign-in.approved").await;
    let Proof::Device(statement) = proof else {
        panic!("a device without a passkey: {proof:?}");
    };
    assert_eq!(statement.purpose, "assent-approval-v1");
    assert_eq!(value(&statement, "number"), &json!(waiting.number()));
    let content = found.content();
    assert_eq!(content.decision, Decision::Approve);
    assert_eq!(content.request.kind, ReceiptSubject::SignIn);
    assert_eq!(content.user.name, "ada");
    let ReceiptAnswer::Device { device, .. } = &content.answer else {
        panic!("{content:?}");
    };
    assert_eq!(device.id, ada.device.device());

    let keys = key_document(&host).await;
    let text = receipt(&host, &content.request.id.to_string()).await;
    for place in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).expect("ASCII");
        assert!(verify(&keys, &changed).is_err(), "{place}: {changed}");
    }
}

#[both_databases]
async fn a_denial_has_a_receipt_until_a_report_replaces_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    ada.device.deny(&request).await;
    let (denied, proof) = verified(&host, "sign-in.denied").await;
    assert!(matches!(proof, Proof::Device(_)), "{proof:?}");
    assert_eq!(denied.content().decision, Decision::Deny);
    ada.device.submit_report(&request).await;
    let (reported, proof) = verified(&host, "sign-in.reported").await;
    assert_eq!(reported.content().decision, Decision::Report);
    let Proof::Device(statement) = proof else {
        panic!("{proof:?}");
    };
    assert_eq!(statement.purpose, "assent-report-v1");
    assert_eq!(reported.content().request.id, denied.content().request.id);
}

#[both_databases]
async fn a_back_channel_approval_has_a_receipt_with_its_message_and_scopes(database: Database) {
    let (host, ada) = ciba::start(database).await;
    ciba::approved(&host, &ada, &[]).await;
    let (found, proof) = verified(&host, "sign-in.approved").await;
    let Proof::Device(statement) = proof else {
        panic!("a device without a passkey: {proof:?}");
    };
    assert_eq!(statement.purpose, "assent-backchannel-v1");
    assert_eq!(value(&statement, "message"), &json!("Order 42"));
    let scopes = statement.values.iter().filter(|(name, _)| name == "scope");
    assert!(scopes.count() > 1, "{statement:?}");
    let content = found.content();
    assert_eq!(content.decision, Decision::Approve);
    assert_eq!(content.request.kind, ReceiptSubject::Backchannel);
    assert_eq!(content.user.name, "ada");
}

#[both_databases]
async fn a_sign_in_on_another_device_has_a_receipt_with_its_code_and_scopes(database: Database) {
    let (host, ada) = device_authorization::start(database).await;
    device_authorization::approved(&host, &ada).await;
    let (found, proof) = verified(&host, "sign-in.approved").await;
    let Proof::Device(statement) = proof else {
        panic!("a device without a passkey: {proof:?}");
    };
    assert_eq!(statement.purpose, "assent-device-authorization-v1");
    assert!(value(&statement, "asked").is_i64());
    assert_eq!(value(&statement, "code").as_str().map(str::len), Some(9));
    let content = found.content();
    assert_eq!(content.request.kind, ReceiptSubject::DeviceAuthorization);
}

#[both_databases]
async fn the_assertion_of_a_passkey_is_bound_to_the_signed_text(database: Database) {
    let it = Fixture::on(database).await;
    let options = it.question().await;
    let approved = it.approve(it.passkey.create_assertion(&options)).await;
    assert_eq!(approved.body["outcome"], "approved", "{}", approved.body);
    let (found, proof) = verified(&it.host, "sign-in.approved").await;
    let Proof::DeviceAndPasskey(statement) = proof else {
        panic!("{proof:?}");
    };
    assert_eq!(
        value(&statement, "request"),
        &json!(it.request.id.to_string())
    );
    assert_eq!(found.content().request.id, it.request.id);
}

#[both_databases]
async fn a_sign_in_with_a_passkey_on_the_login_page_has_a_receipt_without_a_text(
    database: Database,
) {
    let host = TestHost::start_on(database).await;
    let ada = host.ada().await;
    let mut passkey = Software::new(&host.base);
    agree(&ada.device, &mut passkey).await;
    permit(&host, &ada.application.id, true).await;
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    use_passkey(&browser, &login, &passkey).await;
    let (found, proof) = verified(&host, "sign-in.approved").await;
    assert_eq!(proof, Proof::Passkey);
    let ReceiptAnswer::Passkey { device, .. } = &found.content().answer else {
        panic!("{found:?}");
    };
    assert_eq!(device.id, ada.device.device());
}

#[tokio::test]
async fn a_delegated_approval_has_no_device_signature() {
    let vendor = Vendor::start(500).await;
    let host = TestHost::start_with_plugins(&plugins(&vendor.channel("vendor", ""))).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let asked = question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&asked, "approved");
    host.advance(1);
    next_page(&waiting).await;
    let (found, proof) = verified(&host, "sign-in.approved").await;
    assert_eq!(proof, Proof::NoDeviceSignature);
    let content = found.content();
    assert_eq!(
        content.answer,
        ReceiptAnswer::Channel {
            channel: "vendor".to_owned()
        }
    );
    assert_eq!(content.user.id.to_string(), id(&ada.user));
}
