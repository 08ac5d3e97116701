//! Attacks on approvals that must fail. Further ones are in `login.rs`, `oidc/attacks.rs` and `channels/proofs.rs`.

use assent_model::session::Amr;
use assent_store::{AnswerOutcome, DeviceAnswer};
use assent_test_macros::both_databases;
use reqwest::StatusCode;
use reqwest::header::USER_AGENT;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{
    Body, Browser, Database, Respond, TestHost, Text, between, http_client_builder, open_store,
};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::oidc::token::userinfo;
use crate::store::{NOW, ada, audited, fixture, new_report, requested};

#[tokio::test]
async fn requests_codes_and_tokens_are_not_interchangeable() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    let id = request.id.to_string();
    for text in [
        id.clone(),
        format!("ac_{id}"),
        format!("rt_{id}"),
        format!("at_{id}"),
    ] {
        assert_eq!(
            ada.application.exchange(&host.base, &text, &[]).await.1["error"],
            "invalid_grant",
            "{text}"
        );
        assert_eq!(
            refresh(&host.base, &ada.application, &text, &[]).await.1["error"],
            "invalid_grant",
            "{text}"
        );
        assert_eq!(
            userinfo(&host, &text).await.0,
            StatusCode::UNAUTHORIZED,
            "{text}"
        );
    }
    let signature = ada
        .device
        .signature(&ada.device.statement(&request, None).text());
    let access = tokens["access_token"].text();
    let login = waiting.path().rsplit('/').next().expect("an id").to_owned();
    for text in [code.as_str(), access, refresh_token(&tokens), &login] {
        let path = format!("/authenticator/api/requests/{text}");
        let body = json!({"decision": "deny", "number": "", "signature": signature})
            .to_string()
            .into_bytes();
        let reply = ada
            .device
            .call(reqwest::Method::POST, &path, "", body)
            .await
            .expect("an answer");
        assert_eq!(
            (reply.status, &reply.body["error"]),
            (StatusCode::NOT_FOUND, &json!("request_not_found")),
            "{text}"
        );
    }
    ada.approve(&waiting).await;
}

#[tokio::test]
async fn a_relayed_sign_in_is_not_approved_in_another_context() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    // The user visits a page of the attacker with Firefox on Linux. The attacker's server relays to the instance.
    let relay = http_client_builder()
        .cookie_store(true)
        .build()
        .expect("a client");
    let send = |request: reqwest::RequestBuilder| {
        let request = request.header(
            USER_AGENT,
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36",
        );
        async move { request.response().await }
    };
    let login = send(relay.get(format!("{}{}", host.base, ada.application.request(&[])))).await;
    let url = login.url().clone();
    let body = login.read_text().await;
    let csrf = between(&body, "name=\"csrf\" value=\"", "\"");
    // The server ignores all claims of the relay about the client.
    let form = [("csrf", csrf), ("name", "ada")];
    let forged = [
        ("x-forwarded-for", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7"),
        ("x-user-agent", "Firefox on Linux"),
    ];
    let mut requested = relay.post(url.clone()).form(&form);
    for (name, value) in forged {
        requested = requested.header(name, value);
    }
    let waiting = send(requested).await.read_text().await;
    let number = between(&waiting, "id=\"number\" translate=\"no\">", "<");
    let request = ada.device.pending_requests(5).await.remove(0);
    assert_eq!(
        (request.browser.as_str(), request.place.as_str()),
        ("Chrome on Windows", "This computer")
    );
    // If the device shows the user's own browser instead, it signs another text.
    let shown = assent::authenticator::enrolled::PendingRequest {
        browser: "Firefox on Linux".to_owned(),
        ..request.clone()
    };
    let refused = ada
        .device
        .decide(&shown, Some(number))
        .await
        .expect_err("another context");
    assert!(
        refused.to_string().starts_with("invalid_proof"),
        "{refused}"
    );
    let page = send(relay.get(url)).await.read_text().await;
    assert!(
        page.contains("id=\"number\" translate=\"no\">"),
        "it waits: {page}"
    );
}

#[tokio::test]
async fn an_approval_completes_only_its_own_sign_in() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (attacker, own) = (Browser::new(&host.base), Browser::new(&host.base));
    let theirs = ada.begin_sign_in(&attacker, &[]).await;
    let page = ada.begin_sign_in(&own, &[]).await;
    ada.approve(&page).await;
    let still = attacker.get(&theirs.url).await;
    assert_eq!(
        (still.status, still.number()),
        (StatusCode::OK, theirs.number())
    );
    let elsewhere = attacker.get(&page.url).await;
    assert_eq!(elsewhere.status, StatusCode::NOT_FOUND);
    assert!(
        own.finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    host.advance(120);
    assert_eq!(attacker.get(&theirs.url).await.outcome(), "expired");
}

#[both_databases]
async fn of_fifty_decisions_on_two_instances_one_counts_and_none_after_a_restart(
    database: Database,
) {
    let fixture = fixture(database).await;
    let (user, device) = ada(&fixture.store).await;
    let requested = requested(&fixture.store, Some(&user), "ada").await.id;
    let second = open_store(&fixture.url).await.expect("a store");
    let verdicts = [
        DeviceAnswer::Approve {
            amr: vec![Amr::Swk],
            passkey: None,
        },
        DeviceAnswer::Deny,
        new_report(),
    ];
    let mut attempts = JoinSet::new();
    for count in 0..50 {
        let store = if count % 2 == 0 {
            fixture.store.clone()
        } else {
            second.clone()
        };
        let (device, verdict) = (device.id, verdicts[count % 3].clone());
        attempts.spawn(async move {
            let answer = store
                .answer_approval(requested, device, verdict, audited(&[30]), NOW)
                .await
                .expect("answered");
            (count % 3, answer)
        });
    }
    let answers = attempts.join_all().await;
    let mut won: Vec<usize> = answers
        .iter()
        .filter(|(_, answer)| *answer == AnswerOutcome::Counted)
        .map(|(of, _)| *of)
        .collect();
    won.sort_unstable();
    // After a denial, the user may also report the request, once.
    assert!(
        [&[0][..], &[1], &[2], &[1, 2]].contains(&&won[..]),
        "{database:?}: {won:?}"
    );
    fixture.store.close().await;
    second.close().await;
    let third = open_store(&fixture.url).await.expect("a store");
    for verdict in verdicts.into_iter().take(if won == [1] { 2 } else { 3 }) {
        let late = third
            .answer_approval(requested, device.id, verdict, audited(&[30]), NOW)
            .await
            .expect("answered");
        assert_eq!(late, AnswerOutcome::Late, "{database:?}");
    }
}

#[tokio::test]
async fn invalid_decisions_are_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    let path = format!("/authenticator/api/requests/{}", request.id);
    for body in [
        Value::Null,
        json!({}),
        json!({"decision": "approve"}),
        json!({"decision": "Approve", "signature": ""}),
    ] {
        let reply = ada
            .device
            .call(
                reqwest::Method::POST,
                &path,
                "",
                body.to_string().into_bytes(),
            )
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
    }
    ada.approve(&page).await;
}
