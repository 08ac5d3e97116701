//! What approves nothing, adds nothing and removes nothing.

use assent::domain::approvals::channel_proofs::{self, EvidenceOutcome};
use assent_plugin_host::Evidence;
use assent_test_macros::both_databases;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::software::Software;
use super::{DEVICE, It, REMOVAL, add, call, proof, question, said, send};
use crate::harness::{Browser, Database};

impl It {
    /// This assertion is refused, and Ada waits on.
    async fn refuses(&self, assertion: Value, why: &str) {
        let reply = self.approve(assertion).await;
        assert_eq!(
            said(&reply),
            (StatusCode::FORBIDDEN, "invalid_passkey"),
            "{why}: {}",
            reply.body
        );
        assert_eq!(self.waiting.again().await.number(), self.number, "{why}");
    }

    async fn refuses_what_is(&self, changed: Software, why: &str) {
        self.refuses(changed.show(&self.question().await), why)
            .await;
    }
}

#[tokio::test]
async fn an_assertion_that_is_not_the_passkeys_own_approves_nothing() {
    let it = It::on(Database::Sqlite).await;
    let good = || it.passkey.clone();
    let base = &it.host.base;
    it.refuses_what_is(
        Software {
            verified: false,
            ..good()
        },
        "the phone was not unlocked",
    )
    .await;
    it.refuses_what_is(
        Software {
            origin: "https://id.evil.example".to_owned(),
            ..good()
        },
        "another origin",
    )
    .await;
    it.refuses_what_is(
        Software {
            origin: "http://localhost:1".to_owned(),
            ..good()
        },
        "another port",
    )
    .await;
    it.refuses_what_is(
        Software {
            rp_id: "evil.example".to_owned(),
            ..good()
        },
        "another relying party",
    )
    .await;
    it.refuses_what_is(
        Software {
            counter: 2,
            ..Software::new(base)
        },
        "a passkey that nobody added",
    )
    .await;
    let eve = it.host.person("eve", it.ada.application.clone()).await;
    let hers = Software::new(base);
    add(&eve.phone, &hers).await;
    it.refuses_what_is(Software { counter: 2, ..hers }, "another device's passkey")
        .await;

    let mut forged = it.passkey.show(&it.question().await);
    let other = it.passkey.show(&json!({"challenge": "AAAA"}));
    forged["response"]["signature"] = other["response"]["signature"].clone();
    it.refuses(forged, "another signature").await;
    let mut made = it.question().await;
    made["challenge"] = json!("QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE");
    it.refuses(it.passkey.show(&made), "a challenge of the app's own")
        .await;

    assert_eq!(
        it.approve(it.passkey.show(&it.question().await))
            .await
            .status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_question_is_good_once_for_one_approval_and_for_a_short_time() {
    let it = It::on(Database::Sqlite).await;
    let phone = &it.ada.phone;
    it.refuses(
        it.passkey.show(&json!({"challenge": "AAAA"})),
        "nothing was asked",
    )
    .await;

    // What is refused used the question up.
    let options = it.question().await;
    it.refuses(
        Software {
            verified: false,
            ..it.passkey.clone()
        }
        .show(&options),
        "not unlocked",
    )
    .await;
    it.refuses(it.passkey.show(&options), "a question that was answered")
        .await;

    // The question about removing it is another one.
    let removal = call(phone, Method::POST, REMOVAL, &json!({})).await.body["options"].clone();
    it.refuses(it.passkey.show(&removal), "a question about something else")
        .await;

    // So is that about an earlier request.
    let earlier = it.question().await;
    let next = it.ada.ask(&Browser::new(&it.host.base), &[]).await;
    let newest = async || {
        let pending = phone.waiting(5).await.expect("requests");
        pending
            .into_iter()
            .find(|request| request.id != it.request.id)
            .expect("beside the first")
    };
    let request = newest().await;
    let assertion = it.passkey.show(&earlier);
    let sent = send(
        phone,
        &request,
        &proof(phone, &request, &next.number(), Some(assertion)),
    )
    .await;
    assert_eq!(said(&sent), (StatusCode::FORBIDDEN, "invalid_passkey"));
    assert_eq!(next.again().await.number(), next.number());

    let options = question(phone, &request, &next.number()).await;
    let good = it.passkey.show(&options);
    let body = proof(phone, &request, &next.number(), Some(good.clone()));
    assert_eq!(
        send(phone, &request, &body).await.body["outcome"],
        "approved"
    );
    let another = it.ada.ask(&Browser::new(&it.host.base), &[]).await;
    let request = newest().await;
    let sent = send(
        phone,
        &request,
        &proof(phone, &request, &another.number(), Some(good)),
    )
    .await;
    assert_eq!(
        said(&sent),
        (StatusCode::FORBIDDEN, "invalid_passkey"),
        "replayed"
    );

    let removal = call(phone, Method::POST, REMOVAL, &json!({})).await.body["options"].clone();
    it.host.advance(121);
    let shown = Software {
        counter: 3,
        ..it.passkey.clone()
    }
    .show(&removal);
    let late = call(phone, Method::POST, REMOVAL, &json!({"passkey": shown})).await;
    assert_eq!(
        said(&late),
        (StatusCode::FORBIDDEN, "invalid_passkey"),
        "late"
    );
}

#[both_databases]
async fn of_many_that_bring_the_same_assertion_one_approves(database: Database) {
    let it = It::on(database).await;
    let assertion = it.passkey.show(&it.question().await);
    let answers = join_all((0..20).map(|_| it.approve(assertion.clone()))).await;
    let approved = answers
        .iter()
        .filter(|reply| reply.status == StatusCode::OK)
        .count();
    assert_eq!(approved, 1, "{database:?}");
}

#[both_databases]
async fn a_counter_that_goes_backwards_is_refused_and_noted(database: Database) {
    let it = It::on(database).await;
    let copy = it.passkey.clone();
    let used = Software {
        counter: 7,
        ..it.passkey.clone()
    };
    assert_eq!(
        it.approve(used.show(&it.question().await)).await.status,
        StatusCode::OK
    );
    it.host.advance(1);
    let next = it.ada.ask(&Browser::new(&it.host.base), &[]).await;
    let request = it.ada.phone.waiting(5).await.expect("requests").remove(0);
    let options = question(&it.ada.phone, &request, &next.number()).await;
    let body = proof(
        &it.ada.phone,
        &request,
        &next.number(),
        Some(copy.show(&options)),
    );
    let sent = send(&it.ada.phone, &request, &body).await;
    assert_eq!(said(&sent), (StatusCode::FORBIDDEN, "invalid_passkey"));
    let events = it.events().await;
    assert_eq!(
        events
            .iter()
            .filter(|event| *event == "passkey.clone-suspected")
            .count(),
        1,
        "{events:?}"
    );
    // It may be a copy that speaks as this phone, so the phone itself tells of it.
    it.host.advance(1);
    let told = it
        .ada
        .phone
        .ask(Method::GET, "/requests", None)
        .await
        .expect("an answer");
    let told = told["notifications"]
        .as_array()
        .expect("notifications")
        .clone();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(next.again().await.number(), next.number());
}

#[tokio::test]
async fn what_a_channel_carries_without_the_passkey_approves_nothing() {
    let it = It::on(Database::Sqlite).await;
    let mut carried = proof(&it.ada.phone, &it.request, &it.number, None);
    carried["device"] = json!(it.ada.phone.device());
    let evidence = |proof: &Value| Evidence {
        request_id: it.request.id.to_string(),
        proof: proof.to_string().into(),
    };
    let accept = async |proof: &Value| {
        channel_proofs::accept_evidence(&it.host.host, "relay", &evidence(proof))
            .await
            .expect("taken")
    };
    assert_eq!(accept(&carried).await, EvidenceOutcome::Ignored);
    assert_eq!(it.waiting.again().await.number(), it.number);
    carried["passkey"] = it.passkey.show(&it.question().await);
    assert_eq!(accept(&carried).await, EvidenceOutcome::Decided);
}

#[tokio::test]
async fn a_passkey_that_is_not_as_asked_for_is_not_added() {
    let it = It::on(Database::Sqlite).await;
    let eve = it.host.person("eve", it.ada.application.clone()).await;
    let phone = &eve.phone;
    let fresh = || Software::new(&it.host.base);
    let put = async |made: Value| call(phone, Method::PUT, DEVICE, &made).await;
    let offer =
        async || call(phone, Method::POST, DEVICE, &json!({})).await.body["options"].clone();
    let refused = (StatusCode::FORBIDDEN, "invalid_passkey");
    assert_eq!(
        said(&put(fresh().make(&json!({"challenge": "AAAA"}))).await),
        refused,
        "not asked for"
    );
    let unlocked = Software {
        verified: false,
        ..fresh()
    };
    assert_eq!(
        said(&put(unlocked.make(&offer().await)).await),
        refused,
        "not unlocked"
    );
    let elsewhere = Software {
        origin: "https://evil.example".to_owned(),
        ..fresh()
    };
    assert_eq!(
        said(&put(elsewhere.make(&offer().await)).await),
        refused,
        "another origin"
    );
    let party = Software {
        rp_id: "evil.example".to_owned(),
        ..fresh()
    };
    assert_eq!(
        said(&put(party.make(&offer().await)).await),
        refused,
        "another relying party"
    );
    // That of another device, which its key would let in.
    assert_eq!(
        said(&put(it.passkey.make(&offer().await)).await),
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
        put(good.make(&options)).await.status,
        StatusCode::NO_CONTENT
    );
    // It has one now, and what was asked once is not asked any more.
    assert_eq!(
        said(&call(phone, Method::POST, DEVICE, &json!({})).await),
        (StatusCode::CONFLICT, "passkey_exists")
    );
    assert_eq!(said(&put(fresh().make(&options)).await), refused);
}
