//! Invitations in the console, in Chromium.

use super::{MailServer, Security, link_in};
use crate::harness::{TestHost, Text, id};
use crate::javascript::run_with;
use reqwest::Method;
use serde_json::json;

const LIMITS: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 600, burst = 600 }\n\
                      prompts_per_user = { per_minute = 600, burst = 600 }\n";

async fn owner_link(host: &TestHost) -> String {
    let ada = host.user("ada").await;
    let path = format!("/users/{}", id(&ada));
    host.admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
        .await;
    host.enrolment_link(&ada).await
}

#[tokio::test]
async fn an_administrator_invites_by_email_and_its_link_enrols_a_device() {
    let mut server = MailServer::start(Security::StartTls).await;
    let settings = format!("{LIMITS}{}", server.settings());
    let host = TestHost::start_with_settings(&settings).await;
    let link = owner_link(&host).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("WITH_MAIL", "yes"),
    ];
    run_with(&host, "console_invitations.mjs", &variables).await;
    let messages = server.messages(1).await;
    let to = |name: &str| {
        let address = format!("{name}@example.org");
        let mut of_name = messages.iter().filter(|one| one["to"][0].text() == address);
        of_name.next_back().cloned().expect("a message")
    };
    let link = link_in(&to("grace"));
    let variables = [("ENROL_URL", link.as_str())];
    run_with(&host, "invitation_link.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_hands_links_over_without_email() {
    let host = TestHost::start_with_settings(LIMITS).await;
    let link = owner_link(&host).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("WITH_MAIL", ""),
    ];
    run_with(&host, "console_invitations.mjs", &variables).await;
}
