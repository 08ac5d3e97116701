//! `assent audit` with the real binary.

use assent_test_macros::both_databases;
use std::process::{Output, Stdio};

use assent_model::secret::Digest;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::tamper;
use crate::harness::{
    Database, Pipes, Run, TestHost, Text, binary, in_time, parse_json, temp_folder, write_file,
};

/// Returns the command with settings that name the database and the master key of this instance.
fn command(host: &TestHost, arguments: &[&str]) -> Command {
    let folder = host.folder();
    let settings = folder.join("commands.toml");
    let text = format!(
        "base_url = \"http://localhost:1\"\n[database]\nurl = \"{}\"\n[keys]\nmaster_key_file = \"{}\"\n",
        host.host.settings.database.url,
        host.host.settings.keys.master_key_file.display()
    );
    write_file(&settings, text);
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .current_dir(folder)
        .kill_on_drop(true);
    if !arguments.contains(&"--file") {
        command.arg("--config").arg(settings);
    }
    command
}

async fn run(host: &TestHost, arguments: &[&str]) -> Output {
    let output = command(host, arguments).output();
    in_time(output).await.expect("run")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[both_databases]
async fn commands_verify_and_export_the_audit_log(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    host.advance(2);
    host.user("grace").await;

    let good = run(&host, &["audit", "verify"]).await;
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert!(
        out(&good).contains("Intact: 3 entries in 1 lane, from 2"),
        "{good:?}"
    );
    let good = run(&host, &["audit", "verify", "--json"]).await;
    let returned: Value = parse_json(out(&good));
    assert_eq!(
        (
            &returned["valid"],
            &returned["entries"],
            &returned["broken"]
        ),
        (&json!(true), &json!(3), &Value::Null)
    );

    let heads = returned["heads"].text();
    let compared = run(&host, &["audit", "verify", "--heads", heads]).await;
    assert_eq!(compared.status.code(), Some(0), "{compared:?}");
    let other = format!("1:3:{}", Digest::sha256(b"other").to_text());
    for heads in [other.clone(), other.replace("1:3:", "1:4:")] {
        let compared = run(&host, &["audit", "verify", "--heads", &heads]).await;
        assert_eq!(compared.status.code(), Some(1), "{compared:?}");
    }

    let exported = run(&host, &["audit", "export"]).await;
    let file = host.folder().join("export.jsonl");
    write_file(&file, &exported.stdout);
    let file = file.text();
    assert_eq!(
        run(&host, &["audit", "verify", "--file", file])
            .await
            .status
            .code(),
        Some(0)
    );
    let mut piped = command(&host, &["audit", "verify", "--file", "-"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::null()).start();
    let mut input = piped.input();
    input
        .write_all(
            &out(&exported)
                .replace("user.created", "user.updated")
                .into_bytes(),
        )
        .await
        .expect("written");
    drop(input);
    assert_eq!(piped.wait().await.expect("ended").code(), Some(1));

    let good = host
        .admin_ok(Method::GET, "/audit/verification", Value::Null)
        .await;
    assert_eq!(
        (&good["valid"], &good["entries"], &good["last"]["seq"]),
        (&json!(true), &json!(3), &json!(3))
    );
    let latest = host
        .admin_ok(Method::GET, "/audit?limit=1", Value::Null)
        .await;
    // The digest covers the heads of all lanes. Here there is one lane.
    let heads = format!("1:3:{}", latest["items"][0]["digest"].text());
    let digest = Digest::sha256(heads.as_bytes()).to_text();
    assert_eq!(good["digest"], digest);
    tamper(
        &mut host.connection().await,
        &["UPDATE audit_entries SET detail = '{\"x\":1}' WHERE seq = 2"],
    )
    .await;
    let broken = run(&host, &["audit", "verify"]).await;
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(
        out(&broken).starts_with("BROKEN: lane 1: entry 2 ("),
        "{broken:?}"
    );
    let broken = run(&host, &["audit", "verify", "--json"]).await;
    let returned: Value = parse_json(out(&broken));
    assert_eq!(
        (broken.status.code(), &returned["broken"]["kind"]),
        (Some(1), &json!("changed"))
    );

    let broken = host
        .admin_ok(Method::GET, "/audit/verification", Value::Null)
        .await;
    assert_eq!(
        (&broken["valid"], &broken["broken"]["seq"]),
        (&json!(false), &json!(2)),
        "{broken}"
    );

    let nothing = run(&host, &["audit", "verify", "--file", "no-such-file"]).await;
    assert_eq!(nothing.status.code(), Some(3), "{nothing:?}");
    assert!(
        String::from_utf8_lossy(&nothing.stderr).contains("cannot be read"),
        "{nothing:?}"
    );
}

/// A reader such as `head` that closes the pipe early causes no error.
#[tokio::test]
async fn a_closed_pipe_is_not_a_failure() {
    let host = TestHost::start().await;
    for number in 0..150 {
        host.user(&format!("user{number}")).await;
    }
    let mut process = command(&host, &["audit", "export"]);
    let mut process = process
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    let mut lines = process.output_lines();
    lines.next_line().await.expect("readable").expect("a line");
    drop(lines);
    let output = process.wait_with_output().await.expect("ended");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), b"".as_slice()),
        "{output:?}"
    );
}

#[tokio::test]
async fn config_check_rejects_an_invalid_audit_stream() {
    let folder = temp_folder();
    let file = folder.path().join("assent.toml");
    for (setting, message) in [
        (
            "file = \"/no/such/folder/audit.jsonl\"",
            "audit.stream.file: /no/such/folder/audit.jsonl: the folder",
        ),
        ("file = \".\"", "audit.stream.file: .: it is not a file"),
        (
            "syslog = \"tls://logs.example:6514\"",
            "audit.stream.syslog: expected udp://HOST:PORT",
        ),
        (
            "syslog = \"tcp://logs.example\"",
            "audit.stream.syslog: expected udp://HOST:PORT",
        ),
    ] {
        let settings = format!("base_url = \"http://localhost:8080\"\n[audit.stream]\n{setting}\n");
        write_file(&file, settings);
        let mut command = Command::new(binary("assent"));
        command
            .args(["config", "check", "--config", "assent.toml"])
            .current_dir(folder.path())
            .kill_on_drop(true);
        let output = command.finish().await;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{setting}: {error}");
        assert!(error.contains(message), "{setting}: {error}");
    }
}
