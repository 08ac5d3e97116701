//! Errors for files that are no plugins, and for invalid settings.

use assent_plugin_host::{
    CallLimits, Compiler, HttpGrant, OnFailure, PluginSpec, Role, World, inspect,
};
use serde_json::json;
use std::time::Duration;

use super::components::{account_roles, application, channel, hostile_mapper, load_error};
use crate::harness::{component, read_bytes, read_file, temp_folder, write_file};

/// Returns the error for these bytes in place of `account-roles`. Inspection must return the same error.
async fn wrong_file(bytes: &[u8]) -> String {
    let folder = temp_folder();
    let file = folder.path().join("account-roles.wasm");
    write_file(&file, bytes);
    let message = load_error(vec![PluginSpec {
        file: file.clone(),
        ..account_roles(&application(1))
    }])
    .await;
    let inspected = inspect(&file, &Compiler::InProcess)
        .await
        .expect_err("not a plugin")
        .to_string();
    assert_eq!(inspected, message);
    assert!(
        message.starts_with("plugin `account-roles`: ") && !message.contains('\n'),
        "{message}"
    );
    message
}

/// Returns the component `account-roles` with one text replaced by another of the same length.
fn patched(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = read_bytes(component("account-roles"));
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "the component has `{from}` in it");
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[tokio::test]
async fn a_component_of_another_version_is_identified() {
    let message = wrong_file(&patched(
        "assent:claims/mapper@1.0.0",
        "assent:claims/mapper@2.0.0",
    ))
    .await;
    assert!(
        message.contains("version 2.0.0 of `assent:claims`; this Assent serves version 1.0.0"),
        "{message}"
    );
}

#[tokio::test]
async fn a_component_of_another_world_is_identified() {
    let message = wrong_file(&patched(
        "assent:claims/mapper@1.0.0",
        "someone:other/worlds@1.0.0",
    ))
    .await;
    assert!(
        message.contains("not a plugin of Assent")
            && message.contains("someone:other/worlds@1.0.0"),
        "{message}"
    );
}

#[tokio::test]
async fn a_component_with_other_imports_is_identified() {
    let message = wrong_file(&patched("assent:host/log@1.0.0", "wasi:io/stream1@0.2.0")).await;
    assert!(
        message.contains("asks for `wasi:io/stream1@0.2.0`"),
        "{message}"
    );
}

#[tokio::test]
async fn a_core_module_is_identified() {
    let message = wrong_file(b"\0asm\x01\0\0\0").await;
    assert!(message.contains("core WebAssembly module"), "{message}");
}

#[tokio::test]
async fn a_truncated_file_is_identified() {
    let whole = read_bytes(component("account-roles"));
    for length in [whole.len() / 3, whole.len() - 1, 100, 9] {
        let message = wrong_file(&whole[..length]).await;
        assert!(
            message.contains("cut short or damaged"),
            "{length}: {message}"
        );
    }
}

#[tokio::test]
async fn a_file_without_wasm_is_identified() {
    for bytes in [b"".as_slice(), b"hello", b"\x7fELF"] {
        assert!(wrong_file(bytes).await.contains("not WebAssembly"));
    }
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let spec = PluginSpec {
        file: "no/such/file.wasm".into(),
        ..account_roles(&application(1))
    };
    let message = load_error(vec![spec]).await;
    assert!(
        message.contains("`no/such/file.wasm` cannot be read"),
        "{message}"
    );
}

#[tokio::test]
async fn the_role_in_the_settings_must_match_the_component() {
    let spec = PluginSpec {
        file: component("account-roles"),
        ..channel("web-push", json!({}), HttpGrant::default())
    };
    let message = load_error(vec![spec]).await;
    assert_eq!(
        message,
        "plugin `web-push`: the settings make it an approval channel, but the component is a claim mapper"
    );
}

#[tokio::test]
async fn settings_rejected_by_the_plugin_are_named() {
    let spec = PluginSpec {
        config: json!({ "inclde": [] }),
        ..account_roles(&application(1))
    };
    let message = load_error(vec![spec]).await;
    assert!(message.contains("unknown field `inclde`"), "{message}");
    let message = load_error(vec![hostile_mapper(
        "hostile",
        &application(1),
        json!({ "behaviour": "invalid" }),
    )])
    .await;
    assert_eq!(
        message,
        "plugin `hostile`: `behaviour` is invalid; and so is this"
    );
    let message = load_error(vec![PluginSpec {
        config: json!([]),
        ..account_roles(&application(1))
    }])
    .await;
    assert!(message.contains("not a table"), "{message}");
    let limits = CallLimits {
        concurrency: 0,
        ..CallLimits::default()
    };
    let message = load_error(vec![PluginSpec {
        limits,
        ..account_roles(&application(1))
    }])
    .await;
    assert!(message.contains("set at least 1"), "{message}");
}

#[tokio::test]
async fn invalid_grants_are_named() {
    let granting = |claim: &str| {
        let role = Role::ClaimMapper {
            applications: None,
            writes: vec![claim.to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        };
        PluginSpec {
            role,
            ..account_roles(&application(1))
        }
    };
    let message = load_error(vec![granting("sub")]).await;
    assert!(message.contains("`sub` is protected"), "{message}");
    let message = load_error(vec![granting("team")]).await;
    assert!(
        message.contains("`team`, which the component does not write (it writes: account)"),
        "{message}"
    );
    let bad_host = HttpGrant {
        hosts: vec!["https://push.example.com/".to_owned()],
        ..HttpGrant::default()
    };
    let message = load_error(vec![channel("web-push", json!({}), bad_host)]).await;
    assert!(message.contains("specify a host name"), "{message}");
}

#[tokio::test]
async fn two_plugins_cannot_own_one_claim_or_name() {
    let (one, two) = (application(1), application(2));
    let message = load_error(vec![
        hostile_mapper("a", &one, json!({})),
        hostile_mapper("b", &one, json!({})),
    ])
    .await;
    assert!(
        message.starts_with("plugin `b`: ")
            && message.contains("`team`, which plugin `a` writes too"),
        "{message}"
    );
    let message = load_error(vec![account_roles(&one), account_roles(&two)]).await;
    assert!(message.contains("two plugins have this name"), "{message}");
    let apart = vec![
        hostile_mapper("a", &one, json!({})),
        hostile_mapper("b", &two, json!({})),
    ];
    assert_eq!(
        super::components::load(apart).await.status().len(),
        2,
        "plugins of different applications do not conflict"
    );
}

#[tokio::test]
async fn a_plugin_with_a_failing_description_is_named() {
    let limits = CallLimits {
        fuel: 10,
        ..CallLimits::default()
    };
    let message = load_error(vec![PluginSpec {
        limits,
        ..account_roles(&application(1))
    }])
    .await;
    assert_eq!(
        message,
        "plugin `account-roles`: it cannot describe itself: it used up its fuel of 10 units"
    );
}

#[tokio::test]
async fn inspection_describes_a_component() {
    let inspection = inspect(&component("account-roles"), &Compiler::InProcess)
        .await
        .expect("a plugin");
    assert_eq!(inspection.world, World::ClaimMapper);
    assert_eq!(inspection.description.name, "account-roles");
    assert_eq!(inspection.description.writes, ["account"]);
    assert_eq!(inspection.imports, ["assent:host/log@1.0.0"]);
    assert!(inspection.size > 10_000 && inspection.description.config_schema.is_some());
    let inspection = inspect(&component("web-push"), &Compiler::InProcess)
        .await
        .expect("a plugin");
    assert_eq!(inspection.world, World::ApprovalChannel);
    assert!(
        inspection
            .imports
            .iter()
            .any(|import| import == "assent:host/http@1.0.0")
    );
}

#[tokio::test]
async fn components_are_compiled_in_a_separate_process() {
    let program = Compiler::Program(crate::harness::binary("assent"));
    let inspection = inspect(&component("account-roles"), &program)
        .await
        .expect("compiled");
    assert_eq!(inspection.description.name, "account-roles");

    // The file has the outer format of a component, but the compiler cannot parse its code.
    let folder = temp_folder();
    let file = folder.path().join("broken.wasm");
    let mut bytes = read_bytes(component("account-roles"));
    let code = bytes.len() / 2;
    bytes[code..code + 64].fill(0xff);
    write_file(&file, bytes);
    let error = inspect(&file, &program)
        .await
        .expect_err("it cannot be compiled")
        .to_string();
    assert!(
        error.starts_with("plugin `broken`: ") && !error.contains('\n'),
        "{error}"
    );

    let error = inspect(
        &component("account-roles"),
        &Compiler::Program("/no/such/program".into()),
    )
    .await;
    let error = error.expect_err("nothing compiles").to_string();
    assert!(
        error.contains("/no/such/program cannot be started"),
        "{error}"
    );
    let error = inspect(
        &component("account-roles"),
        &Compiler::Program("/bin/false".into()),
    )
    .await;
    let error = error.expect_err("nothing compiles").to_string();
    assert!(
        error.contains("cannot be compiled") && error.contains("exit status: 1"),
        "{error}"
    );
}

#[test]
fn the_compiler_process_opens_no_files_and_exits() {
    // The compiler of the server, and the compiler of `assent-plugin check`.
    for program in ["assent", "assent-plugin"] {
        compiles_within_limits(program);
    }
}

fn compiles_within_limits(program: &str) {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let files_of = |process: u32| -> Vec<std::path::PathBuf> {
        let open = std::fs::read_dir(format!("/proc/{process}/fd")).expect("its files");
        // A descriptor that is closed meanwhile has no target.
        open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
            .collect()
    };
    let inherited = files_of(std::process::id());
    // The system reports the limits of the process while it waits for a component.
    let mut compiler = Command::new(crate::harness::binary(program))
        .arg(assent_plugin_host::COMPILE)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = compiler.stdin.take().expect("its input");
    // The input exceeds the capacity of a pipe. So this call returns only when the process reads, after it has set its
    // limits.
    stdin.write_all(&vec![0; 1 << 20]).expect("it reads");
    let limits = read_file(format!("/proc/{}/limits", compiler.id()));
    let open = files_of(compiler.id());
    drop(stdin);
    let output = compiler.wait_with_output().expect("ended");
    for (name, most) in [
        ("Max open files", "0"),
        ("Max file size", "0"),
        ("Max cpu time", "60"),
        ("Max processes", "0"),
        ("Max address space", "3221225472"),
    ] {
        let line = limits
            .lines()
            .find(|line| line.starts_with(name))
            .expect("the limit");
        assert_eq!(
            line[name.len()..].split_whitespace().nth(1),
            Some(most),
            "{line}"
        );
    }
    // The compiler may inherit any descriptor of this program. It opens none of its own.
    let harmless = |file: &std::path::PathBuf| {
        file.ends_with("dev/null")
            || file.to_string_lossy().starts_with("pipe:")
            || inherited.contains(file)
    };
    assert!(
        open.iter().all(harmless),
        "{open:?} are open; of these {inherited:?} were inherited"
    );
    assert!(!output.status.success() && output.stdout.is_empty());
}

#[tokio::test]
async fn a_plugin_that_may_deny_cannot_ignore_faults() {
    let role = Role::ClaimMapper {
        applications: None,
        writes: vec!["groups".to_owned()],
        on_failure: OnFailure::Omit,
        result_max_age: Duration::ZERO,
    };
    let config = json!({ "rules": [{ "claim": "groups", "from": "roles" }] });
    let file = component("claim-map");
    let message = load_error(vec![PluginSpec {
        role,
        config,
        file,
        ..account_roles(&application(1))
    }])
    .await;
    assert!(message.contains("may deny sign-ins"), "{message}");
}

#[tokio::test]
async fn test_calls_are_not_counted() {
    let plugins = super::components::load(vec![hostile_mapper(
        "a",
        &application(1),
        json!({ "behaviour": "deny" }),
    )])
    .await;
    let before = plugins.status()[0].measured;
    plugins.try_out().await.expect("a denial is permitted");
    let after = plugins.status()[0].measured;
    assert_eq!((after.calls, after.denials), (before.calls, before.denials));
}

/// The author chooses the names in a component. No name may control a terminal or begin a new log line.
#[tokio::test]
async fn names_in_a_component_cannot_inject_terminal_escapes_or_log_lines() {
    let exports = "assent:claims/mapper@1.0.0";
    let imports = "assent:host/log@1.0.0";
    for (from, to) in [
        // Package, interface and version of an export.
        (exports, "evil:x/\x1b[2J\x1b[31mpwn@111111"),
        (exports, "evil:x/a\r\nERROR up@1111111"),
        (exports, "evil:x/\u{202e}\u{2066}map@111111111"),
        (exports, "assent:claims/mapper@\x1b[2Jx"),
        (exports, "assent:claims/mapper@1\r\n.0"),
        (exports, "assent:claims/mapper@1\u{202e}0"),
        // Package, interface and version of an import.
        (imports, "evil:x/\x1b[2Jlog@111111"),
        (imports, "assent:host/log@1\r\n.0"),
        (imports, "assent:host/log@1\u{202e}0"),
        // The description: the name, the version and the claims.
        ("account-roles1.0.0Writes", "account-\x1b[2Jx1.0.0Writes"),
        ("account-roles1.0.0Writes", "account\r\nxxxx1.0.0Writes"),
        ("account-roles1.0.0Writes", "account-\u{202e}xx1.0.0Writes"),
        ("account-roles1.0.0Writes", "account-roles1\u{202e}0Writes"),
        ("account-roles1.0.0Writes", "account-roles1\x1b[2JWrites"),
        (
            "profileaccountaccount-roles",
            "profileac\u{202e}ttaccount-roles",
        ),
        (
            "profileaccountaccount-roles",
            "profilea\x1b[2mttaccount-roles",
        ),
        (
            "profileaccountaccount-roles",
            "profilea\r\nttttaccount-roles",
        ),
    ] {
        let message = wrong_file(&patched(from, to)).await;
        let is_shown = |character: char| assent_model::printable::is_printable(character);
        assert!(message.chars().all(is_shown), "{to:?}: {message:?}");
    }
}

/// The settings contain names of claims too.
#[tokio::test]
async fn a_granted_claim_name_must_be_printable() {
    for bad in [
        "a\nb",
        "a\x1b[31m",
        "a\u{202e}b",
        "",
        "attribute:",
        &"n".repeat(257),
    ] {
        let role = Role::ClaimMapper {
            applications: None,
            writes: vec![bad.to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        };
        let message = load_error(vec![PluginSpec {
            role,
            ..hostile_mapper("hostile", &application(1), json!({}))
        }])
        .await;
        assert!(
            message.contains("cannot be granted: its name"),
            "{bad:?}: {message}"
        );
        assert!(
            message.chars().all(assent_model::printable::is_printable),
            "{bad:?}: {message:?}"
        );
    }
}
