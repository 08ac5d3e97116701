//! German pages in Chromium: each page in both themes, on a phone and on a desktop.

use crate::harness::TestHost;
use crate::javascript::run_with;

#[tokio::test]
async fn a_user_enrols_and_signs_in_in_german_in_chromium() {
    let settings = "[branding]\nsupport = \"hilfe@example.org\"\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    host.set_console_role(&ada.user, "owner").await;
    let link = host.enrolment_link(&ada.user).await;
    let link = link.as_str();
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    let variables = [
        ("ENROL_URL", link),
        ("BASE_URL", &host.base),
        ("LOGIN_NAME", "ada"),
        ("AUTHORIZE_URL", &request),
    ];
    run_with(&host, "german.mjs", &variables).await;
}
