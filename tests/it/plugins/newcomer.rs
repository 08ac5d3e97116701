//! A newcomer's path, as docs/plugins.md tells it: a new project, a line changed, tested, packed, pasted into the settings of a
//! host that serves, and the claim is in a real ID token. In Rust and in TypeScript.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assent_tests::harness::{Ada, Browser, TestHost, binary};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::process::Command;

/// Whoever writes their first plugin, in a folder of their own.
struct Newcomer {
    folder: tempfile::TempDir,
}

impl Newcomer {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("newcomer")
    }

    /// Runs a command in the folder.
    async fn run(&self, program: &Path, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).kill_on_drop(true);
        // What was compiled once is there for the next time.
        command.env("CARGO_TARGET_DIR", shared_target());
        let output = tokio::time::timeout(Duration::from_secs(3600), command.output()).await.expect("in time");
        output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    }

    /// `assent-plugin`, which has to succeed; what it prints.
    async fn tool(&self, arguments: &[&str]) -> String {
        let output = self.run(&binary("assent-plugin"), self.folder.path(), arguments).await;
        succeeded(&output);
        text(&output.stdout)
    }

    /// Changes a text in a file of the project, where it is once.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let file = self.project().join(file);
        let before = std::fs::read_to_string(&file).expect("the file");
        assert_eq!(before.matches(from).count(), 1, "{} has `{from}` once", file.display());
        std::fs::write(&file, before.replace(from, to)).expect("written");
    }

    /// From the changed line on: the fixtures say what is different, are told to expect it, and hold.
    async fn test(&self) {
        let failed = self.run(&binary("assent-plugin"), self.folder.path(), &["test", "newcomer"]).await;
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stdout));
        let said = text(&failed.stdout);
        assert!(
            said.contains("by-role.json (the first role that has a department counts):\n    - set department = \"Press\"\n    + set department = \"PRESS\""),
            "{said}"
        );
        let error = text(&failed.stderr);
        assert!(error.contains("assent-plugin: 2 of 4 fixtures do not hold"), "{error}");
        let unpacked = self.run(&binary("assent-plugin"), self.folder.path(), &["pack", "newcomer"]).await;
        assert_eq!((unpacked.status.code(), text(&unpacked.stdout)), (Some(1), String::new()));
        let error = text(&unpacked.stderr);
        assert!(error.contains("2 of 4 fixtures do not hold (- expected, + got), so nothing was packed\n"), "{error}");
        assert!(!self.project().join("pack").exists());
        self.edit("fixtures/by-role.json", "[\"department\", \"Press\"]", "[\"department\", \"PRESS\"]");
        self.edit("fixtures/otherwise.json", "[\"department\", \"Guests\"]", "[\"department\", \"GUESTS\"]");
        assert!(self.tool(&["test", "newcomer"]).await.ends_with("4 fixtures hold\n"));
    }

    /// What was packed can be looked at and tried out, and is not replaced unless it is said.
    async fn packed(&self, packed: &Path) {
        let folder = packed.to_str().expect("text");
        let said = self.tool(&["check", folder]).await;
        assert!(said.contains("plugin.toml says the same"), "{said}");
        let said = self.tool(&["test", folder, "--fixture", "newcomer/fixtures"]).await;
        assert!(said.ends_with("4 fixtures hold\n"), "{said}");

        let file = packed.join("newcomer.wasm");
        let component = std::fs::read(&file).expect("the component");
        std::fs::write(&file, b"another").expect("written");
        let again = ["pack", "newcomer", "--out", "packed"];
        let refused = self.run(&binary("assent-plugin"), self.folder.path(), &again).await;
        let error = text(&refused.stderr);
        assert!(error.contains("is another component of the same version; give the plugin a new version"), "{error}");
        assert_eq!(std::fs::read(&file).expect("the component"), b"another");
        self.tool(&[&again[..], &["--force"]].concat()).await;
        assert_eq!(std::fs::read(&file).expect("the component"), component);
    }

    /// Packs the plugin and has a host that serves load it; the claim in Ada's ID token.
    async fn deploy(&self) {
        let host = TestHost::start().await;
        let ada = host.ada().await;
        assert_eq!(department(&host, &ada).await, Value::Null);

        let settings = self.tool(&["pack", "newcomer", "--out", "packed"]).await;
        let packed = self.folder.path().join("packed/newcomer-0.1.0");
        let manifest: toml::Table =
            std::fs::read_to_string(packed.join("plugin.toml")).expect("the manifest").parse().expect("TOML");
        assert!(settings.contains(manifest["sha256"].as_str().expect("a digest")), "{settings}");
        assert_eq!(settings, self.tool(&["pack", "newcomer", "--out", "packed"]).await, "packed again it is the same");
        assert!(settings.contains("\n# applications = [\"did:key:...\"]"), "{settings}");
        self.packed(&packed).await;

        let file = host.host.settings_file.clone().expect("a settings file");
        let text = std::fs::read_to_string(&file).expect("the settings");
        std::fs::write(&file, format!("{text}\n{settings}")).expect("written");
        let (status, answer) = host.admin(Method::POST, "/plugins/reload", Value::Null).await;
        assert_eq!((status, &answer["last_reload"]["error"]), (StatusCode::OK, &Value::Null), "{answer}");
        assert_eq!(department(&host, &ada).await, "PRESS");
    }
}

/// Where the projects of these tests are built, so that each run finds what the last one compiled.
fn shared_target() -> PathBuf {
    // The binary is `<target>/<profile>/assent-plugin`.
    binary("assent-plugin").ancestors().nth(2).expect("the target folder").join("newcomer")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// The claim `department` of a fresh ID token.
async fn department(host: &TestHost, ada: &Ada) -> Value {
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let payload = tokens["id_token"].as_str().expect("an ID token").split('.').nth(1).expect("a payload");
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("base64url")).expect("JSON");
    claims["department"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_a_claim_in_an_id_token_in_rust() {
    let newcomer = Newcomer::new();
    newcomer.tool(&["new", "newcomer"]).await;
    let native = newcomer.run(Path::new("cargo"), &newcomer.project(), &["test"]).await;
    succeeded(&native);
    newcomer.edit("src/lib.rs", "json!(department))", "json!(department.to_uppercase()))");
    newcomer.test().await;
    succeeded(&newcomer.run(Path::new("cargo"), &newcomer.project(), &["test"]).await);
    newcomer.deploy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_a_claim_in_an_id_token_in_typescript() {
    let newcomer = Newcomer::new();
    newcomer.tool(&["new", "newcomer", "--language", "typescript"]).await;
    newcomer.tool(&["build", "newcomer"]).await;
    let native = newcomer.run(Path::new("npm"), &newcomer.project(), &["test"]).await;
    succeeded(&native);
    newcomer.edit("src/plugin.ts", "set(\"department\", department)", "set(\"department\", department.toUpperCase())");
    newcomer.test().await;
    succeeded(&newcomer.run(Path::new("npm"), &newcomer.project(), &["test"]).await);
    newcomer.deploy().await;
}
