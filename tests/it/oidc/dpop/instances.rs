//! Proofs at two instances, beside those at the token endpoint.

use reqwest::StatusCode;
use serde_json::json;

use super::{bound_token_of, me, push, pushed_requests, refused, userinfo};
use crate::harness::{Database, HostOptions, ProofKey, TestHost};

/// A proof with a pushed request is valid once on all instances, also if both receive it at the same time.
#[tokio::test]
async fn a_proof_of_a_pushed_request_is_valid_once_on_every_instance() {
    let host = TestHost::start_on(Database::Postgres).await;
    let web = host.web_application().await;
    let options = HostOptions {
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_second, _running, other) = host.second(options).await;
    let key = ProofKey::generate();
    let prove = || key.proof(&host, "POST", &pushed_requests(&host), json!({}));
    for (first, then) in [(&host.base, &other), (&other, &host.base)] {
        let proof = prove();
        let (status, answer) = push(first, &web, &[], &[&proof]).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
        for base in [then, first] {
            refused(
                &push(base, &web, &[], &[&proof]).await,
                "invalid_dpop_proof",
            );
        }
    }
    let proof = prove();
    let proofs = [proof.as_str()];
    let (one, two) = tokio::join!(
        push(&host.base, &web, &[], &proofs),
        push(&other, &web, &[], &proofs),
    );
    let mut statuses = [one.0, two.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [StatusCode::CREATED, StatusCode::BAD_REQUEST]);
}

/// The accepted limit: UserInfo remembers a `jti` in the memory of its instance, so a proof works once at each. It is
/// bound to the address and the token, and ends after 30 seconds.
#[tokio::test]
async fn a_proof_at_userinfo_is_valid_once_per_instance() {
    let host = TestHost::start_on(Database::Postgres).await;
    let (key, token) = bound_token_of(&host).await;
    let options = HostOptions {
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_second, _running, other) = host.second(options).await;
    let authorization = format!("DPoP {token}");
    let proof = key.proof_with_token(&host, "GET", &userinfo(&host), &token);
    for base in [&host.base, &other] {
        let (status, error, _) = me(base, &authorization, &[&proof]).await;
        assert_eq!(status, StatusCode::OK, "{error}");
        let (status, error, _) = me(base, &authorization, &[&proof]).await;
        assert_eq!(
            (status, error.as_str()),
            (StatusCode::UNAUTHORIZED, "invalid_dpop_proof")
        );
    }
    let (_third, _running, late) = host.second(options).await;
    host.advance(31);
    let (status, error, _) = me(&late, &authorization, &[&proof]).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_dpop_proof")
    );
}
