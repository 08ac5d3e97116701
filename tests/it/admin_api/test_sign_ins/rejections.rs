//! Test sign-ins that end early.

use super::*;
use assent_test_macros::both_databases;

use crate::harness::{Json, Text};

#[both_databases]
async fn a_test_sign_in_explains_why_no_prompt_was_sent(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "grace").await;
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );
    decide(&grace, None).await;

    // The second denial begins a cooldown.
    let waiting = retry_as(&waiting, "grace").await;
    decide(&grace, None).await;
    let waiting = retry_as(&waiting, "grace").await;
    assert!(
        grace.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    let returned = read(&console, &test).await;
    assert_eq!(
        (&returned["state"], names(&returned).last()),
        (&json!("pending"), Some(&("approval_request", false))),
        "{returned}"
    );
    assert!(
        detail(&returned, "approval_request").contains("requests are paused until"),
        "{database:?}: {returned}"
    );
    let until = step(&returned, "approval_request")["data"]["cooldown_until"]
        .text()
        .to_owned();
    assert!(until.ends_with('Z'), "{until}");
    let seen = waiting.again().await;
    assert_eq!(
        seen.number(),
        waiting.number(),
        "the page waits as for any name"
    );
    assert!(
        !seen.body.contains(&until) && !seen.body.contains("no request went"),
        "{}",
        seen.body
    );

    // After the cooldown, the device receives a request.
    host.advance(61);
    let waiting = retry_as(&waiting, "grace").await;
    assert_eq!(
        grace.device.pending_requests(5).await.len(),
        1,
        "{database:?}"
    );
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );

    // A QR sign-in in another browser does not replace the request.
    let other = application.login_page(&Browser::new(&host.base), &[]).await;
    grace
        .device
        .scan_code(&crate::qr_sign_in::code(&other))
        .await;
    assert_eq!(
        grace.device.pending_requests(5).await.len(),
        2,
        "{database:?}"
    );
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );
    assert_eq!(waiting.again().await.number(), waiting.number());
}

#[tokio::test]
async fn a_test_sign_in_discloses_nothing_about_other_names() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let heidi = Administrator::new(&host, "heidi", "support").await;
    host.account(&heidi.user, &application).await;
    let paused = Administrator::new(&host, "paused", "support").await;
    host.account(&paused.user, &application).await;
    let login = application.login_page(&Browser::new(&host.base), &[]).await;
    login.submit(&login.path(), &[("name", "paused")]).await;
    let request = paused.device.pending_requests(5).await.remove(0);
    paused.device.submit_report(&request).await;
    let mut returned = BTreeSet::new();
    for name in ["heidi", "paused", "nobody"] {
        let test = begin(&console, &application.id).await;
        ask(&browser, &test, name).await;
        let shown = read(&console, &test).await;
        assert!(!shown.to_string().contains(name), "{name}: {shown}");
        let steps = shown["steps"].items().iter().skip(2);
        returned.insert(
            steps
                .map(|step| format!("{} {} {}", step["name"], step["succeeded"], step["detail"]))
                .collect::<String>(),
        );
        host.advance(20);
    }
    assert_eq!(
        returned.len(),
        1,
        "the results for another name and for no name are identical: {returned:?}"
    );
    assert!(
        returned
            .iter()
            .all(|one| one.contains("\"identification\" false")),
        "{returned:?}"
    );
}

#[tokio::test]
async fn a_saml_test_sign_in_without_a_name_id_explains_the_remedy() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let user = host
        .admin_ok(Method::POST, "/users", json!({"name": "grace"}))
        .await;
    let path = format!("/users/{}", id(&user));
    let user = host
        .admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
        .await;
    let grace = Administrator {
        device: Arc::new(host.authenticator(&user).await),
        user,
    };
    host.account(&grace.user, &service_provider.application())
        .await;
    let console = grace.signed_in(&host).await;
    let Caller::Console { browser, .. } = &console else {
        panic!("a console")
    };
    let test = begin(&console, &service_provider.id).await;
    let page = approved(&grace, browser, &test).await;
    let fields = [
        ("SAMLResponse", page.field("SAMLResponse")),
        ("RelayState", page.field("RelayState")),
    ];
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));
    assert_eq!(browser.post(&address, &fields).await.outcome(), "failed");

    let returned = read(&console, &test).await;
    assert_eq!(returned["state"], "failed", "{returned}");
    assert_eq!(
        names(&returned)[4..],
        [
            ("approval", true),
            ("account", true),
            ("name_id", false),
            ("response", false)
        ],
        "{returned}"
    );
    for text in [
        detail(&returned, "name_id"),
        detail(&returned, "response"),
        returned["result"]["error_description"].text().to_owned(),
    ] {
        assert!(
            text.contains("email address") && text.contains("name_id_source"),
            "{text}"
        );
    }
    assert!(
        returned["result"]["status"]
            .as_str()
            .is_some_and(|status| status.contains("status:Responder")),
        "{returned}"
    );
    // The service provider receives no further information.
    let response = returned["result"]["response"].text();
    assert!(!response.contains("email address"), "{response}");
}

#[tokio::test]
async fn a_test_sign_in_names_the_plugin_that_ended_it() {
    let plugins = format!(
        "[[plugins.claim_mappers]]\nname = \"broken\"\nfile = \"{}\"\nwrites = []\nconfig = {{ behaviour = \"panic\" \
         }}\n",
        component("hostile-mapper").display()
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    assert_eq!(
        approved(&grace, &browser, &test)
            .await
            .followed()
            .await
            .outcome(),
        "failed"
    );
    let returned = read(&console, &test).await;
    assert_eq!(
        names(&returned).last(),
        Some(&("response", false)),
        "{returned}"
    );
    for text in [
        detail(&returned, "response"),
        returned["result"]["error_description"].text().to_owned(),
    ] {
        assert!(text.contains("plugin `broken`"), "{text}");
    }
}

#[tokio::test]
async fn administrators_without_permission_are_told_the_remedy() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let account = host.account(&grace.user, &application).await;
    let console = grace.signed_in(&host).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{}", id(&account)),
        json!({"state": "suspended"}),
    )
    .await;
    let path = format!("/applications/{}/test-sign-ins", application.id);
    let answer = console.call(Method::POST, &path, Value::Null).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::CONFLICT, "conflict"),
        "{}",
        answer.body
    );
    let detail = answer.body["detail"].text();
    assert!(
        detail.contains("suspended") && detail.contains("set its state to active"),
        "{detail}"
    );
}

/// Another user approves a test sign-in and leaves. The response does not state whether that user has an account.
#[tokio::test]
async fn another_user_who_leaves_a_test_sign_in_discloses_no_account() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let heidi = Administrator::new(&host, "heidi", "support").await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "heidi").await;
    decide(&heidi, Some(&waiting.number())).await;
    // The page has no such form, but the user can send the request.
    let leave = format!("{}/leave", waiting.path());
    let csrf = waiting.csrf();
    let left = browser.post(&leave, &[("csrf", csrf.as_str())]).await;
    assert_eq!(left.parameter("error"), "access_denied");
    assert_eq!(
        left.parameter("error_description"),
        "the sign-in was not completed"
    );
}
