//! The command `assent-plugin` about components that are there: what it checks, and what it says where something is
//! wrong.

use std::path::Path;
use std::process::{Command, Output};

use assent_model::secret::Digest;
use assent_tests::harness::{binary, component};
use serde_json::{Value, json};

fn tool(arguments: &[&str]) -> Output {
    Command::new(binary("assent-plugin"))
        .args(arguments)
        .output()
        .expect("run")
}

/// What it prints, having succeeded.
fn printed(arguments: &[&str]) -> String {
    let output = tool(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// What it says, having failed: one line.
fn error(arguments: &[&str]) -> String {
    let output = tool(arguments);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let said = String::from_utf8(output.stderr).expect("text");
    said.lines().last().expect("a line").to_owned()
}

fn path(file: &Path) -> &str {
    file.to_str().expect("text")
}

/// Writes a fixture and tests the hostile mapper with it.
fn tested(fixture: &Value) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.json");
    std::fs::write(&file, fixture.to_string()).expect("written");
    tool(&[
        "test",
        path(&component("hostile-mapper")),
        "--fixture",
        path(&file),
    ])
}

/// The same: what is printed, and whether it holds.
fn hostile(fixture: &Value) -> (String, bool) {
    let output = tested(fixture);
    (
        String::from_utf8(output.stdout).expect("text"),
        output.status.success(),
    )
}

#[test]
fn a_component_is_shown_with_what_it_asks_for() {
    let said = printed(&["check", path(&component("account-roles"))]);
    for words in [
        "role        claim-mapper",
        "assent:claims@1.0.0",
        "imports     assent:host/log@1.0.0",
        "writes      account",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let said = printed(&["check", path(&component("web-push"))]);
    assert!(
        said.contains("role        approval-channel") && said.contains("hosts       *"),
        "{said}"
    );
}

#[test]
fn what_can_not_be_used_is_named_in_one_sentence() {
    assert!(
        error(&["check", "no-such.wasm"])
            .contains("there is no no-such.wasm; give the folder of a plugin")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("module.wasm");
    std::fs::write(&file, b"\0asm\x01\0\0\0").expect("written");
    assert!(
        error(&["check", path(&file)])
            .contains("core WebAssembly module, not a component; build it with")
    );
    assert!(
        error(&["test", path(&component("account-roles"))]).contains("name some with `--fixture`")
    );
    assert!(
        error(&["pack", path(&component("account-roles"))])
            .contains("is a file; give the folder of the plugin")
    );
    assert!(
        error(&["check", path(folder.path())])
            .contains("is no plugin: it has no Cargo.toml, no package.json")
    );
}

#[test]
fn a_packed_folder_is_held_to_its_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = |digest: &str| {
        std::fs::copy(
            component("account-roles"),
            folder.path().join("account-roles.wasm"),
        )
        .expect("copied");
        let manifest = format!(
            "name = \"account-roles\"\nversion = \"1.0.0\"\nrole = \"claim-mapper\"\n\
             summary = \"Makes the `account` claim: a JSON string with the person's roles in the application\"\n\
             writes = [\"account\"]\nsinks = [\"id-token\", \"userinfo\"]\n\
             file = \"account-roles.wasm\"\nsha256 = \"{digest}\"\n"
        );
        std::fs::write(folder.path().join("plugin.toml"), manifest).expect("written");
    };
    let digest =
        Digest::of(&std::fs::read(component("account-roles")).expect("the component")).to_text();
    packed(&digest);
    assert!(printed(&["check", path(folder.path())]).contains("plugin.toml says the same"));
    assert!(
        error(&["test", path(folder.path())])
            .contains("is packed, and has no fixtures; name some with `--fixture`")
    );
    assert!(
        error(&["pack", path(folder.path())])
            .contains("is packed already; give the folder of the plugin's project")
    );
    packed(&"0".repeat(64));
    let said = error(&["check", path(folder.path())]);
    assert!(
        said.contains("`sha256` is `0000") && said.contains(&digest),
        "{said}"
    );
}

#[test]
fn the_committed_manifests_are_what_build_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in ["plugins", "tests/plugins"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let folder = entry.expect("an entry").path();
            let Ok(manifest) = std::fs::read_to_string(folder.join("plugin.toml")) else {
                // Its contract is one that no host of this version serves, so nothing can ask it for its description.
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
            let bytes = std::fs::read(component(name)).expect("the component");
            let packed = tempfile::tempdir().expect("a folder");
            std::fs::write(packed.path().join(format!("{name}.wasm")), &bytes).expect("written");
            let digest = Digest::of(&bytes).to_text();
            std::fs::write(
                packed.path().join("plugin.toml"),
                format!("{manifest}sha256 = \"{digest}\"\n"),
            )
            .expect("written");
            assert!(
                manifest.starts_with("# Generated by assent-plugin"),
                "{manifest}"
            );
            assert!(printed(&["check", path(packed.path())]).contains("plugin.toml says the same"));
        }
    }
}

#[test]
fn fixtures_meet_the_judgement_of_the_host() {
    let protected = json!({
        "config": { "behaviour": "set", "claim": "sub", "value": "1" },
        "expect": { "fault": "tried to write the protected claim `sub`" },
    });
    assert!(hostile(&protected).1);
    let greedy =
        json!({ "config": { "behaviour": "memory" }, "expect": { "fault": "bytes of memory" } });
    assert!(hostile(&greedy).1);
    let wrong = json!({ "config": { "behaviour": "memory" }, "expect": { "edits": [] } });
    let (said, holds) = hostile(&wrong);
    assert!(
        !holds && said.contains("- no edits\n    + fault: asked for more than"),
        "{said}"
    );
}

#[test]
fn what_a_plugin_logs_has_no_colours_in_a_pipe() {
    let output = tested(&json!({ "config": { "behaviour": "log" }, "expect": { "edits": [] } }));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("INFO") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_call_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = folder.path().join("case.json");
    let roles: Vec<String> = (0..42)
        .map(|number| format!("department-{number}-editor"))
        .collect();
    let account = json!({
        "name": "ada", "roles": roles, "short_code": "7KQ2M9",
    });
    let case = json!({
        "input": { "roles": roles },
        "expect": { "edits": [{ "set": ["account", account.to_string()] }] },
    });
    std::fs::write(&fixture, case.to_string()).expect("written");
    let component = component("account-roles");
    let said = printed(&[
        "bench",
        path(&component),
        "--fixture",
        path(&fixture),
        "--calls",
        "50",
    ]);
    assert!(
        said.starts_with("50 calls with ") && said.contains("each in a fresh instance"),
        "{said}"
    );
    for (measure, meaning) in [
        ("time ", "its answer"),
        ("CPU ", "the host's own part"),
        ("fuel ", "units of work"),
        ("memory ", "in the end"),
    ] {
        let line = said
            .lines()
            .find(|line| line.starts_with(measure))
            .expect("a line for each measure");
        assert!(line.contains(meaning), "{line}");
        assert!(
            line.bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
            "{line}"
        );
    }
    std::fs::write(&fixture, json!({ "expect": { "edits": [] } }).to_string()).expect("written");
    let said = error(&["bench", path(&component), "--fixture", path(&fixture)]);
    assert!(said.contains("+ set account"), "{said}");
}
