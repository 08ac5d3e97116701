//! Assertions and registrations that must be rejected.

use assent::domain::approvals::answer;
use assent_model::statement::Decision;
use assent_plugin_host::Evidence;
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::software::Software;
use super::{DEVICE, Fixture, REMOVAL, add, call, message, proof, question, send};
use crate::harness::{Browser, Database, Json};

impl Fixture {
    /// Checks that the server rejects this assertion and that Ada's sign-in still waits.
    async fn assert_rejected(&self, assertion: Value, why: &str) {
        let reply = self.approve(assertion).await;
        assert_eq!(
            message(&reply),
            (StatusCode::FORBIDDEN, "invalid_passkey"),
            "{why}: {}",
            reply.body
        );
        assert_eq!(self.waiting.again().await.number(), self.number, "{why}");
    }

    async fn assert_rejected_as(&self, changed: Software, why: &str) {
        self.assert_rejected(changed.create_assertion(&self.question().await), why)
            .await;
    }
}

#[tokio::test]
async fn a_foreign_assertion_approves_nothing() {
    let it = Fixture::on(Database::Sqlite).await;
    let good = || it.passkey.clone();
    let base = &it.host.base;
    it.assert_rejected_as(
        Software {
            verified: false,
            ..good()
        },
        "the device was not unlocked",
    )
    .await;
    it.assert_rejected_as(
        Software {
            origin: "https://id.evil.example".to_owned(),
            ..good()
        },
        "another origin",
    )
    .await;
    it.assert_rejected_as(
        Software {
            origin: "http://localhost:1".to_owned(),
            ..good()
        },
        "another port",
    )
    .await;
    it.assert_rejected_as(
        Software {
            rp_id: "evil.example".to_owned(),
            ..good()
        },
        "another relying party",
    )
    .await;
    it.assert_rejected_as(
        Software {
            counter: 2,
            ..Software::new(base)
        },
        "an unregistered passkey",
    )
    .await;
    let eve = it
        .host
        .user_with_account("eve", it.ada.application.clone())
        .await;
    let hers = Software::new(base);
    add(&eve.device, &hers).await;
    it.assert_rejected_as(Software { counter: 2, ..hers }, "another device's passkey")
        .await;

    let mut forged = it.passkey.create_assertion(&it.question().await);
    let other = it.passkey.create_assertion(&json!({"challenge": "AAAA"}));
    forged["response"]["signature"] = other["response"]["signature"].clone();
    it.assert_rejected(forged, "another signature").await;
    let mut created = it.question().await;
    created["challenge"] = json!("QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE");
    it.assert_rejected(
        it.passkey.create_assertion(&created),
        "a challenge of the app's own",
    )
    .await;

    assert_eq!(
        it.approve(it.passkey.create_assertion(&it.question().await))
            .await
            .status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_challenge_is_valid_once_for_one_approval_and_a_short_time() {
    let it = Fixture::on(Database::Sqlite).await;
    let device = &it.ada.device;
    it.assert_rejected(
        it.passkey.create_assertion(&json!({"challenge": "AAAA"})),
        "no challenge was issued",
    )
    .await;

    // A rejected assertion uses up its challenge.
    let options = it.question().await;
    it.assert_rejected(
        Software {
            verified: false,
            ..it.passkey.clone()
        }
        .create_assertion(&options),
        "not unlocked",
    )
    .await;
    it.assert_rejected(
        it.passkey.create_assertion(&options),
        "an answered challenge",
    )
    .await;

    // The challenge for the removal of the passkey is a different one.
    let removal = call(device, Method::POST, REMOVAL, &json!({})).await.body["options"].clone();
    it.assert_rejected(
        it.passkey.create_assertion(&removal),
        "a challenge for another purpose",
    )
    .await;

    // So is the challenge of an earlier request.
    let earlier = it.question().await;
    let next = it
        .ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let newest = async || {
        let pending = device.pending_requests(5).await;
        pending
            .into_iter()
            .find(|request| request.id != it.request.id)
            .expect("beside the first")
    };
    let request = newest().await;
    let assertion = it.passkey.create_assertion(&earlier);
    let sent = send(
        device,
        &request,
        &proof(device, &request, &next.number(), Some(assertion)),
    )
    .await;
    assert_eq!(message(&sent), (StatusCode::FORBIDDEN, "invalid_passkey"));
    assert_eq!(next.again().await.number(), next.number());

    let options = question(device, &request, &next.number()).await;
    let good = it.passkey.create_assertion(&options);
    let body = proof(device, &request, &next.number(), Some(good.clone()));
    assert_eq!(
        send(device, &request, &body).await.body["outcome"],
        "approved"
    );
    let another = it
        .ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let request = newest().await;
    let sent = send(
        device,
        &request,
        &proof(device, &request, &another.number(), Some(good)),
    )
    .await;
    assert_eq!(
        message(&sent),
        (StatusCode::FORBIDDEN, "invalid_passkey"),
        "replayed"
    );

    let removal = call(device, Method::POST, REMOVAL, &json!({})).await.body["options"].clone();
    it.host.advance(121);
    let shown = Software {
        counter: 3,
        ..it.passkey.clone()
    }
    .create_assertion(&removal);
    let late = call(device, Method::POST, REMOVAL, &json!({"passkey": shown})).await;
    assert_eq!(
        message(&late),
        (StatusCode::FORBIDDEN, "invalid_passkey"),
        "late"
    );
}

#[both_databases]
async fn of_concurrent_uses_of_an_assertion_one_approves(database: Database) {
    let it = Fixture::on(database).await;
    let assertion = it.passkey.create_assertion(&it.question().await);
    let answers = join_all((0..20).map(|_| it.approve(assertion.clone()))).await;
    let approved = answers
        .iter()
        .filter(|reply| reply.status == StatusCode::OK)
        .count();
    assert!(approved >= 1, "{database:?}");
    // The repeats of the device get the result of the decision that counted.
    let entries = it
        .host
        .admin_ok(Method::GET, "/audit?event=sign-in.approved", Value::Null)
        .await;
    assert_eq!(
        entries["items"].as_array().map(Vec::len),
        Some(1),
        "{database:?}"
    );
}

#[both_databases]
async fn a_decreased_counter_is_rejected_and_audited(database: Database) {
    let it = Fixture::on(database).await;
    let copy = it.passkey.clone();
    let used = Software {
        counter: 7,
        ..it.passkey.clone()
    };
    assert_eq!(
        it.approve(used.create_assertion(&it.question().await))
            .await
            .status,
        StatusCode::OK
    );
    it.host.advance(1);
    let next = it
        .ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let request = it.ada.device.pending_requests(5).await.remove(0);
    let options = question(&it.ada.device, &request, &next.number()).await;
    let body = proof(
        &it.ada.device,
        &request,
        &next.number(),
        Some(copy.create_assertion(&options)),
    );
    let sent = send(&it.ada.device, &request, &body).await;
    assert_eq!(message(&sent), (StatusCode::FORBIDDEN, "invalid_passkey"));
    let events = it.events().await;
    assert_eq!(
        events
            .iter()
            .filter(|event| *event == "passkey.clone-suspected")
            .count(),
        1,
        "{events:?}"
    );
    // The passkey may have been cloned, so the device itself shows a notification.
    it.host.advance(1);
    let returned = it.ada.device.call_ok(Method::GET, "/requests", None).await;
    let returned = returned["notifications"].items().clone();
    assert_eq!(returned.len(), 1, "{returned:?}");
    assert_eq!(next.again().await.number(), next.number());
}

#[tokio::test]
async fn a_channel_proof_without_the_passkey_approves_nothing() {
    let it = Fixture::on(Database::Sqlite).await;
    let mut carried = proof(&it.ada.device, &it.request, &it.number, None);
    carried["device"] = json!(it.ada.device.device());
    let evidence = |proof: &Value| Evidence {
        request_id: it.request.id.to_string(),
        proof: proof.to_string().into(),
    };
    let accept = async |proof: &Value| {
        answer::accept_evidence(&it.host.host, "relay", &evidence(proof))
            .await
            .expect("taken")
    };
    assert_eq!(accept(&carried).await, None);
    assert_eq!(it.waiting.again().await.number(), it.number);
    carried["passkey"] = it.passkey.create_assertion(&it.question().await);
    assert_eq!(accept(&carried).await, Some(Decision::Approve));
}

#[tokio::test]
async fn a_passkey_with_other_options_is_not_registered() {
    let it = Fixture::on(Database::Sqlite).await;
    let eve = it
        .host
        .user_with_account("eve", it.ada.application.clone())
        .await;
    let device = &eve.device;
    let fresh = || Software::new(&it.host.base);
    let put = async |created: Value| call(device, Method::PUT, DEVICE, &created).await;
    let offer =
        async || call(device, Method::POST, DEVICE, &json!({})).await.body["options"].clone();
    let refused = (StatusCode::FORBIDDEN, "invalid_passkey");
    assert_eq!(
        message(&put(fresh().create_credential(&json!({"challenge": "AAAA"}))).await),
        refused,
        "without a challenge"
    );
    let unlocked = Software {
        verified: false,
        ..fresh()
    };
    assert_eq!(
        message(&put(unlocked.create_credential(&offer().await)).await),
        refused,
        "not unlocked"
    );
    let elsewhere = Software {
        origin: "https://evil.example".to_owned(),
        ..fresh()
    };
    assert_eq!(
        message(&put(elsewhere.create_credential(&offer().await)).await),
        refused,
        "another origin"
    );
    let party = Software {
        rp_id: "evil.example".to_owned(),
        ..fresh()
    };
    assert_eq!(
        message(&put(party.create_credential(&offer().await)).await),
        refused,
        "another relying party"
    );
    // A passkey of another device, which the server would recognise by its key.
    assert_eq!(
        message(&put(it.passkey.create_credential(&offer().await)).await),
        (StatusCode::CONFLICT, "passkey_exists")
    );
    let options = offer().await;
    assert_eq!(
        options["authenticatorSelection"]["authenticatorAttachment"],
        "platform"
    );
    assert_eq!(options["attestation"], "none");
    let good = fresh();
    assert_eq!(
        put(good.create_credential(&options)).await.status,
        StatusCode::NO_CONTENT
    );
    // The device has a passkey now, and the earlier challenge is used up.
    assert_eq!(
        message(&call(device, Method::POST, DEVICE, &json!({})).await),
        (StatusCode::CONFLICT, "passkey_exists")
    );
    assert_eq!(
        message(&put(fresh().create_credential(&options)).await),
        refused
    );
}
