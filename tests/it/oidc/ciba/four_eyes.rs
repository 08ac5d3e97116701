//! Four eyes: a second approver approves a back-channel request, too.

use assent::authenticator::enrolled::PendingRequest;
use assent_model::receipt::content::{ReceiptAnswer, ReceiptSubject};
use assent_model::receipt::verification::Proof;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{ask, asked, pending, poll, poll_error, post, start};
use crate::harness::{
    Database, Device, Respond, Run, TestHost, TestUser, Text, binary, http_client, id, temp_folder,
    write_file,
};
use crate::lifecycle::entries;
use crate::oidc::authorization_details::{TYPE, payment, payment_type, permit, refusal, text};
use crate::receipts::{key_document, verify};

/// A member of the group of those who give second approvals.
struct Member {
    user: Value,
    device: Device,
}

/// An instance with Ada, and a group of those who approve too.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    group: Value,
}

async fn member(host: &TestHost, group: &Value, name: &str) -> Member {
    let user = host.user(name).await;
    let device = host.authenticator(&user).await;
    join(host, group, &user).await;
    Member { user, device }
}

async fn join(host: &TestHost, group: &Value, user: &Value) {
    let path = format!("/groups/{}/members", id(group));
    let users = json!({"users": [id(user)]});
    host.admin_ok(Method::POST, &path, users).await;
}

async fn leave(host: &TestHost, group: &Value, user: &Value) {
    let path = format!("/groups/{}/members/{}", id(group), id(user));
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
}

async fn change(host: &TestHost, ada: &TestUser, change: Value) {
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, change).await;
}

impl Fixture {
    /// Starts an instance whose application needs a second approval of the group.
    async fn new(database: Database) -> Self {
        let fixture = Self::without_setting(database).await;
        let group = json!({"second_approver_group": id(&fixture.group)});
        change(&fixture.host, &fixture.ada, group).await;
        fixture
    }

    async fn without_setting(database: Database) -> Self {
        let (host, ada) = start(database).await;
        let group = json!({"name": "Payments"});
        let group = host.admin_ok(Method::POST, "/groups", group).await;
        Self { host, ada, group }
    }

    async fn member(&self, name: &str) -> Member {
        member(&self.host, &self.group, name).await
    }

    async fn asked(&self) -> String {
        asked(&self.host, &self.ada, &[]).await
    }

    async fn error(&self, auth_req_id: &str) -> String {
        // The interval of polls is a second.
        self.host.advance(1);
        poll_error(&self.host, &self.ada, auth_req_id).await
    }

    async fn tokens(&self, auth_req_id: &str) -> Value {
        let (status, tokens) = poll(&self.host.base, &self.ada.application, auth_req_id).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        tokens
    }
}

/// Whether a device shows no request.
async fn shows_nothing(device: &Device) -> bool {
    device.pending_requests(0).await.is_empty()
}

#[both_databases]
async fn tokens_follow_only_after_both_approved_in_either_order(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { ada, .. } = &fixture;
    let grace = fixture.member("grace").await;
    for second_first in [false, true] {
        let auth_req_id = fixture.asked().await;
        let own = pending(&ada.device).await;
        let second = pending(&grace.device).await;
        let mut answers = [(&ada.device, &own), (&grace.device, &second)];
        if second_first {
            answers.reverse();
        }
        assert_eq!(fixture.error(&auth_req_id).await, "authorization_pending");
        let [(device, request), (other_device, other)] = answers;
        assert_eq!(device.approve(request, "").await, "approved");
        assert_eq!(
            fixture.error(&auth_req_id).await,
            "authorization_pending",
            "{database:?}"
        );
        // The request of the other one does not change.
        assert_eq!(pending(other_device).await, *other, "{database:?}");
        assert_eq!(other_device.approve(other, "").await, "approved");
        let tokens = fixture.tokens(&auth_req_id).await;
        assert_eq!(tokens["receipt_id"], own.id.to_string());
        assert_eq!(tokens["second_receipt_id"], second.id.to_string());
        assert_eq!(fixture.error(&auth_req_id).await, "invalid_grant");
    }
    // The session is Ada's only, and the entries name both.
    let signed_in = entries(&fixture.host, "event=sign-in.completed").await;
    for entry in signed_in {
        assert_eq!(entry["user_id"], id(&ada.user), "{entry}");
        assert_eq!(entry["detail"]["second_approval_by"], id(&grace.user));
    }
    let path = format!("event=sign-in.approved&user={}", id(&grace.user));
    let approved = entries(&fixture.host, &path).await;
    assert_eq!(approved.len(), 2, "{database:?}: {approved:?}");
    for entry in approved {
        assert_eq!(entry["detail"]["second_approval_for"], id(&ada.user));
    }
}

/// The second approver sees what Ada is asked, and for whom it is, and signs it.
#[tokio::test]
async fn the_second_person_sees_and_signs_for_whom_it_is() {
    let fixture = Fixture::new(Database::Sqlite).await;
    let grace = fixture.member("grace").await;
    fixture.asked().await;
    let request = pending(&grace.device).await;
    assert_eq!(request.account, "grace");
    assert_eq!(request.backchannel, None);
    let shown = request.second_approval.clone().expect("a second approval");
    assert_eq!(shown.first, "ada");
    assert_eq!(shown.message.as_deref(), Some("Order 42"));
    assert_eq!(shown.scopes.len(), 3, "{shown:?}");
    assert!(!shown.passkey);
    let signed = grace.device.statement(&request, Some("")).text();
    assert!(
        signed.starts_with("assent-second-approval-v1\n"),
        "{signed}"
    );
    for line in [
        "account: \"grace\"",
        "for: \"ada\"",
        "message: \"Order 42\"",
    ] {
        assert!(signed.contains(&format!("\n{line}\n")), "{signed}");
    }
    // Before and after the decision of Ada, the device receives the same.
    let before = grace.device.call_ok(Method::GET, "/requests", None).await;
    let own = pending(&fixture.ada.device).await;
    fixture.ada.device.approve(&own, "").await;
    let after = grace.device.call_ok(Method::GET, "/requests", None).await;
    assert_eq!(before["requests"], after["requests"]);
    // Another text is not the second approval.
    let other = PendingRequest {
        second_approval: None,
        backchannel: own.backchannel.clone(),
        ..request.clone()
    };
    assert!(grace.device.decide(&other, Some("")).await.is_err());
    assert_eq!(grace.device.approve(&request, "").await, "approved");
}

#[both_databases]
async fn a_denial_of_either_denies(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { ada, .. } = &fixture;
    let (grace, hedy) = (fixture.member("grace").await, fixture.member("hedy").await);
    // The second approver denies, before and after Ada approved.
    for ada_first in [false, true] {
        let auth_req_id = fixture.asked().await;
        let own = pending(&ada.device).await;
        if ada_first {
            ada.device.approve(&own, "").await;
        }
        let second = pending(&grace.device).await;
        assert_eq!(grace.device.deny(&second).await, "denied");
        assert_eq!(
            fixture.error(&auth_req_id).await,
            "access_denied",
            "{database:?}"
        );
        for device in [&ada.device, &grace.device, &hedy.device] {
            assert!(shows_nothing(device).await, "{database:?}");
        }
        if !ada_first {
            assert!(ada.device.decide(&own, Some("")).await.is_err());
        }
    }
    // Ada denies after the second approver approved. A further denial pauses the application for Ada.
    let auth_req_id = fixture.asked().await;
    let second = pending(&grace.device).await;
    assert_eq!(grace.device.approve(&second, "").await, "approved");
    ada.device.deny(&pending(&ada.device).await).await;
    assert_eq!(
        fixture.error(&auth_req_id).await,
        "access_denied",
        "{database:?}"
    );
}

#[both_databases]
async fn after_a_denial_by_the_user_nobody_is_asked(database: Database) {
    let fixture = Fixture::new(database).await;
    let grace = fixture.member("grace").await;
    let auth_req_id = fixture.asked().await;
    let second = pending(&grace.device).await;
    let own = pending(&fixture.ada.device).await;
    fixture.ada.device.deny(&own).await;
    assert_eq!(
        fixture.error(&auth_req_id).await,
        "access_denied",
        "{database:?}"
    );
    assert!(shows_nothing(&grace.device).await);
    assert!(grace.device.decide(&second, Some("")).await.is_err());
    // The application is paused for Ada, and so for those who would approve, too.
    fixture.asked().await;
    assert!(shows_nothing(&grace.device).await, "{database:?}");
}

/// A report looks like a request that expires, as that of the user does.
#[both_databases]
async fn a_report_of_the_second_person_lets_the_request_expire(database: Database) {
    let fixture = Fixture::new(database).await;
    let (grace, hedy) = (fixture.member("grace").await, fixture.member("hedy").await);
    let auth_req_id = fixture.asked().await;
    let own = pending(&fixture.ada.device).await;
    fixture.ada.device.approve(&own, "").await;
    let second = pending(&grace.device).await;
    assert_eq!(grace.device.submit_report(&second).await, "reported");
    assert!(shows_nothing(&hedy.device).await, "{database:?}");
    assert_eq!(fixture.error(&auth_req_id).await, "authorization_pending");
    fixture.host.advance(121);
    assert_eq!(fixture.error(&auth_req_id).await, "expired_token");
}

#[both_databases]
async fn the_user_is_never_the_second_person(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { host, ada, group } = &fixture;
    join(host, group, &ada.user).await;
    let auth_req_id = fixture.asked().await;
    // Only the request of the user itself, and no other user is a member.
    let own = pending(&ada.device).await;
    assert!(own.backchannel.is_some());
    ada.device.approve(&own, "").await;
    assert_eq!(fixture.error(&auth_req_id).await, "authorization_pending");
    fixture.host.advance(121);
    assert_eq!(
        fixture.error(&auth_req_id).await,
        "expired_token",
        "{database:?}"
    );
    // The request to another member is not Ada's to answer.
    let grace = fixture.member("grace").await;
    fixture.asked().await;
    let second = pending(&grace.device).await;
    let error = ada.device.decide(&second, Some("")).await;
    let error = error.expect_err("a request of another user").to_string();
    assert!(error.contains("request_not_found"), "{database:?}: {error}");
}

#[both_databases]
async fn without_a_member_who_can_answer_the_request_expires(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { host, ada, group } = &fixture;
    // A member without a device, a suspended one, and a deleted group.
    let alone = host.user("alan").await;
    join(host, group, &alone).await;
    let grace = fixture.member("grace").await;
    let path = format!("/users/{}", id(&grace.user));
    let suspended = json!({"state": "suspended"});
    host.admin_ok(Method::PATCH, &path, suspended).await;
    let short = [("requested_expiry", Some("10"))];
    for delete in [false, true] {
        if delete {
            let path = format!("/groups/{}", id(group));
            host.admin_ok(Method::DELETE, &path, Value::Null).await;
        }
        let auth_req_id = asked(host, ada, &short).await;
        ada.device.approve(&pending(&ada.device).await, "").await;
        assert_eq!(fixture.error(&auth_req_id).await, "authorization_pending");
        host.advance(10);
        assert_eq!(
            fixture.error(&auth_req_id).await,
            "expired_token",
            "{database:?}"
        );
    }
}

/// Who lost the membership, the device or the right to sign in since the decision does not count.
#[both_databases]
async fn a_second_approval_counts_at_the_claim(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { host, ada, group } = &fixture;
    for loss in ["membership", "state", "device"] {
        let grace = fixture.member(&format!("grace-{loss}")).await;
        let auth_req_id = fixture.asked().await;
        let second = pending(&grace.device).await;
        assert_eq!(grace.device.approve(&second, "").await, "approved");
        assert_eq!(
            ada.device.approve(&pending(&ada.device).await, "").await,
            "approved"
        );
        let user = format!("/users/{}", id(&grace.user));
        match loss {
            "membership" => leave(host, group, &grace.user).await,
            "state" => {
                for state in ["suspended", "active"] {
                    let state = json!({"state": state});
                    host.admin_ok(Method::PATCH, &user, state).await;
                }
            }
            _ => {
                let path = format!("{user}/devices");
                let devices = host.admin_ok(Method::GET, &path, Value::Null).await;
                let path = format!("/devices/{}", id(&devices["items"][0]));
                host.admin_ok(Method::DELETE, &path, Value::Null).await;
            }
        }
        assert_eq!(
            fixture.error(&auth_req_id).await,
            "authorization_pending",
            "{database:?}: {loss}"
        );
        host.advance(121);
        assert_eq!(fixture.error(&auth_req_id).await, "expired_token");
        if loss == "state" {
            leave(host, group, &grace.user).await;
        }
    }
}

/// A member who left the group cannot answer any more.
#[tokio::test]
async fn a_member_who_left_cannot_decide() {
    let fixture = Fixture::new(Database::Sqlite).await;
    let grace = fixture.member("grace").await;
    fixture.asked().await;
    let second = pending(&grace.device).await;
    leave(&fixture.host, &fixture.group, &grace.user).await;
    let error = grace.device.decide(&second, Some("")).await;
    let error = error.expect_err("no member").to_string();
    assert!(error.contains("already_decided"), "{error}");
}

#[both_databases]
async fn of_several_members_one_decides(database: Database) {
    let fixture = Fixture::new(database).await;
    let (grace, hedy) = (fixture.member("grace").await, fixture.member("hedy").await);
    for _ in 0..3 {
        let auth_req_id = fixture.asked().await;
        let own = pending(&fixture.ada.device).await;
        fixture.ada.device.approve(&own, "").await;
        let (first, second) = (pending(&grace.device).await, pending(&hedy.device).await);
        assert_ne!(first.id, second.id);
        let (first, second) = tokio::join!(
            grace.device.decide(&first, Some("")),
            hedy.device.decide(&second, Some(""))
        );
        assert_ne!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
        assert!(shows_nothing(&grace.device).await, "{database:?}");
        assert!(shows_nothing(&hedy.device).await, "{database:?}");
        fixture.tokens(&auth_req_id).await;
    }
}

/// A withdrawal by the application also ends the requests to the group.
#[tokio::test]
async fn a_withdrawn_request_disappears_from_both() {
    let fixture = Fixture::new(Database::Sqlite).await;
    let grace = fixture.member("grace").await;
    for ada_approves in [false, true] {
        let auth_req_id = fixture.asked().await;
        let own = pending(&fixture.ada.device).await;
        if ada_approves {
            fixture.ada.device.approve(&own, "").await;
        }
        let url = format!("{}/oidc/token/revocation", fixture.host.base);
        let token = [("token", auth_req_id.as_str())];
        post(url, &fixture.ada.application, &token).await;
        assert!(shows_nothing(&fixture.ada.device).await);
        assert!(shows_nothing(&grace.device).await);
    }
}

/// Digits to type are those of the application in front of Ada, so the second approver needs a passkey.
#[tokio::test]
async fn without_a_message_to_compare_the_second_person_needs_a_passkey() {
    let fixture = Fixture::new(Database::Sqlite).await;
    let grace = fixture.member("grace").await;
    for binding in ["typed", "none"] {
        let setting = json!({"backchannel_binding": binding});
        change(&fixture.host, &fixture.ada, setting).await;
        let short = [("requested_expiry", Some("10"))];
        asked(&fixture.host, &fixture.ada, &short).await;
        let second = pending(&grace.device).await;
        let shown = second.second_approval.as_ref().expect("a second approval");
        assert!(shown.passkey, "{binding}");
        let error = grace.device.decide(&second, Some("")).await;
        let error = error.expect_err("no passkey").to_string();
        assert!(error.contains("passkey"), "{binding}: {error}");
        fixture.host.advance(11);
    }
}

#[both_databases]
async fn a_type_of_details_may_need_a_second_person(database: Database) {
    let fixture = Fixture::without_setting(database).await;
    let Fixture { host, ada, group } = &fixture;
    let grace = fixture.member("grace").await;
    let mut wanted = payment_type();
    wanted["second_approver_group"] = json!(id(group));
    let registered = host.admin_ok(Method::PUT, TYPE, wanted).await;
    assert_eq!(registered["second_approver_group"], id(group));
    permit(host, ada, json!(["payment"])).await;
    // A request without the type needs no other user.
    let auth_req_id = fixture.asked().await;
    assert!(shows_nothing(&grace.device).await, "{database:?}");
    ada.device.approve(&pending(&ada.device).await, "").await;
    let tokens = fixture.tokens(&auth_req_id).await;
    assert!(tokens["second_receipt_id"].is_null(), "{tokens}");

    let details = json!([payment("12.50")]).to_string();
    let changes = [("authorization_details", Some(details.as_str()))];
    let auth_req_id = asked(host, ada, &changes).await;
    let second = pending(&grace.device).await;
    assert_eq!(second.details, [text("12.50")], "{database:?}");
    grace.device.approve(&second, "").await;
    assert_eq!(fixture.error(&auth_req_id).await, "authorization_pending");
    ada.device.approve(&pending(&ada.device).await, "").await;
    let tokens = fixture.tokens(&auth_req_id).await;
    assert_eq!(tokens["authorization_details"], json!([payment("12.50")]));
    // A browser cannot wait for another user.
    let (error, description) = refusal(host, ada, &details).await;
    assert_eq!(error, "invalid_authorization_details");
    assert!(description.contains("second approval"), "{description}");
    // One member approves all of a request.
    let other = json!({"name": "Others"});
    let other = host.admin_ok(Method::POST, "/groups", other).await;
    change(host, ada, json!({"second_approver_group": id(&other)})).await;
    let (status, answer) = ask(&host.base, &ada.application, &changes).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_authorization_details");
}

#[both_databases]
async fn both_receipts_verify_and_the_second_names_the_first(database: Database) {
    let fixture = Fixture::new(database).await;
    let Fixture { host, ada, .. } = &fixture;
    let grace = fixture.member("grace").await;
    let auth_req_id = fixture.asked().await;
    ada.device.approve(&pending(&ada.device).await, "").await;
    let second = pending(&grace.device).await;
    grace.device.approve(&second, "").await;
    let tokens = fixture.tokens(&auth_req_id).await;
    let keys = key_document(host).await;
    let read = async |receipt: &Value| {
        let url = format!("{}/oidc/receipts/{}", host.base, receipt.text());
        let (client, secret) = (&ada.application.id, ada.application.secret.as_deref());
        let request = http_client().get(url).basic_auth(client, secret);
        let response = request.response().await;
        let status = response.status();
        let answer: Value = response.json().await.unwrap_or_default();
        (status, answer["receipt"].clone())
    };
    for (member, kind, user) in [
        ("receipt_id", ReceiptSubject::Backchannel, &ada.user),
        (
            "second_receipt_id",
            ReceiptSubject::SecondApproval,
            &grace.user,
        ),
    ] {
        let (status, receipt) = read(&tokens[member]).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {member}");
        let (found, proof) = verify(&keys, receipt.text()).expect("a valid receipt");
        assert!(matches!(proof, Proof::Device(_)), "{proof:?}");
        let content = found.content();
        assert_eq!(content.request.kind, kind);
        assert_eq!(content.user.id.to_string(), id(user));
        let ReceiptAnswer::Device { statement, .. } = &content.answer else {
            panic!("{content:?}");
        };
        let names_first = statement.contains("\nfor: \"ada\"\n");
        assert_eq!(names_first, kind == ReceiptSubject::SecondApproval);
        let folder = temp_folder();
        write_file(folder.path().join("receipt"), receipt.text());
        write_file(folder.path().join("keys.json"), keys.to_string());
        let mut command = Command::new(binary("assent"));
        command
            .args(["receipts", "verify", "receipt", "--keys", "keys.json"])
            .current_dir(folder.path());
        let output = command.finish().await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let headline = "A second approval of a back-channel request, approved by a device.";
        assert_eq!(printed.contains(headline), names_first, "{printed}");
    }
    // The text of the second one has Ada's name, so the erasure of Ada deletes it.
    host.erase_user(&format!("/users/{}", id(&ada.user))).await;
    let (status, _) = read(&tokens["second_receipt_id"]).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{database:?}");
}

/// The group must be the id of one.
#[tokio::test]
async fn the_setting_has_the_id_of_a_group() {
    let (host, ada) = start(Database::Sqlite).await;
    let path = format!("/applications/{}", ada.application.id);
    let wrong = json!({"second_approver_group": "Payments"});
    let (status, problem) = host.admin(Method::PATCH, &path, wrong).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let unset = json!({"second_approver_group": null});
    let client = host.admin_ok(Method::PATCH, &path, unset).await;
    assert_eq!(client["second_approver_group"], Value::Null);
}
