//! `assent-plugin dev`: each change of a claim mapper is tested in a running instance without loading it.

use std::process::Stdio;
use std::time::Duration;

use assent_tests::harness::{Pipes, Run, TestHost, binary, write_file};
use reqwest::Method;
use serde_json::Value;
use tokio::io::{BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use super::authoring::{PluginAuthor, text};

/// Returns the command `assent-plugin dev` for Ada in an application, at an instance.
fn dev(newcomer: &PluginAuthor, host: &TestHost, application: &str, more: &[&str]) -> Command {
    let arguments = [
        "dev",
        ".",
        "--application",
        application,
        "--user",
        "ada",
        "--server",
        &host.base,
    ];
    let mut command = newcomer.command(
        &binary("assent-plugin"),
        &newcomer.project(),
        &[&arguments, more].concat(),
    );
    command
        .env("ASSENT_ADMIN_TOKEN", &host.token)
        .stdin(Stdio::null());
    command
}

/// Reads lines until one contains these words, and returns them. The time limit allows for a build. A missing line
/// fails the test.
async fn wait_until(lines: &mut Lines<BufReader<ChildStdout>>, words: &str) -> String {
    let mut seen = String::new();
    let found = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            seen.push_str(&line);
            seen.push('\n');
            if line.contains(words) {
                return true;
            }
        }
        false
    };
    let found = tokio::time::timeout(Duration::from_secs(1800), found).await;
    assert!(
        matches!(found, Ok(true)),
        "`{words}` was never printed: {seen}"
    );
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_tested_in_a_running_instance_without_loading_it() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let application = &ada.application.id;
    let newcomer = PluginAuthor::with_project("dev-mapper", &[]).await;

    let once = dev(
        &newcomer,
        &host,
        application,
        &["--once", "--scope", "openid"],
    )
    .finish()
    .await;
    let (message, error) = (text(&once.stdout), text(&once.stderr));
    assert_eq!(once.status.code(), Some(0), "{message}{error}");
    assert!(
        message.contains("dev-mapper 0.1.0 (") && message.contains("for ada:\nSINK"),
        "{message}"
    );
    assert!(
        message.contains("/claims/department") && message.contains("Press"),
        "{message}"
    );
    assert!(!message.contains("Log:"), "{message}");

    let mut watching = dev(&newcomer, &host, application, &[])
        .stdout(Stdio::piped())
        .start();
    let mut lines = watching.output_lines();
    assert!(wait_until(&mut lines, "Watching .").await.contains("Press"));
    newcomer.edit(
        "src/lib.rs",
        "Ok(vec![Edit::set(\"department\", json!(department))])",
        "{\n                assent_plugin_sdk::log::write(\
         assent_plugin_sdk::log::Level::Warn, \"in capitals\");\n                \
         Ok(vec![Edit::set(\"department\", json!(department.to_uppercase()))])\n            }",
    );
    let message = wait_until(&mut lines, "Watching .").await;
    assert!(
        message.contains("PRESS") && message.contains("Log: warn: in capitals"),
        "{message}"
    );
    // An error ends the round, but not the loop.
    newcomer.edit(
        "src/lib.rs",
        "department.to_uppercase()",
        "department.to_uppercas()",
    );
    assert!(!wait_until(&mut lines, "Watching .").await.contains("SINK"));
    newcomer.edit(
        "src/lib.rs",
        "department.to_uppercas()",
        "department.to_lowercase()",
    );
    assert!(wait_until(&mut lines, "Watching .").await.contains("press"));
    watching.kill().await.expect("ended");

    // A candidate that fails in the instance has a reason and no table.
    newcomer.edit(
        "src/lib.rs",
        "department.to_lowercase()",
        "department[..99].to_lowercase()",
    );
    let failed = dev(&newcomer, &host, application, &["--once"])
        .finish()
        .await;
    let (message, error) = (text(&failed.stdout), text(&failed.stderr));
    assert_eq!(failed.status.code(), Some(1), "{message}{error}");
    assert!(
        message.contains("Stopped with the candidate: the plugin dev-mapper failed: trapped")
            && !message.contains("SINK"),
        "{message}"
    );
    assert!(error.contains("the candidate failed"), "{error}");

    let loaded = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    assert!(!loaded.to_string().contains("dev-mapper"), "{loaded}");
}

#[tokio::test(flavor = "multi_thread")]
async fn untestable_components_are_explained() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let channel =
        PluginAuthor::with_project("dev-channel", &["--role", "delegated-approval-channel"]).await;
    let refused = dev(&channel, &host, &ada.application.id, &["--once"])
        .finish()
        .await;
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(
        error.contains("tries claim mappers only") && error.contains("Try a channel with a stub"),
        "{error}"
    );

    let newcomer = PluginAuthor::with_project("dev-refused", &[]).await;
    let refused = dev(&newcomer, &host, "No Such", &["--once"]).finish().await;
    let error = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(1) && error.contains("there is no application No Such"),
        "{error}"
    );
    let mut attacker = dev(&newcomer, &host, &ada.application.id, &["--once"]);
    let refused = attacker
        .env("ASSENT_ADMIN_TOKEN", "no-such-token")
        .finish()
        .await;
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));

    write_file(
        newcomer.project().join("settings.toml"),
        "departments = { editor = \"\" }\n",
    );
    let wrong = ["--once", "--plugin-config", "settings.toml"];
    let refused = dev(&newcomer, &host, &ada.application.id, &wrong)
        .finish()
        .await;
    let error = text(&refused.stderr);
    assert!(
        error.contains("the department of the role `editor` is empty"),
        "{error}"
    );
}
