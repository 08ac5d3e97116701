//! `assent keys`, the real binary, beside a host that serves.

use std::process::Output;

use tokio::process::Command;

use super::*;
use crate::harness::{TestHost, binary};

async fn assent(host: &TestHost, arguments: &[&str]) -> Output {
    let port = url::Url::parse(&host.base).expect("an address").port().expect("a port");
    let mut command = Command::new(binary("assent"));
    command.args(["keys"]).args(arguments).args(["--config", &format!("assent-{port}.toml")]);
    command.current_dir(host.folder()).kill_on_drop(true);
    tokio::time::timeout(Duration::from_secs(60), command.output()).await.expect("in time").expect("run")
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn list(host: &TestHost) -> Vec<Value> {
    serde_json::from_str(&out(&assent(host, &["list", "--json"]).await)).expect("a list")
}

/// Waits until the running host has noticed.
async fn until(what: &str, noticed: impl Fn() -> bool) {
    for _ in 0..600 {
        if noticed() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the host did not notice {what}");
}

#[tokio::test]
async fn keys_are_listed_rotated_and_revoked_beside_a_running_host() {
    let host = TestHost::start().await;
    let first = signing(&host.host);
    let listed = list(&host).await;
    assert_eq!((listed.len(), &listed[0]["kid"], &listed[0]["state"]), (2, &json!(first), &json!("signing")));
    assert_eq!((&listed[1]["alg"], &listed[1]["until"]), (&json!("PS256"), &Value::Null));

    let rotated = out(&assent(&host, &["rotate", "--algorithm", "RS256"]).await);
    assert!(rotated.starts_with("RS256: ") && rotated.contains(" is published. It signs from 20"), "{rotated}");
    assert_eq!(rotated.lines().count(), 1);
    let next = list(&host).await[1]["kid"].as_str().expect("text").to_owned();
    until("the next key", || stages(&host.host) == [KeyStage::Signing, KeyStage::Published]).await;
    let again = out(&assent(&host, &["rotate", "--algorithm", "RS256"]).await);
    assert!(again.contains(&format!("RS256: {next} was published before")), "{again}");

    let rotated = out(&assent(&host, &["rotate", "--now"]).await);
    assert!(rotated.contains(&format!("RS256: {next} signs now.\nPS256: ")), "{rotated}");
    // The command goes by the machine's clock, and this host by the test's.
    host.advance(120);
    until("that another one signs", || signing(&host.host) == next).await;

    let revoked = out(&assent(&host, &["revoke", &next]).await);
    assert!(revoked.starts_with(&format!("RS256: {next} is revoked. ")), "{revoked}");
    host.advance(120);
    until("the revocation", || ![&first, &next].contains(&&signing(&host.host))).await;
    let set: Value =
        reqwest::get(format!("{}/jwks", host.issuer())).await.expect("an answer").json().await.expect("JSON");
    assert!(!set.to_string().contains(&next) && set.to_string().contains(&first));
    let table = out(&assent(&host, &["list"]).await);
    assert!(table.starts_with("KID  ") && table.contains(&format!("{next}  RS256      revoked")), "{table}");
}

#[tokio::test]
async fn what_can_not_be_done_is_said_plainly() {
    let host = TestHost::start().await;
    let failed = async |arguments: &[&str]| {
        let output = assent(&host, arguments).await;
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // A thumbprint may begin with a hyphen.
    let (code, message) = failed(&["revoke", "-nothing"]).await;
    assert_eq!(
        (code, message.as_str()),
        (Some(1), "assent: there is no key -nothing; `assent keys list` names them\n")
    );
    let kid = signing(&host.host);
    out(&assent(&host, &["revoke", &kid]).await);
    let (code, message) = failed(&["revoke", &kid]).await;
    assert_eq!((code, message), (Some(1), format!("assent: {kid} was revoked before\n")));
    let (code, message) = failed(&["rotate", "--algorithm", "HS256"]).await;
    assert!(code == Some(2) && message.contains("expected RS256 or PS256"), "{message}");
}
