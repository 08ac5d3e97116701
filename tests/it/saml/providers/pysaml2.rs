//! Python's `pysaml2`.

use reqwest::StatusCode;
use serde_json::json;

use super::EMAIL_ADDRESS;
use super::journey::{HostOptions, Journey};
use super::server::Software::Pysaml2;

#[tokio::test]
async fn pysaml2_with_signed_forms_and_email_addresses() {
    let journey = Journey::new(Pysaml2, HostOptions::default()).await;
    let known = journey
        .full_flow(&[("binding", "post"), ("format", EMAIL_ADDRESS)])
        .await;
    assert_eq!(
        (&known["name_id"], &known["format"]),
        (&json!("ada@example.org"), &json!(EMAIL_ADDRESS)),
        "{known}"
    );
}

#[tokio::test]
async fn pysaml2_with_signed_redirects_and_logout_by_form() {
    let journey = Journey::new(Pysaml2, HostOptions::default()).await;
    journey.signs_in(&[]).await;
    let page = journey
        .visits(&journey.provider.logout(&[("binding", "post")]))
        .await
        .page;
    assert!(
        journey.provider.signed_out(&page),
        "{} {}",
        page.url,
        page.body
    );
    assert_eq!(
        journey.signs_in(&[]).await.1,
        1,
        "the session of Assent continued"
    );
}

#[tokio::test]
async fn pysaml2_with_unsigned_redirects_and_forms() {
    let journey = Journey::new(
        Pysaml2,
        HostOptions {
            signs: false,
            ..HostOptions::default()
        },
    )
    .await;
    journey.full_flow(&[]).await;
    journey.signs_in(&[("binding", "post")]).await;
}

#[tokio::test]
async fn pysaml2_without_signatures_is_rejected_if_they_are_required() {
    let settings = json!({"require_signed_requests": true});
    let journey = Journey::new(
        Pysaml2,
        HostOptions {
            signs: false,
            settings,
            ..HostOptions::default()
        },
    )
    .await;
    for binding in ["redirect", "post"] {
        let page = journey
            .visits(&journey.provider.login(&[("binding", binding)]))
            .await
            .page;
        assert_eq!(
            page.status,
            StatusCode::BAD_REQUEST,
            "{binding}: {} {}",
            page.url,
            page.body
        );
        assert!(
            page.url.starts_with(&journey.host.base),
            "{binding}: {}",
            page.url
        );
    }
}

#[tokio::test]
async fn pysaml2_receives_no_passive_and_denials() {
    let journey = Journey::new(Pysaml2, HostOptions::default()).await;
    journey
        .is_refused(
            &[("passive", "yes"), ("binding", "post")],
            &["Responder", "NoPassive"],
        )
        .await;
    journey.is_denied().await;
}
