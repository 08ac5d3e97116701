//! SimpleSAMLphp.

use reqwest::Method;
use serde_json::{Value, json};

use super::journey::{HostOptions, Journey};
use super::server::Software::SimpleSamlPhp;
use super::{PERSISTENT, TRANSIENT};
use crate::harness::Text;

#[tokio::test]
async fn simplesamlphp_with_signed_redirects_and_requested_transient_names() {
    let journey = Journey::new(SimpleSamlPhp, HostOptions::default()).await;
    let known = journey.full_flow(&[]).await;
    assert_eq!(known["format"], TRANSIENT, "{known}");
}

#[tokio::test]
async fn simplesamlphp_with_unsigned_redirects_and_persistent_names() {
    let settings = json!({"other_name_id_formats": ["persistent", "transient"]});
    let journey = Journey::new(
        SimpleSamlPhp,
        HostOptions {
            signs: false,
            settings,
            ..HostOptions::default()
        },
    )
    .await;
    let persistent = [("format", PERSISTENT)];
    let known = journey.full_flow(&persistent).await;
    assert_eq!(known["format"], PERSISTENT, "{known}");
    let (again, _) = journey.signs_in(&persistent).await;
    assert_eq!(
        again["name_id"], known["name_id"],
        "another sign-on, the same name"
    );
}

#[tokio::test]
async fn simplesamlphp_forces_authentication_and_sends_passive_requests() {
    let journey = Journey::new(SimpleSamlPhp, HostOptions::default()).await;
    journey
        .is_refused(&[("passive", "yes")], &["Responder", "NoPassive"])
        .await;
    assert_eq!(journey.signs_in(&[]).await.1, 1);
    assert_eq!(journey.signs_in(&[("passive", "yes")]).await.1, 0);
    assert_eq!(
        journey.signs_in(&[("force", "yes")]).await.1,
        1,
        "a session was enough"
    );
}

#[tokio::test]
async fn simplesamlphp_receives_a_denial() {
    Journey::new(SimpleSamlPhp, HostOptions::default())
        .await
        .is_denied()
        .await;
}

#[tokio::test]
async fn simplesamlphp_accepts_idp_initiated_sign_on() {
    let journey = Journey::new(SimpleSamlPhp, HostOptions::default()).await;
    let settings = json!({"idp_initiated": true, "default_relay_state": format!("{}/", journey.provider.base)});
    journey
        .host
        .admin_ok(
            Method::PATCH,
            &format!("/applications/{}", journey.application),
            settings,
        )
        .await;
    let start = journey
        .browser
        .get(&format!("/sso/SingleSignOnService/{}", journey.application))
        .await;
    let page = start.submit(&start.path(), &[]).await;
    journey.is_known(&journey.arrives(page).await.page).await;
}

#[tokio::test]
async fn simplesamlphp_keeps_working_during_a_certificate_renewal() {
    let mut journey = Journey::new(SimpleSamlPhp, HostOptions::default()).await;
    journey.signs_in(&[]).await;
    let certificates = format!("/applications/{}/certificates", journey.application);
    let renewed = journey
        .host
        .admin_ok(Method::POST, &certificates, Value::Null)
        .await;
    // The service provider reads the new certificate while the old one still signs.
    journey.update_trust().await;
    journey.signs_in(&[]).await;
    let now = format!("{certificates}/{}/activate", renewed["id"].text());
    journey.host.admin_ok(Method::POST, &now, Value::Null).await;
    journey.signs_in(&[]).await;
}
