//! Output that cannot be written: the disk is full, or the reader closed the pipe.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::process::Command;

use super::{err, serve, settings, stop};
use crate::harness::{
    Run, ServerProcess, binary, component, free_port, http_client, in_time, read_file, temp_folder,
    write_file,
};

/// The destination of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// A file that accepts everything.
    Null,
    /// A file on a full disk.
    Full,
    /// A pipe whose reader ended.
    Closed,
}

impl Destination {
    fn open(self) -> Stdio {
        let device = |path| -> File {
            let file = OpenOptions::new().write(true).open(path);
            file.expect("a device")
        };
        match self {
            Self::Null => Stdio::null(),
            Self::Full => device("/dev/full").into(),
            Self::Closed => {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                writer.into()
            }
        }
    }
}

/// Returns the exit code of a program.
async fn code(program: &Path, folder: &Path, arguments: &[&str], to: [Destination; 2]) -> i32 {
    let [stdout, stderr] = to;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env("ASSENT_CONFIG", "assent.toml")
        .stdin(Stdio::null())
        .stdout(stdout.open())
        .stderr(stderr.open())
        .kill_on_drop(true);
    let status = in_time(command.status()).await.expect("it ends");
    let code = status.code();
    code.unwrap_or_else(|| panic!("{arguments:?} with {to:?}: {status}"))
}

#[tokio::test]
async fn a_server_loses_log_lines_and_not_its_life() {
    for [stdout, stderr] in [
        [Destination::Full, Destination::Full],
        [Destination::Closed, Destination::Closed],
    ] {
        let folder = temp_folder();
        let folder = folder.path();
        let base = settings(folder);
        let metrics = free_port();
        let text = read_file(folder.join("assent.toml"));
        let text = format!("{text}\n[metrics]\nlisten = \"127.0.0.1:{metrics}\"\n");
        write_file(folder.join("assent.toml"), text);
        let mut command = Command::new(binary("assent"));
        command
            .args(["serve", "--config", "assent.toml"])
            .current_dir(folder)
            .stdout(stdout.open())
            .stderr(stderr.open())
            .kill_on_drop(true);
        let mut process = command.start();
        let client = http_client();
        let ready = async {
            loop {
                let ended = process.try_wait().expect("a state");
                assert!(ended.is_none(), "{stdout:?}: it ended: {ended:?}");
                let answer = client.get(format!("{base}/readyz")).send().await;
                if answer.is_ok_and(|answer| answer.status() == StatusCode::OK) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        in_time(ready).await;
        // The lost lines are counted.
        let metrics = client.get(format!("http://127.0.0.1:{metrics}/metrics"));
        let lines = metrics.send().await.expect("an answer");
        let lines = lines.text().await.expect("a text");
        let lost = lines
            .lines()
            .find_map(|line| line.strip_prefix("assent_log_dropped_lines_total "))
            .expect("the metric");
        assert_ne!(lost, "0", "{stdout:?}");
        let id = process.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(sent.await.expect("sent").success());
        let ended = in_time(process.wait()).await.expect("ended");
        assert!(ended.success(), "{stdout:?}: {ended}");
    }
}

#[tokio::test]
async fn a_tool_ends_with_the_code_of_its_result() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let (process, _) = serve(folder).await;
    stop(process).await;
    let assent = binary("assent");
    let tool = binary("assent-plugin");
    let plugin = component("account-roles");
    let plugin = plugin.to_str().expect("a path");
    let config = ["--config", "assent.toml"];
    let with_config = |words: &[&'static str]| [words, &config].concat();
    let restore = ["restore", "backup", "--accept-lost-revocations", "--check"];
    let commands = [
        (&assent, with_config(&["config", "check"])),
        (&assent, with_config(&["migrate"])),
        (&assent, with_config(&["migrate", "--check"])),
        (&assent, with_config(&["doctor"])),
        (&assent, with_config(&["doctor", "--json"])),
        (&assent, with_config(&["health"])),
        (&assent, with_config(&["audit", "verify"])),
        (&assent, with_config(&restore)),
        (&assent, vec!["plugins", "check", plugin]),
        (&assent, vec!["config", "check", "--config", "missing.toml"]),
        (&assent, vec!["no", "such", "command"]),
        (&tool, vec!["check", plugin]),
        (&tool, vec!["check", "missing.wasm"]),
    ];
    let backup = with_config(&["backup", "backup"]);
    let written = code(&assent, folder, &backup, [Destination::Full; 2]).await;
    assert_eq!(written, 0);
    assert!(folder.join("backup").is_file(), "the backup is complete");
    for (program, arguments) in commands {
        let expected = code(program, folder, &arguments, [Destination::Null; 2]).await;
        assert_ne!(expected, 101, "{arguments:?}");
        for to in [
            [Destination::Full, Destination::Null],
            [Destination::Closed, Destination::Null],
            [Destination::Null, Destination::Full],
            [Destination::Full, Destination::Full],
            [Destination::Closed, Destination::Closed],
        ] {
            let found = code(program, folder, &arguments, to).await;
            assert_eq!(found, expected, "{arguments:?} with {to:?}");
        }
    }
}

#[tokio::test]
async fn output_that_cannot_be_printed_again_is_reported_as_lost() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let (process, _) = serve(folder).await;
    stop(process).await;
    for words in [&["admin", "token"][..], &["admin", "enrolment", "admin"]] {
        for lost in [Destination::Full, Destination::Closed] {
            let mut command = Command::new(binary("assent"));
            command
                .args(words)
                .args(["--config", "assent.toml"])
                .current_dir(folder)
                .stdout(lost.open())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            let output = in_time(command.spawn().expect("started").wait_with_output())
                .await
                .expect("ended");
            assert_eq!(output.status.code(), Some(1), "{words:?} with {lost:?}");
            let message = err(&output);
            assert!(message.contains("is lost"), "{words:?}: {message}");
            assert!(message.contains("run the command again"), "{message}");
        }
    }
    // What can be printed again ends quietly if the reader closed the pipe, and fails on a full disk.
    let assent = binary("assent");
    let schema = ["config", "schema"];
    let closed = code(&assent, folder, &schema, [Destination::Closed; 2]).await;
    assert_eq!(closed, 0);
    let full = code(&assent, folder, &schema, [Destination::Full; 2]).await;
    assert_eq!(full, 1);
}

#[tokio::test]
async fn a_created_object_is_reported_by_the_exit_code() {
    let folder = temp_folder();
    let server = ServerProcess::start(folder.path(), "", "", Stdio::null()).await;
    let assent = binary("assent");
    for (number, to) in [Destination::Full, Destination::Closed]
        .into_iter()
        .enumerate()
    {
        // The user exists, and the response can be read again.
        let name = format!("ada{number}");
        let create = ["users", "create", "--name", &name];
        assert_eq!(code(&assent, folder.path(), &create, [to; 2]).await, 0);
        let show = ["users", "show", &name];
        let shown = code(&assent, folder.path(), &show, [Destination::Null; 2]).await;
        assert_eq!(shown, 0, "{name} exists");
        // The link can be read in this response only.
        let enrol = ["users", "devices", "enrol", &name];
        assert_eq!(code(&assent, folder.path(), &enrol, [to; 2]).await, 1);
    }
    drop(server);
}
