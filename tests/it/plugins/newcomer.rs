//! A newcomer's path, as docs/plugins.md describes it: a new project, a line changed, tested, packed, pasted into the
//! settings of a host that serves, and the claim is in a real ID token. In Rust and in TypeScript.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assent_tests::harness::{Ada, Browser, HostOptions, TestHost, binary, plugins};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::channels::{known_as, moved_on};

/// The author of a first plugin, with a project in a folder of its own.
pub(super) struct Newcomer {
    folder: PathBuf,
    name: &'static str,
}

impl Newcomer {
    /// Creates the project in another folder, and moves it: nothing in it depends on its first folder.
    pub(super) async fn with_project(name: &'static str, options: &[&str]) -> Self {
        // The same folder each time, so that the new build output replaces the old one.
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
        let elsewhere = tempfile::tempdir().expect("a folder");
        let made = elsewhere.path().join(name);
        newcomer
            .tool(&[&["new", made.to_str().expect("text")], options].concat())
            .await;
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the checkout")
            .to_str()
            .expect("text");
        for place in [checkout, elsewhere.path().to_str().expect("text")] {
            let grep = ["-r", "--fixed-strings", place, made.to_str().expect("text")];
            let found = newcomer
                .run(Path::new("grep"), &newcomer.folder, &grep)
                .await;
            assert_eq!(
                (found.status.code(), text(&found.stdout)),
                (Some(1), String::new()),
                "no path of this machine"
            );
        }
        let moved = newcomer
            .run(
                Path::new("mv"),
                &newcomer.folder,
                &[made.to_str().expect("text"), name],
            )
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

    /// A command in a folder.
    pub(super) fn command(&self, program: &Path, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .kill_on_drop(true);
        // What was compiled once is there for the next time.
        command.env("CARGO_TARGET_DIR", shared_target());
        command
    }

    /// `assent-plugin`, which has to succeed; what it prints.
    pub(super) async fn tool(&self, arguments: &[&str]) -> String {
        let output = self
            .run(&binary("assent-plugin"), &self.folder, arguments)
            .await;
        succeeded(&output);
        text(&output.stdout)
    }

    /// Runs the commands of the project's CI workflow unchanged, except the setup of the machine.
    async fn workflow(&self) {
        let workflow = std::fs::read_to_string(self.project().join(".github/workflows/plugin.yml"))
            .expect("the file");
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
            let output = shell.env("PATH", &path).output().await.expect("run");
            assert!(
                output.status.success(),
                "{command}: {}{}",
                text(&output.stdout),
                text(&output.stderr)
            );
        }
    }

    /// Changes a text in a file of the project, where it is once.
    pub(super) fn edit(&self, file: &str, from: &str, to: &str) {
        let file = self.project().join(file);
        let before = std::fs::read_to_string(&file).expect("the file");
        assert_eq!(
            before.matches(from).count(),
            1,
            "{} has `{from}` once",
            file.display()
        );
        std::fs::write(&file, before.replace(from, to)).expect("written");
    }

    /// From the changed line on: the fixtures say what is different, are told to expect it, and hold.
    async fn test(&self) {
        let failed = self
            .run(
                &binary("assent-plugin"),
                &self.folder,
                &["test", "newcomer"],
            )
            .await;
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stdout));
        let said = text(&failed.stdout);
        assert!(
            said.contains(
                "by-role.json (the first role that has a department counts):\n    - set department \
                 = \"Press\"\n    + set department = \"PRESS\""
            ),
            "{said}"
        );
        let error = text(&failed.stderr);
        assert!(
            error.contains("assent-plugin: 2 of 4 fixtures do not hold"),
            "{error}"
        );
        let unpacked = self
            .run(
                &binary("assent-plugin"),
                &self.folder,
                &["pack", "newcomer"],
            )
            .await;
        assert_eq!(
            (unpacked.status.code(), text(&unpacked.stdout)),
            (Some(1), String::new())
        );
        let error = text(&unpacked.stderr);
        assert!(
            error.contains(
                "2 of 4 fixtures do not hold (- expected, + got), so nothing was packed\n"
            ),
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
                .ends_with("4 fixtures hold\n")
        );
    }

    /// What was packed can be looked at and tried out, and is not replaced unless it is said.
    async fn packed(&self, packed: &Path) {
        let folder = packed.to_str().expect("text");
        let said = self.tool(&["check", folder]).await;
        assert!(said.contains("plugin.toml says the same"), "{said}");
        let said = self
            .tool(&["test", folder, "--fixture", "newcomer/fixtures"])
            .await;
        assert!(said.ends_with("4 fixtures hold\n"), "{said}");

        let file = packed.join("newcomer.wasm");
        let component = std::fs::read(&file).expect("the component");
        std::fs::write(&file, b"another").expect("written");
        let again = ["pack", "newcomer", "--out", "packed"];
        let refused = self
            .run(&binary("assent-plugin"), &self.folder, &again)
            .await;
        let error = text(&refused.stderr);
        assert!(
            error.contains(
                "is another component of the same version; give the plugin a new version"
            ),
            "{error}"
        );
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
        let packed = self.folder.join("packed/newcomer-0.1.0");
        let manifest: toml::Table = std::fs::read_to_string(packed.join("plugin.toml"))
            .expect("the manifest")
            .parse()
            .expect("TOML");
        assert!(
            settings.contains(manifest["sha256"].as_str().expect("a digest")),
            "{settings}"
        );
        assert_eq!(
            settings,
            self.tool(&["pack", "newcomer", "--out", "packed"]).await,
            "packed again it is the same"
        );
        assert!(
            settings.contains("\n# applications = [\"did:key:...\"]"),
            "{settings}"
        );
        self.packed(&packed).await;

        let file = host.host.settings_file.clone().expect("a settings file");
        let text = std::fs::read_to_string(&file).expect("the settings");
        std::fs::write(&file, format!("{text}\n{settings}")).expect("written");
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

/// Two projects may have one name, in different languages.
fn folder_name(name: &str, options: &[&str]) -> String {
    if options.contains(&"typescript") {
        format!("{name}-ts")
    } else {
        name.to_owned()
    }
}

/// Where the projects of these tests are built, so that each run finds what the last one compiled.
fn shared_target() -> PathBuf {
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

/// The claim `department` of a fresh ID token.
async fn department(host: &TestHost, ada: &Ada) -> Value {
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let payload = tokens["id_token"]
        .as_str()
        .expect("an ID token")
        .split('.')
        .nth(1)
        .expect("a payload");
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("base64url")).expect("JSON");
    claims["department"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_a_claim_in_an_id_token_in_rust() {
    let newcomer = Newcomer::with_project("newcomer", &[]).await;
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
    newcomer.workflow().await;
    newcomer.deploy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_a_claim_in_an_id_token_in_typescript() {
    let newcomer = Newcomer::with_project("newcomer", &["--language", "typescript"]).await;
    // The compiler's advice would be to change its options.
    newcomer.edit(
        "src/plugin.ts",
        "  map(config, input) {\n",
        "  map(config, input) {\n    console.log(input.now);\n",
    );
    let failed = newcomer
        .run(
            &binary("assent-plugin"),
            &newcomer.folder,
            &["build", "newcomer"],
        )
        .await;
    assert!(!failed.status.success());
    let said = text(&failed.stderr);
    assert!(
        said.contains(
            "Cannot find name 'console': a plugin has no console; write to the operator's log"
        ),
        "{said}"
    );
    assert!(!said.contains("'lib' compiler option"), "{said}");
    newcomer.edit(
        "src/plugin.ts",
        "    console.log(input.now);\n",
        "    const unused = input.now;\n",
    );
    newcomer.tool(&["build", "newcomer"]).await;
    newcomer.edit("src/plugin.ts", "    const unused = input.now;\n", "");
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

/// A sign-in that the template's stub approves, with the changes of the settings in docs/plugin-channels.md.
async fn approved_by_the_stub(newcomer: &Newcomer, settings: &str) {
    let mut stub = newcomer.command(Path::new("python3"), &newcomer.project(), &["stub.py", "0"]);
    let mut stub = stub
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(stub.stdout.take().expect("its output")).lines();
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
    let host = TestHost::start_with(HostOptions {
        plugins: &plugins(&settings),
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    known_as(&host, &ada, "moved-vendor", "ada@vendor").await;
    let waiting = ada.ask(&Browser::new(&host.base), &[]).await;
    let question = lines.next_line().await.expect("text").expect("a question");
    assert!(
        question.starts_with("ada@vendor: ada signs in to Books & <Co>, "),
        "{question}"
    );
    let letters = question.rsplit("Letters: ").next().expect("letters");
    assert!(
        letters.len() >= 4 && letters.bytes().all(|byte| byte.is_ascii_uppercase()),
        "{question}"
    );
    // The server asks the stub again after a time of its own clock.
    let page = tokio::select! {
        page = moved_on(&waiting) => page,
        () = host.keep_time() => unreachable!("the clock goes on"),
    };
    assert!(!page.parameter("code").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_channel_builds_from_its_template() {
    let newcomer = Newcomer::with_project("moved-channel", &["--role", "approval-channel"]).await;
    succeeded(
        &newcomer
            .run(Path::new("cargo"), &newcomer.project(), &["test"])
            .await,
    );
    assert!(
        newcomer
            .tool(&["test", "moved-channel"])
            .await
            .ends_with("4 fixtures hold\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_of_the_delegated_template_contains_the_letters() {
    let newcomer =
        Newcomer::with_project("moved-vendor", &["--role", "delegated-approval-channel"]).await;
    assert!(
        newcomer
            .tool(&["test", "moved-vendor"])
            .await
            .ends_with("5 fixtures hold\n")
    );
    // A stub on this machine needs other settings and no other code.
    let settings = newcomer
        .tool(&["pack", "moved-vendor", "--out", "packed"])
        .await;
    assert!(
        settings.contains("http_hosts = [\"api.vendor.example\"] # the fixtures' hosts"),
        "{settings}"
    );
    assert!(
        settings.contains("base_url = \"https://api.vendor.example\""),
        "{settings}"
    );

    approved_by_the_stub(&newcomer, &settings).await;

    // Without the letters, a person can approve the sign-in of an attacker: then the fixtures do not hold.
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
async fn a_plugin_states_what_it_asks_for_once() {
    let newcomer = Newcomer::with_project("stated-once", &[]).await;
    let manifest = newcomer.project().join("plugin.toml");
    assert!(!manifest.exists(), "it is generated");
    newcomer.tool(&["build", "stated-once"]).await;
    let generated = std::fs::read_to_string(&manifest).expect("the manifest");
    assert!(
        generated.starts_with("# Generated by assent-plugin"),
        "{generated}"
    );
    let table: toml::Table = generated.parse().expect("TOML");
    assert_eq!(
        table["writes"].as_array().map(Vec::len),
        Some(1),
        "{generated}"
    );
    assert_eq!(
        table["summary"].as_str(),
        Some("Sends applications the department of a person")
    );
    assert!(!table.contains_key("sinks"), "{generated}");

    // A change in the code is enough, and a change elsewhere has no effect.
    let more = ".writes([\"department\", \"team\"]).sinks([\"id-token\"])";
    newcomer.edit("src/lib.rs", ".writes([\"department\"])", more);
    std::fs::write(
        &manifest,
        generated.replace("department of a person", "shoe size of a person"),
    )
    .expect("written");
    newcomer.tool(&["test", "stated-once"]).await;
    let again = std::fs::read_to_string(&manifest).expect("the manifest");
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
