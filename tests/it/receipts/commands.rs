//! `assent receipts verify` with the real binary.

use std::path::Path;
use std::process::Output;

use assent_model::receipt::verification::ReceiptKeySet;
use serde_json::Value;
use tokio::process::Command;

use super::{key_document, receipt, shown};
use crate::harness::{Browser, Run, TestHost, Text, binary, parse_json, temp_folder, write_file};
use crate::lifecycle::entries;

/// Runs the command in a folder without settings and without a server.
pub(super) async fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("assent"));
    command
        .args(["receipts", "verify"])
        .args(arguments)
        .current_dir(folder)
        .kill_on_drop(true);
    command.finish().await
}

pub(super) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn the_command_verifies_a_receipt_offline() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let entry = &entries(&host, "event=sign-in.approved").await[0];
    let request = entry["detail"]["request"].text();
    let text = receipt(&host, request).await;
    let folder = temp_folder();
    let folder = folder.path();
    let keys = key_document(&host).await.to_string();
    write_file(folder.join("keys.json"), &keys);
    write_file(folder.join("receipt"), format!("{text}\n"));
    let (_, answer) = shown(&host, request).await;
    write_file(folder.join("receipt.json"), answer.to_string());
    drop(host);

    for file in ["receipt", "receipt.json"] {
        let good = run(folder, &[file, "--keys", "keys.json"]).await;
        assert_eq!(good.status.code(), Some(0), "{good:?}");
        for part in [
            "A sign-in, approved by a device.",
            "The key of the device signed this text:",
            "assent-approval-v1",
            "Stated by the server only:",
            "The authenticator showed this text, and the user decided so.",
            "User: ada",
            entry["detail"]["receipt"].text(),
        ] {
            assert!(out(&good).contains(part), "{part} in {}", out(&good));
        }
    }
    // Without keys only the device's signature is verified.
    let partly = run(folder, &["receipt"]).await;
    assert_eq!(partly.status.code(), Some(1), "{partly:?}");
    assert!(err(&partly).contains("--keys"), "{partly:?}");

    write_file(folder.join("changed"), text.replace('.', ".A"));
    write_file(folder.join("other.json"), "{}");
    for (arguments, message) in [
        (
            ["changed", "--keys", "keys.json"],
            "the receipt is not valid",
        ),
        (["keys.json", "--keys", "keys.json"], "not a receipt"),
        (
            ["receipt", "--keys", "other.json"],
            "not a set of receipt keys",
        ),
        (["receipt", "--keys", "missing.json"], "missing.json"),
        (["missing", "--keys", "keys.json"], "missing"),
        (["receipt", "--keys", "http://id.example.org/keys"], "https"),
    ] {
        let bad = run(folder, &arguments).await;
        assert_eq!(bad.status.code(), Some(1), "{bad:?}");
        assert!(err(&bad).contains(message), "{message} in {}", err(&bad));
    }
}

/// The examples of the specification, with the real binary.
#[tokio::test]
async fn the_command_says_what_was_proved() {
    let vectors: Value = parse_json(include_str!("../../../docs/reference/receipt-vectors.json"));
    let keys = vectors["keys"].to_string();
    assert!(ReceiptKeySet::parse(keys.as_bytes()).is_ok());
    let folder = temp_folder();
    let folder = folder.path();
    write_file(folder.join("keys.json"), keys);
    for (place, parts) in [
        (2, ["A sign-in, denied by a device.", "decision: \"deny\""]),
        (
            4,
            [
                "A protected action, approved by a device with its passkey.",
                "The passkey of the device signed a challenge for this text",
            ],
        ),
        (7, ["approved by a passkey.", "It signed no text."]),
        (8, ["no device signature", "the approval channel vendor"]),
    ] {
        write_file(
            folder.join("receipt"),
            vectors["valid"][place]["receipt"].text(),
        );
        let good = run(folder, &["receipt", "--keys", "keys.json"]).await;
        assert_eq!(good.status.code(), Some(0), "{good:?}");
        for part in parts {
            assert!(out(&good).contains(part), "{part} in {}", out(&good));
        }
    }
}
