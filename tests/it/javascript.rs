//! Real clients and real browsers that the scripts in `tests/js` drive.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::authenticator_app::Environment;
use crate::harness::{
    Application, Pipes, Respond, Run, TestHost, TestUser, Text, binary, free_port, http_client, id,
    in_time, parse_json, write_file,
};
use crate::saml::service_provider::TestServiceProvider;

fn scripts() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("js");
    assert!(
        folder.join("node_modules").is_dir(),
        "the packages of tests/js are missing: run `make test`, or `npm ci --ignore-scripts` there"
    );
    folder
}

/// A sign-in with `openid-client`, which is configured from discovery only.
struct SignIn {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl SignIn {
    fn start(host: &TestHost, application: &Application) -> Self {
        let mut command = Command::new("node");
        command
            .arg(scripts().join("sign_in.mjs"))
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command
            .env("ASSENT_ISSUER", host.issuer())
            .env("CLIENT_ID", &application.id);
        command
            .env("REDIRECT_URI", &application.redirect_uri)
            .env("LOGIN_NAME", "ada");
        command.env("SCOPE", "openid profile email");
        if let Some(secret) = &application.secret {
            command.env("CLIENT_SECRET", secret);
        }
        let mut process = command
            .spawn()
            .expect("Node.js is missing: run `make test`");
        let lines = process.output_lines();
        Self { process, lines }
    }

    /// Returns the next event of the script.
    async fn event(&mut self) -> Value {
        let line = in_time(self.lines.next_line())
            .await
            .expect("readable")
            .expect("another line");
        parse_json(&line)
    }

    /// Returns the number on the page of the script's browser.
    async fn number(&mut self) -> String {
        let event = self.event().await;
        assert_eq!(event["event"], "waiting", "{event}");
        event["number"].text().to_owned()
    }

    /// Returns the last event, after the end of the script.
    async fn ended(mut self) -> Value {
        let event = self.event().await;
        self.process.wait().await.expect("ended");
        event
    }
}

async fn ada_with(host: &TestHost, application: Application) -> TestUser {
    let mut ada = host.ada().await;
    ada.application = application;
    host.account(&ada.user, &ada.application).await;
    ada
}

async fn signs_in(application: impl AsyncFn(&TestHost) -> Application) {
    let host = TestHost::start().await;
    let ada = ada_with(&host, application(&host).await).await;
    let mut sign_in = SignIn::start(&host, &ada.application);
    let number = sign_in.number().await;
    let requests = ada.device.pending_requests(10).await;
    assert_eq!(ada.device.approve(&requests[0], &number).await, "approved");
    let ended = sign_in.ended().await;
    assert_eq!(ended["event"], "done", "{ended}");
    let (claims, userinfo) = (&ended["claims"], &ended["userinfo"]);
    assert_eq!(claims["sub"], ada.user["sub"]);
    assert_eq!(claims["aud"], ada.application.id);
    assert_eq!(claims["amr"], json!(["swk", "user"]));
    let account: Value = parse_json(claims["account"].text());
    assert_eq!(account["roles"], json!(["reader", "editor"]));
    assert_eq!(userinfo["email"], "ada@example.org");
    assert_eq!(ended["tokens"]["expires_in"], 3600);
}

#[tokio::test]
async fn openid_client_signs_in_to_a_web_application() {
    signs_in(async |host| host.web_application().await).await;
}

#[tokio::test]
async fn openid_client_signs_in_to_a_native_application() {
    signs_in(async |host| host.native_application().await).await;
}

#[tokio::test]
async fn openid_client_receives_the_denial() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let mut sign_in = SignIn::start(&host, &ada.application);
    sign_in.number().await;
    let requests = ada.device.pending_requests(10).await;
    ada.device.deny(&requests[0]).await;
    let ended = sign_in.ended().await;
    assert_eq!(
        (&ended["event"], &ended["error"]),
        (&json!("error"), &json!("access_denied")),
        "{ended}"
    );
}

#[tokio::test]
async fn openid_client_receives_the_expiry() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let mut sign_in = SignIn::start(&host, &ada.application);
    sign_in.number().await;
    host.advance(120);
    let ended = sign_in.ended().await;
    assert_eq!(
        (&ended["event"], &ended["error"]),
        (&json!("error"), &json!("access_denied")),
        "{ended}"
    );
    assert!(
        ended["error_description"].text().contains("in time"),
        "{ended}"
    );
}

#[tokio::test]
async fn a_user_enrols_and_signs_in_in_chromium() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    let native = host.native_application().await;
    host.account(&ada, &native).await;
    let enrolment = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&ada)),
            Value::Null,
        )
        .await;

    // The demo application may use any port, because the port of a loopback redirect URI is not fixed.
    let demo_url = format!("http://127.0.0.1:{}/", free_port());
    let signed_out = format!("{demo_url}signed-out");
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", native.id),
        json!({"name": "Demo Application", "post_logout_redirect_uris": [signed_out]}),
    )
    .await;
    let client = host.folder().join("demo-client.json");
    let settings = json!({
        "issuer": host.issuer(),
        "client_id": native.id,
        "redirect_uri": format!("{demo_url}callback"),
        "post_logout_redirect_uri": signed_out,
    });
    write_file(&client, settings.to_string());
    let mut demo = Command::new(binary("assent-demo"));
    let _demo = demo.arg("--client").arg(&client).kill_on_drop(true).start();
    answers(&demo_url).await;

    let link = enrolment["link"].text();
    run_with(
        &host,
        "first_sign_in.mjs",
        &[
            ("ENROL_URL", link),
            ("DEMO_URL", &demo_url),
            ("LOGIN_NAME", "ada"),
        ],
    )
    .await;
}

#[tokio::test]
async fn every_page_is_accessible_and_an_administrator_signs_in_with_scripts_off() {
    // A user who submits a name twice sees the page about the rate limit.
    let settings = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 1, burst = 1 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    host.set_console_role(&ada.user, "owner").await;
    let link = host.enrolment_link(&ada.user).await;
    let link = link.as_str();
    let information = json!({
        "policy_uri": "https://a-rather-long-name-of-a-host.privacy-of-this-application.example/privacy",
        "tos_uri": "https://terms.example/", "client_uri": "https://about.example/",
        "contacts": [format!("{}@support.example", "support".repeat(20)), "+49 30 1234567"],
    });
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, information).await;
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    let variables = [
        ("ENROL_URL", link),
        ("BASE_URL", &host.base),
        ("LOGIN_NAME", "ada"),
        ("AUTHORIZE_URL", &request),
    ];
    run("pages.mjs", &variables).await;
}

#[tokio::test]
async fn an_owner_approves_a_protected_action_in_chromium() {
    let host = TestHost::start().await;
    let (ada, bob) = (host.user("ada").await, host.user("<b>bob</b>").await);
    host.set_console_role(&ada, "owner").await;
    let link = host.enrolment_link(&ada).await;
    let link = link.as_str();
    run_with(
        &host,
        "protected_action.mjs",
        &[
            ("BASE_URL", &host.base),
            ("ENROL_URL", link),
            ("USER_ID", id(&bob)),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_owner_runs_test_sign_ins_of_two_applications_in_chromium() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    host.set_console_role(&ada, "owner").await;
    let enrolment = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&ada)),
            Value::Null,
        )
        .await;
    let client = host.web_application().await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    host.account(&ada, &client).await;
    host.account(&ada, &provider.application()).await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", enrolment["link"].text()),
        ("CLIENT_ID", &client.id),
        ("PROVIDER_ID", &provider.id),
    ];
    run_with(&host, "test_sign_in.mjs", &variables).await;
}

#[tokio::test]
async fn a_user_signs_in_by_qr_code_in_chromium() {
    let host = TestHost::start().await;
    let mut links = Vec::new();
    for name in ["ada", "bob"] {
        let user = host.user(name).await;
        host.set_console_role(&user, "owner").await;
        links.push(
            host.admin_ok(
                Method::POST,
                &format!("/users/{}/enrolments", id(&user)),
                Value::Null,
            )
            .await,
        );
    }
    let link = |number: usize| links[number]["link"].text();
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", link(0)),
        ("SECOND_ENROL_URL", link(1)),
    ];
    run_with(&host, "qr_sign_in.mjs", &variables).await;
}

#[tokio::test]
async fn a_device_lists_pending_requests_and_names_the_request_of_a_typed_number_in_chromium() {
    // One request is pending during the whole script.
    let settings = "[lifetimes]\napproval = \"10m\"\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    host.set_console_role(&ada.user, "owner").await;
    let enrolment = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&ada.user)),
            Value::Null,
        )
        .await;
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    let link = enrolment["link"].text();
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", link),
        ("AUTHORIZE_URL", &request),
    ];
    run_with(&host, "pending_requests.mjs", &variables).await;
}

#[tokio::test]
async fn a_failed_or_slow_sign_in_offers_next_steps_in_chromium() {
    let host = TestHost::start_with_settings("[branding]\nsupport = \"help@example.org\"\n").await;
    let ada = host.ada().await;
    let picture = include_bytes!("../../host/server/assets/icons/icon-192.png");
    let logo = format!(
        "{}/admin/api/v1/applications/{}/logo",
        host.base, ada.application.id
    );
    let set = http_client()
        .put(logo)
        .bearer_auth(&host.token)
        .body(picture.to_vec());
    assert_eq!(set.response().await.status(), StatusCode::OK);
    let elsewhere = json!({
        "name": "Elsewhere",
        "application_type": "web",
        "redirect_uris": [ada.application.redirect_uri],
    });
    let elsewhere = host
        .admin_ok(Method::POST, "/applications", elsewhere)
        .await;
    let foreign = ada
        .application
        .request(&[("client_id", Some(id(&elsewhere)))]);
    let link = host.enrolment_link(&ada.user).await;
    let variables = [
        ("BASE_URL", host.base.clone()),
        ("ENROL_URL", link),
        (
            "AUTHORIZE_URL",
            format!("{}{}", host.base, ada.application.request(&[])),
        ),
        ("FOREIGN_URL", format!("{}{foreign}", host.base)),
    ];
    let variables = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    run_with(&host, "next_steps.mjs", &variables).await;
}

#[tokio::test]
async fn a_user_manages_devices_and_uses_a_recovery_code_in_chromium() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    let link = host.enrolment_link(&ada).await;
    let link = link.as_str();
    // The clock must run, because events of the same moment cause no notification.
    run_with(
        &host,
        "devices.mjs",
        &[("BASE_URL", &host.base), ("ENROL_URL", link)],
    )
    .await;
}

#[tokio::test]
async fn a_user_signs_in_to_service_providers_and_out_again_in_chromium() {
    let settings = "allow_insecure_redirect_uris = true\n[saml]\nlogout_timeout = \"1m\"\n";
    let host = TestHost::start_with_settings(settings).await;
    let (surroundings, name) = Environment::start().await;
    surroundings
        .clock
        .set(std::sync::Arc::clone(&host.clock))
        .expect("set once");
    let around = format!("http://{name}");
    let ada = host.user("ada").await;
    let link = host.enrolment_link(&ada).await;
    let link = link.as_str();
    let variables = [
        ("ENROL_URL", link),
        ("BASE_URL", &host.base),
        ("LOGIN_NAME", "ada"),
        ("USER_ID", id(&ada)),
        ("ADMIN_TOKEN", &host.token),
        ("CONTROL_URL", &around),
    ];
    run_with(&host, "saml.mjs", &variables).await;
}

#[tokio::test]
async fn a_sign_out_loads_the_pages_of_applications_in_frames_in_chromium() {
    let host = TestHost::start_with_settings("[saml]\nlogout_timeout = \"1m\"\n").await;
    let ada = host.user("ada").await;
    let link = host.enrolment_link(&ada).await;
    let variables = [
        ("ENROL_URL", link.as_str()),
        ("BASE_URL", &host.base),
        ("LOGIN_NAME", "ada"),
        ("USER_ID", id(&ada)),
        ("ADMIN_TOKEN", &host.token),
    ];
    run_with(&host, "frontchannel.mjs", &variables).await;
}

/// Runs a script that drives Chromium. It must succeed.
pub(crate) async fn run(name: &str, variables: &[(&str, &str)]) {
    let screenshots = binary("assent")
        .ancestors()
        .nth(2)
        .expect("the target folder")
        .join("screenshots");
    let mut script = Command::new("node");
    script
        .arg(scripts().join(name))
        .envs(variables.iter().copied())
        .env("SCREENSHOTS", &screenshots);
    // Each wait of the script has its own time limit.
    let ended = script
        .kill_on_drop(true)
        .status()
        .await
        .expect("Node.js is missing: run `make test`");
    assert!(
        ended.success(),
        "tests/js/{name} failed; see {}",
        screenshots.display()
    );
}

/// Runs a script while the clock of the instance follows the clock of the browsers. A script may take longer than the
/// tolerated difference between the two.
pub(crate) async fn run_with(host: &TestHost, name: &str, variables: &[(&str, &str)]) {
    tokio::select! {
        () = run(name, variables) => {}
        () = host.keep_time() => {}
    }
}

/// Waits until a URL returns a success.
async fn answers(url: &str) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let answered = async || {
        reqwest::get(url)
            .await
            .is_ok_and(|response| response.status() == StatusCode::OK)
    };
    in_time(async {
        while !answered().await {
            ticks.tick().await;
        }
    })
    .await;
}
