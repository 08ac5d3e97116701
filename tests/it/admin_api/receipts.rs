//! Receipts of protected actions.

use assent_model::receipt::content::{ReceiptAnswer, ReceiptSubject};
use assent_model::receipt::verification::Proof;
use assent_model::secret::Digest;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::manifests::{applied, web};
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

/// The text of a manifest has the names of members and of users with accounts.
#[both_databases]
async fn the_receipt_of_a_manifest_is_erased_with_each_user_in_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let mut paths = Vec::new();
    for name in ["ada", "bob", "carol"] {
        paths.push(format!("/users/{}", id(&host.user(name).await)));
    }
    let manifest = |members: Value, role: &str| {
        json!({
            "owner": "dev", "applications": [web("treasury", "Treasury")],
            "groups": [{"key": "staff", "name": "Staff", "members": members}],
            "accounts": [{"application": "treasury", "user": "bob", "roles": [role]}],
        })
    };
    applied(&host, &manifest(json!(["carol"]), "reader"), false).await;
    for (name, path, manifest) in [
        (
            "ada",
            &paths[0],
            manifest(json!(["ada", "carol"]), "reader"),
        ),
        ("carol", &paths[2], manifest(json!([]), "reader")),
        ("bob", &paths[1], manifest(json!([]), "treasurer")),
    ] {
        // A device receives only a few requests in a short time.
        host.advance(30);
        let mut body = json!({"manifest": manifest, "prune": false});
        let plan = host.admin_ok(Method::POST, "/plans", body.clone()).await;
        body["digest"] = plan["digest"].clone();
        let action = requested(&console, Method::POST, "/plans/apply", &body).await;
        let request = waiting(&grace.device).await;
        grace
            .device
            .submit_decision(&request, number(&action))
            .await;
        let request = request.id.to_string();
        let text = receipt(&host, &request).await;
        let (found, _) = verify(&key_document(&host).await, &text).expect("a valid receipt");
        let ReceiptAnswer::Device { statement, .. } = &found.content().answer else {
            panic!("{found:?}");
        };
        assert!(statement.contains(&format!("“{name}”")), "{statement}");
        host.erase_user(path).await;
        let (status, erased) = shown(&host, &request).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{name}: {erased}");
    }
}

/// The erasure knows only the last name of a user, and the text of the receipt has an earlier one.
#[both_databases]
async fn a_receipt_is_erased_with_a_user_who_was_renamed(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    for (name, answers_first) in [("zoe", true), ("yan", false)] {
        host.advance(30);
        let body = json!({"name": name, "console_role": "auditor"});
        let action = requested(&console, Method::POST, "/users", &body).await;
        let request = waiting(&grace.device).await;
        let answer = async || {
            grace
                .device
                .submit_decision(&request, number(&action))
                .await;
        };
        if answers_first {
            answer().await;
        }
        let path = format!("/users/{}", id(&host.user(name).await));
        for later in ["second", "third"] {
            let change = json!({"name": format!("{name}.{later}")});
            host.admin_ok(Method::PATCH, &path, change).await;
        }
        if !answers_first {
            answer().await;
        }
        let request = request.id.to_string();
        receipt(&host, &request).await;
        // Another user's names change nothing.
        let other = format!("/users/{}", id(&host.user(&format!("not-{name}")).await));
        let change = json!({"name": format!("still-not-{name}")});
        host.admin_ok(Method::PATCH, &other, change).await;
        host.erase_user(&other).await;
        receipt(&host, &request).await;
        host.erase_user(&path).await;
        let (status, erased) = shown(&host, &request).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{name}: {erased}");
    }
}

/// An answer may be stored after maintenance ended its request. Its receipt needs the digests of the names.
#[both_databases]
async fn the_names_of_an_ended_action_remain_for_its_receipt(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, _) = owner(&host).await;
    let body = json!({"name": "zoe", "console_role": "auditor"});
    requested(&console, Method::POST, "/users", &body).await;
    let names = async || -> Vec<(Option<String>, Option<String>)> {
        let statement = "SELECT action, names FROM action_approvals WHERE names <> ''";
        sql::query_as(statement)
            .fetch_all(&mut host.connection().await)
            .await
            .expect("rows")
    };
    host.advance(800);
    // An erasure ends the actions that expired.
    for (user, left) in [("other", 1), ("zoe", 0)] {
        let path = format!("/users/{}", id(&host.user(user).await));
        host.erase_user(&path).await;
        let known = Digest::sha256(b"zoe").to_text();
        assert_eq!(names().await, vec![(None, Some(known)); left], "{user}");
    }
}
