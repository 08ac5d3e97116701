//! The path of a new plugin author, as docs/developers/plugins.md describes it. The author creates a project, changes a
//! line, tests and packs it, and adds it to the settings of a running instance. Then the claim is in a real ID token.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assent_tests::harness::{
    Browser, Parsed, Pipes, Run, TestHost, TestUser, Text, binary, jwt_claims, plugins, read_bytes,
    read_file, temp_folder, write_file,
};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::process::Command;

use crate::channels::{add_external_authenticator, next_page};

/// The author of a first plugin, with a project in a folder of its own.
pub(super) struct PluginAuthor {
    folder: PathBuf,
    name: &'static str,
}

impl PluginAuthor {
    /// Creates the project in another folder and moves it, because no file may depend on the first folder.
    pub(super) async fn with_project(name: &'static str, options: &[&str]) -> Self {
        // The folder is the same each time, so that the new build output replaces the old one.
        let newcomer = Self {
            folder: shared_target()
                .join("projects")
                .join(folder_name(name, options)),
            name,
        };
        if newcomer.folder.exists() {
            std::fs::remove_dir_all(&newcomer.folder).expect("removed");
        }
        std::fs::create_dir_all(&newcomer.folder).expect("a folder");
        let elsewhere = temp_folder();
        let created = elsewhere.path().join(name);
        newcomer
            .tool(&[&["new", created.text()], options].concat())
            .await;
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the checkout")
            .text();
        for place in [checkout, elsewhere.path().text()] {
            let grep = ["-r", "--fixed-strings", place, created.text()];
            let found = newcomer
                .run(Path::new("grep"), &newcomer.folder, &grep)
                .await;
            assert_eq!(
                (found.status.code(), text(&found.stdout)),
                (Some(1), String::new()),
                "the component contains no path of this machine"
            );
        }
        let moved = newcomer
            .run(Path::new("mv"), &newcomer.folder, &[created.text(), name])
            .await;
        succeeded(&moved);
        newcomer
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    /// Runs a command in the folder.
    pub(super) async fn run(&self, program: &Path, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = self.command(program, folder, arguments);
        let output = tokio::time::timeout(Duration::from_secs(3600), command.output())
            .await
            .expect("in time");
        output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    }

    /// Returns a command in a folder.
    pub(super) fn command(&self, program: &Path, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .kill_on_drop(true);
        // Later runs reuse the compiled dependencies.
        command.env("CARGO_TARGET_DIR", shared_target());
        command
    }

    /// Runs `assent-plugin`, which must succeed. Returns its output.
    pub(super) async fn tool(&self, arguments: &[&str]) -> String {
        let output = self
            .run(&binary("assent-plugin"), &self.folder, arguments)
            .await;
        succeeded(&output);
        text(&output.stdout)
    }

    /// Runs `assent-plugin`, which must fail. Returns its output.
    async fn tool_fails(&self, arguments: &[&str]) -> Output {
        let output = self
            .run(&binary("assent-plugin"), &self.folder, arguments)
            .await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        output
    }

    /// Runs the commands of the project's CI workflow unchanged, except the setup of the machine.
    async fn workflow(&self) {
        let workflow = read_file(self.project().join(".github/workflows/plugin.yml"));
        let commands: Vec<&str> = workflow
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- run: "))
            .collect();
        assert!(commands.len() >= 5, "{workflow}");
        let tool = binary("assent-plugin");
        let path = format!(
            "{}:{}",
            tool.parent().expect("a folder").display(),
            std::env::var("PATH").expect("a path")
        );
        let setup =
            |command: &&str| command.starts_with("rustup ") || command.contains("cargo install");
        let git = ["git init --quiet .", "git add plugin.toml"];
        for command in git
            .into_iter()
            .chain(commands.into_iter().filter(|command| !setup(command)))
        {
            let mut shell = self.command(Path::new("sh"), &self.project(), &["-c", command]);
            let output = shell.env("PATH", &path).finish().await;
            assert!(
                output.status.success(),
                "{command}: {}{}",
                text(&output.stdout),
                text(&output.stderr)
            );
        }
    }

    /// Replaces a text in a file of the project. The text must occur exactly once.
    pub(super) fn edit(&self, file: &str, from: &str, to: &str) {
        let file = self.project().join(file);
        let before = read_file(&file);
        assert_eq!(
            before.matches(from).count(),
            1,
            "{} has `{from}` once",
            file.display()
        );
        write_file(&file, before.replace(from, to));
    }

    /// Tests the changed line: the fixtures show the difference, are updated, and pass.
    async fn test(&self) {
        let failed = self.tool_fails(&["test", "newcomer"]).await;
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stdout));
        let message = text(&failed.stdout);
        assert!(
            message.contains(
                "by-role.json (the first role that has a department counts):\n    - set department \
                 = \"Press\"\n    + set department = \"PRESS\""
            ),
            "{message}"
        );
        let error = text(&failed.stderr);
        assert!(
            error.contains("assent-plugin: 2 of 4 fixtures failed"),
            "{error}"
        );
        let unpacked = self.tool_fails(&["pack", "newcomer"]).await;
        assert_eq!(
            (unpacked.status.code(), text(&unpacked.stdout)),
            (Some(1), String::new())
        );
        let error = text(&unpacked.stderr);
        assert!(
            error.contains("2 of 4 fixtures failed (- expected, + got), so nothing was packed\n"),
            "{error}"
        );
        assert!(!self.project().join("pack").exists());
        self.edit(
            "fixtures/by-role.json",
            "[\"department\", \"Press\"]",
            "[\"department\", \"PRESS\"]",
        );
        self.edit(
            "fixtures/otherwise.json",
            "[\"department\", \"Guests\"]",
            "[\"department\", \"GUESTS\"]",
        );
        assert!(
            self.tool(&["test", "newcomer"])
                .await
                .ends_with("4 fixtures passed\n")
        );
    }

    /// `check` compares `plugin.toml` of the project with the component, and does not write it.
    async fn checked(&self) {
        let message = self.tool(&["check", "newcomer"]).await;
        assert!(message.contains("plugin.toml agrees"), "{message}");
        let file = self.project().join("plugin.toml");
        let before = read_file(&file);
        let changed = before.replace("\"department\"", "\"salary\"");
        assert_ne!(changed, before);
        write_file(&file, &changed);
        let check = ["check", "newcomer"];
        let differs = self.tool_fails(&check).await;
        let error = text(&differs.stderr);
        assert_eq!(differs.status.code(), Some(1), "{error}");
        assert!(
            error.contains("`writes` is `salary`, but the component has `department`"),
            "{error}"
        );
        assert_eq!(read_file(&file), changed);
        write_file(&file, before);
    }

    /// The packed plugin can be inspected and tested. It is replaced only with an explicit option.
    async fn packed(&self, packed: &Path) {
        let folder = packed.text();
        let message = self.tool(&["check", folder]).await;
        assert!(message.contains("plugin.toml agrees"), "{message}");
        let message = self
            .tool(&["test", folder, "--fixture", "newcomer/fixtures"])
            .await;
        assert!(message.ends_with("4 fixtures passed\n"), "{message}");

        let file = packed.join("newcomer.wasm");
        let component = read_bytes(&file);
        write_file(&file, b"another");
        let again = ["pack", "newcomer", "--out", "packed"];
        let refused = self.tool_fails(&again).await;
        let error = text(&refused.stderr);
        assert!(
            error.contains(
                "is another component of the same version; give the plugin a new version"
            ),
            "{error}"
        );
        assert_eq!(read_bytes(&file), b"another");
        self.tool(&[&again[..], &["--force"]].concat()).await;
        assert_eq!(read_bytes(&file), component);
    }

    /// Packs the plugin and loads it in a running instance. Checks the claim in Ada's ID token.
    async fn deploy(&self) {
        let (host, ada) = TestHost::start().await.with_ada().await;
        assert_eq!(department(&host, &ada).await, Value::Null);

        let settings = self.tool(&["pack", "newcomer", "--out", "packed"]).await;
        let packed = self.folder.join("packed/newcomer-0.1.0");
        let manifest: toml::Table = read_file(packed.join("plugin.toml")).parsed();
        assert!(
            settings.contains(manifest["sha256"].as_str().expect("a digest")),
            "{settings}"
        );
        assert_eq!(
            settings,
            self.tool(&["pack", "newcomer", "--out", "packed"]).await,
            "the package is reproducible"
        );
        assert!(
            settings.contains("\n# applications = [\"did:key:...\"]"),
            "{settings}"
        );
        self.packed(&packed).await;

        let file = host.host.settings_file.clone().expect("a settings file");
        let text = read_file(&file);
        write_file(&file, format!("{text}\n{settings}"));
        let (status, answer) = host
            .admin(Method::POST, "/plugins/reload", Value::Null)
            .await;
        assert_eq!(
            (status, &answer["last_reload"]["error"]),
            (StatusCode::OK, &Value::Null),
            "{answer}"
        );
        assert_eq!(department(&host, &ada).await, "PRESS");
    }
}

/// Returns the name of the folder. Two projects in different languages may have the same name.
fn folder_name(name: &str, options: &[&str]) -> String {
    if options.contains(&"typescript") {
        format!("{name}-ts")
    } else {
        name.to_owned()
    }
}

/// Returns the folder for the builds of these projects. It is shared, so that each run reuses the last one's output.
pub fn shared_target() -> PathBuf {
    // The binary is `<target>/<profile>/assent-plugin`.
    binary("assent-plugin")
        .ancestors()
        .nth(2)
        .expect("the target folder")
        .join("newcomer")
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn succeeded(output: &Output) {
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// Returns the claim `department` of a new ID token.
async fn department(host: &TestHost, ada: &TestUser) -> Value {
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    claims["department"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_rust_plugin_adds_a_claim_to_an_id_token() {
    let newcomer = PluginAuthor::with_project("newcomer", &[]).await;
    let native = newcomer
        .run(Path::new("cargo"), &newcomer.project(), &["test"])
        .await;
    succeeded(&native);
    newcomer.edit(
        "src/lib.rs",
        "json!(department))",
        "json!(department.to_uppercase()))",
    );
    newcomer.test().await;
    newcomer.checked().await;
    newcomer.workflow().await;
    newcomer.deploy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_typescript_plugin_adds_a_claim_to_an_id_token() {
    let newcomer = PluginAuthor::with_project("newcomer", &["--language", "typescript"]).await;
    // The compiler would suggest changing its options.
    newcomer.edit(
        "src/plugin.ts",
        "  map(config, input) {\n",
        "  map(config, input) {\n    console.log(input.now);\n",
    );
    let failed = newcomer.tool_fails(&["build", "newcomer"]).await;
    assert!(!failed.status.success());
    let message = text(&failed.stderr);
    assert!(
        message.contains(
            "Cannot find name 'console': a plugin has no console; write to the operator's log"
        ),
        "{message}"
    );
    assert!(!message.contains("'lib' compiler option"), "{message}");
    newcomer.edit(
        "src/plugin.ts",
        "    console.log(input.now);\n",
        "    const unused = new Date();\n",
    );
    let failed = newcomer.tool_fails(&["test", "newcomer"]).await;
    assert!(!failed.status.success());
    let message = text(&failed.stdout);
    assert!(
        message.contains("a plugin has no clock; use input.now"),
        "{message} {}",
        text(&failed.stderr)
    );
    // The members of the user have types, and are values of claims.
    let typed = "    const unused = input.user.email?.endsWith(\"@example.org\") && \
                 input.user.profile.email_verified;\n    \
                 set(\"groups\", input.user.groups);\n    \
                 set(\"profile\", input.user.profile);\n    \
                 set(\"address\", input.user.profile.address ?? null);\n";
    newcomer.edit("src/plugin.ts", "    const unused = new Date();\n", typed);
    newcomer.tool(&["build", "newcomer"]).await;
    newcomer.edit("src/plugin.ts", typed, "");
    let native = newcomer
        .run(Path::new("npm"), &newcomer.project(), &["test"])
        .await;
    succeeded(&native);
    newcomer.edit(
        "src/plugin.ts",
        "set(\"department\", department)",
        "set(\"department\", department.toUpperCase())",
    );
    newcomer.test().await;
    newcomer.workflow().await;
    newcomer.deploy().await;
}

/// Completes a sign-in that the template's stub approves. The settings are changed as
/// docs/developers/approval-channels.md describes.
async fn approved_by_the_stub(newcomer: &PluginAuthor, settings: &str) {
    let mut stub = newcomer.command(Path::new("python3"), &newcomer.project(), &["stub.py", "0"]);
    let mut stub = stub.stdout(std::process::Stdio::piped()).start();
    let mut lines = stub.output_lines();
    let listening = lines.next_line().await.expect("text").expect("a line");
    let port = listening
        .split_once("localhost:")
        .and_then(|(_, rest)| rest.split(',').next())
        .expect("a port");
    let settings = settings
        .replace(
            "http_hosts = [\"api.vendor.example\"]",
            &format!("allow_private_addresses = true\nhttp_hosts = [\"localhost:{port}\"]"),
        )
        .replace(
            "https://api.vendor.example",
            &format!("http://localhost:{port}"),
        );
    let host = TestHost::start_with_plugins(&plugins(&settings)).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "moved-vendor", "ada@vendor").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = lines.next_line().await.expect("text").expect("a prompt");
    assert!(
        question.starts_with("ada@vendor: ada signs in to Books & <Co>, "),
        "{question}"
    );
    let letters = question.rsplit("Letters: ").next().expect("letters");
    assert!(
        letters.len() >= 4 && letters.bytes().all(|byte| byte.is_ascii_uppercase()),
        "{question}"
    );
    // The server polls the stub after an interval of the server's clock, so the clock must run.
    let page = tokio::select! {
        page = next_page(&waiting) => page,
        () = host.keep_time() => unreachable!("the clock advances"),
    };
    assert!(!page.parameter("code").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_channel_builds_from_its_template() {
    let newcomer =
        PluginAuthor::with_project("moved-channel", &["--role", "approval-channel"]).await;
    succeeded(
        &newcomer
            .run(Path::new("cargo"), &newcomer.project(), &["test"])
            .await,
    );
    assert!(
        newcomer
            .tool(&["test", "moved-channel"])
            .await
            .ends_with("4 fixtures passed\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompt_of_the_delegated_template_contains_the_letters() {
    let newcomer =
        PluginAuthor::with_project("moved-vendor", &["--role", "delegated-approval-channel"]).await;
    assert!(
        newcomer
            .tool(&["test", "moved-vendor"])
            .await
            .ends_with("5 fixtures passed\n")
    );
    // A stub on this machine needs other settings, but no other code.
    let settings = newcomer
        .tool(&["pack", "moved-vendor", "--out", "packed"])
        .await;
    assert!(
        settings.contains("http_hosts = [\"api.vendor.example\"] # the hosts of the fixtures"),
        "{settings}"
    );
    assert!(
        settings.contains("base_url = \"https://api.vendor.example\""),
        "{settings}"
    );

    approved_by_the_stub(&newcomer, &settings).await;

    // Without the letters, a user can approve the sign-in of an attacker, so the fixtures fail.
    newcomer.edit(
        "src/lib.rs",
        "            \"binding_message\": question.binding,\n",
        "",
    );
    let failed = newcomer
        .run(Path::new("cargo"), &newcomer.project(), &["test"])
        .await;
    assert!(!failed.status.success());
    assert!(
        text(&failed.stdout).contains("begins.json"),
        "{}",
        text(&failed.stdout)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_declares_its_grants_once() {
    let newcomer = PluginAuthor::with_project("stated-once", &[]).await;
    let manifest = newcomer.project().join("plugin.toml");
    assert!(!manifest.exists(), "the manifest is generated");
    newcomer.tool(&["build", "stated-once"]).await;
    let generated = read_file(&manifest);
    assert!(
        generated.starts_with("# Generated by assent-plugin"),
        "{generated}"
    );
    let table: toml::Table = generated.parsed();
    assert_eq!(
        table["writes"].as_array().map(Vec::len),
        Some(1),
        "{generated}"
    );
    assert_eq!(
        table["summary"].as_str(),
        Some("Sends applications the department of a user")
    );
    assert!(!table.contains_key("sinks"), "{generated}");

    // A change in the code is sufficient, and a change in the generated file has no effect.
    let more = ".writes([\"department\", \"team\"]).sinks([\"id-token\"])";
    newcomer.edit("src/lib.rs", ".writes([\"department\"])", more);
    write_file(
        &manifest,
        generated.replace("department of a user", "shoe size of a user"),
    );
    newcomer.tool(&["test", "stated-once"]).await;
    let again = read_file(&manifest);
    assert!(
        again.contains("writes = [\"department\", \"team\"]\nsinks = [\"id-token\"]"),
        "{again}"
    );
    assert!(!again.contains("shoe size"), "{again}");
    let settings = newcomer
        .tool(&["pack", "stated-once", "--out", "packed"])
        .await;
    assert!(
        settings.contains("writes = [\"department\", \"team\"]"),
        "{settings}"
    );
}
