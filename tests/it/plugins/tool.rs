//! The command `assent-plugin` on existing components: its checks and its error messages.

use std::path::Path;
use std::process::{Command, Output};

use assent_model::secret::Digest;
use assent_tests::harness::{Text, binary, component, read_bytes, temp_folder, utf8, write_file};
use serde_json::{Value, json};

use super::components::without_denials;

fn tool(arguments: &[&str]) -> Output {
    Command::new(binary("assent-plugin"))
        .args(arguments)
        .output()
        .expect("run")
}

/// Runs a command that must succeed. Returns its output.
fn printed(arguments: &[&str]) -> String {
    let output = tool(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    utf8(output.stdout)
}

/// Runs a command that must fail. Returns the last line of its error output.
fn error(arguments: &[&str]) -> String {
    let output = tool(arguments);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let message = utf8(output.stderr);
    message.lines().last().expect("a line").to_owned()
}

fn path(file: &Path) -> &str {
    file.text()
}

/// Writes a fixture and tests the hostile mapper with it.
fn tested(fixture: &Value) -> Output {
    let folder = temp_folder();
    let file = folder.path().join("case.json");
    write_file(&file, fixture.to_string());
    tool(&[
        "test",
        path(&component("hostile-mapper")),
        "--fixture",
        path(&file),
    ])
}

/// Tests the hostile mapper with a fixture. Returns the output, and whether the fixture holds.
fn hostile(fixture: &Value) -> (String, bool) {
    let output = tested(fixture);
    (utf8(output.stdout), output.status.success())
}

#[test]
fn a_component_is_shown_with_its_imports() {
    let message = printed(&["check", path(&component("account-roles"))]);
    for words in [
        "role        claim-mapper",
        "assent:claims@1.0.0",
        "imports     assent:host/log@1.0.0",
        "writes      account",
    ] {
        assert!(message.contains(words), "{message}");
    }
    let message = printed(&["check", path(&component("web-push"))]);
    assert!(
        message.contains("role        approval-channel") && message.contains("hosts       *"),
        "{message}"
    );
}

#[test]
fn unusable_files_are_named_in_one_sentence() {
    assert!(
        error(&["check", "no-such.wasm"])
            .contains("no-such.wasm does not exist; specify the folder of a plugin")
    );
    let folder = temp_folder();
    let file = folder.path().join("module.wasm");
    write_file(&file, b"\0asm\x01\0\0\0");
    assert!(
        error(&["check", path(&file)])
            .contains("core WebAssembly module, not a component; build it with")
    );
    assert!(
        error(&["test", path(&component("account-roles"))])
            .contains("specify them with `--fixture`")
    );
    assert!(
        error(&["pack", path(&component("account-roles"))])
            .contains("is a file; specify the folder of the plugin")
    );
    assert!(
        error(&["check", path(folder.path())])
            .contains("is not a plugin: it has no Cargo.toml, no package.json")
    );
}

#[test]
fn a_package_must_match_its_digest() {
    let folder = temp_folder();
    let packed = |digest: &str| {
        std::fs::copy(
            component("account-roles"),
            folder.path().join("account-roles.wasm"),
        )
        .expect("copied");
        let manifest = format!(
            "name = \"account-roles\"\nversion = \"1.0.0\"\nrole = \"claim-mapper\"\nsummary = \"Writes the claim \
             `account`: a JSON string with the user's account and roles in the application\"\nwrites = \
             [\"account\"]\nsinks = [\"id-token\", \"userinfo\"]\nfile = \"account-roles.wasm\"\nsha256 = \
             \"{digest}\"\n"
        );
        write_file(folder.path().join("plugin.toml"), manifest);
    };
    let digest = Digest::sha256(&read_bytes(component("account-roles"))).to_text();
    packed(&digest);
    assert!(printed(&["check", path(folder.path())]).contains("plugin.toml agrees"));
    assert!(
        error(&["test", path(folder.path())])
            .contains("is packed, and has no fixtures; specify them with `--fixture`")
    );
    assert!(
        error(&["pack", path(folder.path())])
            .contains("is packed already; specify the folder of the plugin's project")
    );
    packed(&"0".repeat(64));
    let message = error(&["check", path(folder.path())]);
    assert!(
        message.contains("`sha256` is `0000") && message.contains(&digest),
        "{message}"
    );
}

#[test]
fn the_committed_manifests_match_the_build() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in ["plugins", "tests/plugins"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let folder = entry.expect("an entry").path();
            let Ok(manifest) = std::fs::read_to_string(folder.join("plugin.toml")) else {
                // No instance of this version serves its contract, so no program can call it for its description.
                assert!(
                    folder.ends_with("next-mapper"),
                    "{} has no plugin.toml",
                    folder.display()
                );
                continue;
            };
            let name = folder
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name");
            let bytes = read_bytes(component(name));
            let packed = temp_folder();
            write_file(packed.path().join(format!("{name}.wasm")), &bytes);
            let digest = Digest::sha256(&bytes).to_text();
            write_file(
                packed.path().join("plugin.toml"),
                format!("{manifest}sha256 = \"{digest}\"\n"),
            );
            assert!(
                manifest.starts_with("# Generated by assent-plugin"),
                "{manifest}"
            );
            assert!(printed(&["check", path(packed.path())]).contains("plugin.toml agrees"));
        }
    }
}

#[test]
fn fixtures_are_validated_like_in_the_instance() {
    let protected = json!({
        "config": { "behaviour": "set", "claim": "sub", "value": "1" },
        "expect": { "fault": "tried to write the protected claim `sub`" },
    });
    assert!(hostile(&protected).1);
    let greedy =
        json!({ "config": { "behaviour": "memory" }, "expect": { "fault": "bytes of memory" } });
    assert!(hostile(&greedy).1);
    let wrong = json!({ "config": { "behaviour": "memory" }, "expect": { "edits": [] } });
    let (message, holds) = hostile(&wrong);
    assert!(
        !holds && message.contains("- no edits\n    + fault: asked for more than"),
        "{message}"
    );
}

#[test]
fn an_undeclared_denial_fails_a_fixture() {
    let denial = json!({
        "config": { "behaviour": "deny", "value": "not on Sundays" },
        "expect": { "deny": "not on Sundays" },
    });
    assert!(hostile(&denial).1);
    let folder = temp_folder();
    let file = folder.path().join("case.json");
    write_file(&file, denial.to_string());
    let output = tool(&["test", path(without_denials()), "--fixture", path(&file)]);
    let message = utf8(output.stdout);
    assert!(
        !output.status.success()
            && message.contains("+ fault: denied the user, but its description does not set"),
        "{message}"
    );
}

#[test]
fn plugin_logs_have_no_colours_in_a_pipe() {
    let output = tested(&json!({ "config": { "behaviour": "log" }, "expect": { "edits": [] } }));
    let message = utf8(output.stderr);
    assert!(
        message.contains("INFO") && !message.contains('\u{1b}'),
        "{message}"
    );
}

#[test]
fn a_call_is_measured() {
    let folder = temp_folder();
    let fixture = folder.path().join("case.json");
    let roles: Vec<String> = (0..42)
        .map(|number| format!("department-{number}-editor"))
        .collect();
    let account = json!({
        "name": "ada", "roles": roles, "short_code": "7KQ2M9T4VX",
    });
    let case = json!({
        "input": { "roles": roles },
        "expect": { "edits": [{ "set": ["account", account.to_string()] }] },
    });
    write_file(&fixture, case.to_string());
    let component = component("account-roles");
    let message = printed(&[
        "bench",
        path(&component),
        "--fixture",
        path(&fixture),
        "--calls",
        "50",
    ]);
    assert!(
        message.starts_with("50 calls with ") && message.contains("each in a fresh instance"),
        "{message}"
    );
    for (measure, meaning) in [
        ("time ", "its answer"),
        ("CPU ", "the server's own part"),
        ("fuel ", "units of work"),
        ("memory ", "at the end"),
    ] {
        let line = message
            .lines()
            .find(|line| line.starts_with(measure))
            .expect("a line for each measure");
        assert!(line.contains(meaning), "{line}");
        assert!(
            line.bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
            "{line}"
        );
    }
    write_file(&fixture, json!({ "expect": { "edits": [] } }).to_string());
    let message = error(&["bench", path(&component), "--fixture", path(&fixture)]);
    assert!(message.contains("+ set account"), "{message}");
}
