//! Repeated requests of real browsers.

use reqwest::Method;
use serde_json::Value;

use crate::harness::{TestHost, Text, id};
use crate::javascript::run_with;

#[tokio::test]
async fn two_clicks_and_a_lost_response_lead_to_one_usable_code_in_chromium() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    let native = host.native_application().await;
    host.account(&ada, &native).await;
    let path = format!("/users/{}/enrolments", id(&ada));
    let enrolment = host.admin_ok(Method::POST, &path, Value::Null).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", enrolment["link"].text()),
        ("CLIENT_ID", &native.id),
    ];
    run_with(&host, "repeats.mjs", &variables).await;
}
