//! Several service providers in one session.

use super::journey::{HostOptions, Journey};
use super::server::Software;

#[tokio::test]
async fn single_sign_on_and_single_logout_reach_all_service_providers() {
    let mut journey = Journey::new(Software::Mellon, HostOptions::default()).await;
    let mut all = Vec::new();
    let mut requested = 0;
    for software in [
        Software::SimpleSamlPhp,
        Software::Pysaml2,
        Software::NodeSaml,
    ] {
        requested += journey.signs_in(&[]).await.1;
        let next = journey.another(software).await;
        all.push(std::mem::replace(&mut journey.provider, next));
    }
    requested += journey.signs_in(&[]).await.1;
    assert_eq!(requested, 1);
    for provider in &all {
        assert!(provider.session_data(&journey.browser).await.is_some());
    }

    let page = journey.visits(&journey.provider.logout(&[])).await.page;
    assert!(
        journey.provider.signed_out(&page),
        "{} {}",
        page.url,
        page.body
    );
    for provider in &all {
        assert_eq!(
            provider.session_data(&journey.browser).await,
            None,
            "{} {}",
            provider.base,
            provider.log()
        );
    }
}

#[tokio::test]
async fn an_openid_connect_logout_reaches_a_service_provider() {
    let journey = Journey::new(Software::NodeSaml, HostOptions::default()).await;
    journey.signs_in(&[]).await;
    let page = journey.browser.get("/oidc/session/end").await;
    let request = page.field("request");
    let page = page
        .submit("/session/end", &[("request", &request), ("answer", "yes")])
        .await;
    journey.is_signed_out_by(page).await;
}
