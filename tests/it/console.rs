//! The console in Chromium, as an administrator uses it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, HostOptions, TestHost, id};
use crate::javascript::run_with;

/// A host whose applications may be at `http://localhost`, for somebody who tries much in no time.
async fn host() -> TestHost {
    let settings = "allow_insecure_redirect_uris = true\n[rate_limits]\nsign_ins_per_user_name = { per_minute = 600, \
    burst = 600 }\n\
                    prompts_per_user = { per_minute = 600, burst = 600 }\n";
    TestHost::start_with(HostOptions {
        settings,
        ..HostOptions::default()
    })
    .await
}

/// A user with a role in the console, and a link to enrol a phone.
async fn person(host: &TestHost, name: &str, role: Option<&str>) -> (Value, String) {
    let user = host.user(name).await;
    if let Some(role) = role {
        host.admin_ok(
            Method::PATCH,
            &format!("/users/{}", id(&user)),
            json!({"console_role": role}),
        )
        .await;
    }
    let enrolment = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&user)),
            Value::Null,
        )
        .await;
    (user, enrolment["link"].as_str().expect("a link").to_owned())
}

#[tokio::test]
async fn a_newcomer_connects_four_kinds_of_application_in_the_console() {
    let host = host().await;
    let (_, link) = person(&host, "ada", Some("owner")).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
    ];
    // The service provider has the machine's clock, from which the host's must not differ by much.
    run_with(&host, "console_applications.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_looks_after_people_in_the_console() {
    let host = host().await;
    let (_, link) = person(&host, "ada", Some("owner")).await;
    let application = host.native_application().await;
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", application.id),
        json!({"name": "Expenses"}),
    )
    .await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION_NAME", "Expenses"),
    ];
    run_with(&host, "console_people.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_operates_the_host_in_the_console_and_other_roles_see_less() {
    let host = host().await;
    let (_, link) = person(&host, "ada", Some("owner")).await;
    let (_, support) = person(&host, "support", Some("support")).await;
    let (_, auditor) = person(&host, "auditor", Some("auditor")).await;
    let (_, plain) = person(&host, "plain", None).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("SUPPORT_URL", &support),
        ("AUDITOR_URL", &auditor),
        ("PLAIN_URL", &plain),
    ];
    run_with(&host, "console_operation.mjs", &variables).await;
}

#[tokio::test]
async fn who_is_not_signed_in_gets_the_frame_of_a_page_and_nothing_of_what_is_in_it() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let front = browser.get("/admin").await;
    assert!(
        front.location().path().starts_with("/login/"),
        "{}",
        front.location()
    );
    for path in [
        format!("/admin/users/{}", id(&ada.user)),
        "/admin/nothing".to_owned(),
    ] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(
            !page.body.contains("ada") && !page.body.contains(id(&ada.user)),
            "{path}: {}",
            page.body
        );
    }
}
