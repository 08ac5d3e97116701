//! `assent keys` with the real binary and a running instance.

use std::process::Output;

use tokio::process::Command;

use super::*;
use crate::harness::{Json, Run, TestHost, Text, binary, parse_json};

async fn assent(host: &TestHost, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("assent"));
    command
        .args(["keys"])
        .args(arguments)
        .current_dir(host.folder())
        .kill_on_drop(true);
    command
        .env("ASSENT_SERVER", &host.base)
        .env("ASSENT_ADMIN_TOKEN", &host.token);
    command.finish().await
}

fn out(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn list(host: &TestHost) -> Vec<Value> {
    let list: Value = parse_json(out(&assent(host, &["list", "--json"]).await));
    list["items"].items().clone()
}

#[tokio::test]
async fn commands_list_rotate_and_revoke_keys() {
    let host = TestHost::start().await;
    let first = signing(&host.host);
    let listed = list(&host).await;
    assert_eq!(
        (listed.len(), &listed[0]["kid"], &listed[0]["stage"]),
        (3, &json!(first), &json!("signing"))
    );
    assert_eq!(
        (&listed[1]["alg"], &listed[1]["until"]),
        (&json!("PS256"), &Value::Null)
    );

    out(&assent(&host, &["rotate", "--algorithm", "RS256"]).await);
    assert_eq!(stages(&host.host), [KeyStage::Signing, KeyStage::Published]);
    let next = list(&host).await[1]["kid"].text().to_owned();
    host.clock.advance(PUBLICATION_MARGIN);
    let rotated = out(&assent(&host, &["rotate", "--now"]).await);
    assert!(
        rotated.starts_with("KID  ") && signing(&host.host) == next,
        "{rotated}"
    );

    let revoked = out(&assent(&host, &["revoke", &next, "--yes"]).await);
    let row = revoked
        .lines()
        .find(|line| line.starts_with(&next))
        .expect("a row");
    assert!(row.contains("  RS256  revoked "), "{revoked}");
    assert!(![&first, &next].contains(&&signing(&host.host)));
    let again = assent(&host, &["revoke", &next, "--yes"]).await;
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(
        (again.status.code(), message.as_str()),
        (Some(1), "assent: Conflict: the key is revoked already\n")
    );
    let wrong = assent(&host, &["rotate", "--algorithm", "HS256"]).await;
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(2) && message.contains("RS256, PS256"),
        "{message}"
    );
}
