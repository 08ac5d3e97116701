//! The console in Chromium, as an administrator uses it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, ProofKey, TestHost, id};
use crate::javascript::run_with;
use crate::saml::service_provider::TestServiceProvider;

/// Starts an instance that allows applications at `http://localhost`, without rate limits.
async fn host() -> TestHost {
    host_with("").await
}

/// Does the same with additional settings.
async fn host_with(additional: &str) -> TestHost {
    let settings = "allow_insecure_redirect_uris = true\n[rate_limits]\nsign_ins_per_user_name = { per_minute = 600, \
    burst = 600 }\n\
                    prompts_per_user = { per_minute = 600, burst = 600 }\n\
                    [approvals]\ndenial_cooldowns = [\"2m\"]\n";
    TestHost::start_with_settings(&format!("{settings}{additional}")).await
}

/// Returns a user with a role in the console, and a link to enrol a device.
async fn invited_user(host: &TestHost, name: &str, role: Option<&str>) -> (Value, String) {
    let user = host.user(name).await;
    if let Some(role) = role {
        host.set_console_role(&user, role).await;
    }
    let enrolment = host.enrolment_link(&user).await;
    (user, enrolment)
}

#[tokio::test]
async fn an_administrator_connects_a_web_application_in_the_console() {
    connect_applications("web").await;
}

#[tokio::test]
async fn an_administrator_connects_apps_and_a_service_provider_in_the_console() {
    connect_applications("others").await;
}

async fn connect_applications(which: &str) {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("CONNECTS", which),
    ];
    // The service provider uses the machine's clock. The clock of the instance must be close to it.
    run_with(&host, "console_applications.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_manages_users_in_the_console() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let application = host.native_application().await;
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", application.id),
        json!({"name": "Expenses"}),
    )
    .await;
    let provider = json!({"name": "Engines & Co"});
    let provider = TestServiceProvider::register(&host, provider).await;
    for name in ["harriet", "ivy", "joan", "kate"] {
        let body = json!({"name": name, "email": format!("{name}@example.org")});
        let user = host.admin_ok(Method::POST, "/users", body).await;
        let path = format!("/users/{}", id(&user));
        host.admin_ok(Method::PATCH, &path, json!({"email_confirmed": false}))
            .await;
        host.account(&user, &provider.application()).await;
        if name == "joan" {
            host.authenticator(&user).await;
        }
    }
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION_NAME", "Expenses"),
        ("PROVIDER_NAME", "Engines & Co"),
    ];
    run_with(&host, "console_users.mjs", &variables).await;
}

#[tokio::test]
async fn a_console_tab_never_acts_as_another_administrator() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let (_, other) = invited_user(&host, "grace", Some("owner")).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("OTHER_URL", &other),
    ];
    run_with(&host, "console_two_users.mjs", &variables).await;
}

#[tokio::test]
async fn the_console_shows_that_it_loads_and_that_the_server_is_away() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let maryam = host.user("maryam").await;
    let named = json!({"profile": {"name": "Maryam Mirzakhani"}});
    host.admin_ok(Method::PATCH, &format!("/users/{}", id(&maryam)), named)
        .await;
    for number in 0..9 {
        host.user(&format!("user-{number}")).await;
    }
    let group = json!({"name": "Engineering"});
    let group = host.admin_ok(Method::POST, "/groups", group).await;
    let application = host.web_application().await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("GROUP_ID", id(&group)),
        ("USER_ID", id(&maryam)),
        ("APPLICATION_ID", &application.id),
    ];
    run_with(&host, "console_states.mjs", &variables).await;
}

#[tokio::test]
async fn a_managed_object_names_its_manifest_in_the_console() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let manifest = json!({"owner": "platform-team",
        "applications": [{"key": "wiki", "name": "Wiki", "application_type": "web",
                          "redirect_uris": ["https://wiki.example.org/callback"]}],
        "groups": [{"key": "staff", "name": "Staff"}]});
    let body = json!({"manifest": manifest});
    let plan = host.admin_ok(Method::POST, "/plans", body).await;
    let body = json!({"manifest": manifest, "digest": plan["digest"]});
    host.admin_ok(Method::POST, "/plans/apply", body).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
    ];
    run_with(&host, "console_managed.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_gives_a_group_access_in_the_console() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let application = host.web_application().await;
    let carol = host.user("carol").await;
    host.account(&carol, &application).await;
    host.user("bob").await;
    host.user("eve").await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION_NAME", "Books & <Co>"),
    ];
    run_with(&host, "console_groups.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_sees_who_has_access_and_settles_a_report() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let (_, support) = invited_user(&host, "support", Some("support")).await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    host.admin_ok(Method::PATCH, &path, json!({"name": "Grafana"}))
        .await;
    let [maryam, grace, _, _] = [
        host.user("maryam").await,
        host.user("grace").await,
        host.user("bob").await,
        host.user("eve").await,
    ];
    let group = json!({"name": "Engineering"});
    let group = host.admin_ok(Method::POST, "/groups", group).await;
    let members = json!({"users": [id(&maryam), id(&grace)]});
    let path = format!("/groups/{}/members", id(&group));
    host.admin_ok(Method::POST, &path, members).await;
    let path = format!("/applications/{}/groups/{}", application.id, id(&group));
    host.admin_ok(Method::PUT, &path, json!({"roles": ["editor"]}))
        .await;
    let device = host.authenticator(&maryam).await;
    let login = application.login_page(&Browser::new(&host.base), &[]).await;
    login.submit_name("maryam").await;
    let requests = device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    assert_eq!(device.submit_report(newest).await, "reported");
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("SUPPORT_URL", &support),
    ];
    run_with(&host, "console_access.mjs", &variables).await;
}

#[tokio::test]
async fn an_administrator_operates_the_instance_and_other_roles_see_less() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let (_, support) = invited_user(&host, "support", Some("support")).await;
    let (_, auditor) = invited_user(&host, "auditor", Some("auditor")).await;
    let (_, plain) = invited_user(&host, "plain", None).await;
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
async fn two_client_secrets_overlap_in_the_console() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let application = host.web_application().await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION", &application.id),
        (
            "CLIENT_SECRET",
            application.secret.as_deref().expect("a secret"),
        ),
    ];
    run_with(&host, "console_secrets.mjs", &variables).await;
}

#[tokio::test]
async fn the_security_of_applications_is_in_the_console() {
    let host = host_with("[oidc.registration]\nenabled = true\n").await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let plain = host.web_application().await;
    let key = ProofKey::generate();
    let body = json!({
        "name": "Payments", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [key.public()]},
    });
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let private = key.private().to_string();
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION", id(&application)),
        ("CLIENT_KEY", &private),
        ("PLAIN_APPLICATION", &plain.id),
    ];
    run_with(&host, "console_security.mjs", &variables).await;
}

#[tokio::test]
async fn the_console_speaks_german() {
    let host = host().await;
    let (ada, link) = invited_user(&host, "ada", Some("owner")).await;
    let application = host.web_application().await;
    host.account(&ada, &application).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
        ("APPLICATION", &application.id),
        ("USER", id(&ada)),
    ];
    run_with(&host, "console_german.mjs", &variables).await;
}

#[tokio::test]
async fn each_known_program_can_be_connected_in_the_console() {
    let host = host().await;
    let (_, link) = invited_user(&host, "ada", Some("owner")).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &link),
        ("LOGIN_NAME", "ada"),
    ];
    run_with(&host, "console_recipes.mjs", &variables).await;
}

#[tokio::test]
async fn unauthenticated_browsers_get_an_empty_console_page() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
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
        let mut words = page.body.split(|sign: char| !sign.is_alphanumeric());
        assert!(
            words.all(|word| word != "ada") && !page.body.contains(id(&ada.user)),
            "{path}: {}",
            page.body
        );
    }
}
