//! Debian's `mod_auth_mellon`. The administrator writes its metadata by hand.

use serde_json::json;

use super::TRANSIENT;
use super::journey::{HostOptions, Journey, Registered};
use super::server::Software::Mellon;
use crate::harness::Text;

fn by_hand() -> HostOptions {
    HostOptions {
        registered: Registered::ByHand,
        ..HostOptions::default()
    }
}

#[tokio::test]
async fn mellon_with_signed_redirects_and_requested_transient_names() {
    let journey = Journey::new(Mellon, by_hand()).await;
    let known = journey.full_flow(&[]).await;
    assert_eq!(known["format"], TRANSIENT, "{known}");
    let name = known["name_id"].text();
    assert!(
        name.strip_prefix('_')
            .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())),
        "the response contains nothing about the user: {known}"
    );
}

#[tokio::test]
async fn mellon_with_unsigned_redirects() {
    let settings = json!({"other_name_id_formats": []});
    let journey = Journey::new(
        Mellon,
        HostOptions {
            signs: false,
            settings,
            ..by_hand()
        },
    )
    .await;
    // The server cannot provide the requested format, and returns this status.
    journey
        .is_refused(&[], &["Requester", "InvalidNameIDPolicy"])
        .await;
    let journey = Journey::new(
        Mellon,
        HostOptions {
            signs: false,
            ..by_hand()
        },
    )
    .await;
    assert_eq!(journey.signs_in(&[]).await.0["format"], TRANSIENT);
}

#[tokio::test]
async fn mellon_receives_no_passive_and_denials() {
    let journey = Journey::new(Mellon, by_hand()).await;
    journey
        .is_refused(&[("IsPassive", "true")], &["Responder", "NoPassive"])
        .await;
    journey.is_denied().await;
    // The failures have no effect on a later sign-in.
    assert_eq!(journey.signs_in(&[]).await.1, 1);
}
