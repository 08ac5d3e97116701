//! External programs read the OpenAPI document: Schemathesis tests the API, and openapi-typescript generates a client.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Run, TestHost, id, in_time, write_file};
use crate::programs::target;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Runs a program that must succeed. A panic shows its output.
async fn succeeds(mut command: Command) {
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = in_time(running).await.expect("it runs");
    let message = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&message)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_violations() {
    // Schemathesis sends many requests without a token.
    let settings = "[rate_limits]\nunauthenticated_requests = { per_minute = 0 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    let saml = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}]});
    let saml = host.admin_ok(Method::POST, "/applications", saml).await;
    let program = target().join("venv/bin/schemathesis");
    assert!(
        program.is_file(),
        "{} is missing: run `make test`",
        program.display()
    );
    let mut command = Command::new(program);
    command.current_dir(host.folder());
    for (name, value) in [
        ("ASSENT_USER", id(&ada.user)),
        ("ASSENT_ACCOUNT", id(&ada.account)),
        ("ASSENT_CLIENT", &ada.application.id),
        ("ASSENT_PROVIDER", id(&saml)),
    ] {
        command.env(name, value);
    }
    command
        .arg("--config-file")
        .arg(folder("py/schemathesis.toml"));
    command
        .arg("run")
        .arg(format!("{}/admin/api/v1/openapi.json", host.base));
    command
        .arg("--header")
        .arg(format!("Authorization: Bearer {}", host.token));
    succeeds(command).await;
    assert_eq!(
        host.admin(Method::GET, "/me", Value::Null).await.1["kind"],
        "admin_token",
        "it still serves"
    );
}

#[tokio::test]
async fn a_client_generated_from_the_document_compiles() {
    let modules = folder("js/node_modules");
    assert!(
        modules.join("openapi-typescript").is_dir(),
        "the packages of tests/js are missing: run `make test`"
    );
    let host = TestHost::start().await;
    let created = host.folder().join("admin-api.d.ts");
    let mut make = Command::new("node");
    make.arg(modules.join("openapi-typescript/bin/cli.js"));
    make.arg(format!("{}/admin/api/v1/openapi.json", host.base))
        .arg("--output")
        .arg(&created);
    succeeds(make).await;
    // A program that uses the client. Its types are correct only if the types in the document are.
    let program = include_str!("../../js/admin_client.ts");
    let file = host.folder().join("client.ts");
    write_file(&file, program);
    let compiler = |file: &Path| {
        let mut compile = Command::new("node");
        compile.arg(modules.join("typescript/bin/tsc")).args([
            "--noEmit",
            "--strict",
            "--skipLibCheck",
        ]);
        compile
            .args([
                "--target",
                "es2022",
                "--module",
                "nodenext",
                "--moduleResolution",
                "nodenext",
            ])
            .arg(file);
        compile
    };
    succeeds(compiler(&file)).await;
    let unknown_state = program.replace("'suspended'", "'gone'");
    assert_ne!(unknown_state, program, "the program names a state");
    write_file(&file, unknown_state);
    let refused = compiler(&file).finish().await;
    let message = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(
        !refused.status.success() && message.contains("gone"),
        "another state is an error: {message}"
    );
}
