//! `assent ask` with the real binary.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use assent::authenticator::enrolled::PendingRequest;
use assent_model::receipt::content::ReceiptAnswer;
use assent_model::receipt::verification::Receipt;
use assent_store::sql;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{assent, assent_with, err, out};
use crate::harness::{
    Database, Device, Run, TestHost, TestUser, Text, binary, free_port, in_time, parse_json,
    read_file, write_file,
};
use crate::oidc::ciba::start;

const MESSAGE: &str = "Deploy 4.2 to production";

/// Sets the permissions of a file.
fn set_mode(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("set");
}

/// Writes the credentials of an application. Returns the file.
fn credentials(folder: &Path, issuer: &str, client: &str, secret: &str) -> PathBuf {
    let file = folder.join("ask.toml");
    let text =
        format!("issuer = \"{issuer}\"\nclient_id = \"{client}\"\nclient_secret = \"{secret}\"\n");
    write_file(&file, text);
    set_mode(&file, 0o600);
    file
}

/// Starts an instance with Ada, and writes the credentials of an application that may ask for her.
async fn installed() -> (TestHost, TestUser) {
    let (host, ada) = start(Database::Sqlite).await;
    let secret = ada.application.secret.as_deref().expect("a secret");
    credentials(host.folder(), &host.issuer(), &ada.application.id, secret);
    (host, ada)
}

const ASK: [&str; 7] = [
    "ask",
    "--user",
    "ada",
    "--message",
    MESSAGE,
    "--credentials",
    "ask.toml",
];

/// The only pending request of a device. It waits long enough for the start of the program.
async fn pending(device: &Device) -> PendingRequest {
    let mut requests = device.pending_requests(25).await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

/// Asks for Ada with further arguments.
async fn ask(folder: &Path, arguments: &[&str]) -> Output {
    assent(folder, &[&ASK[..], arguments].concat()).await
}

/// Asks for Ada, who decides.
async fn asked(host: &TestHost, ada: &TestUser, arguments: &[&str], is_approved: bool) -> Output {
    let decide = async {
        let request = pending(&ada.device).await;
        let shown = request.backchannel.clone().expect("a request");
        assert_eq!(shown.message.as_deref(), Some(MESSAGE));
        match is_approved {
            true => ada.device.approve(&request, "").await,
            false => ada.device.deny(&request).await,
        }
    };
    let (output, _) = tokio::join!(ask(host.folder(), arguments), decide);
    output
}

/// The names of the files with this text in their names.
fn files(folder: &Path, part: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("a file").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.contains(part)).collect()
}

#[tokio::test]
async fn an_approval_exits_with_0_and_has_a_receipt() {
    let (host, ada) = installed().await;
    let arguments = ["--receipt", "deploy.jws", "--json"];
    let approved = asked(&host, &ada, &arguments, true).await;
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
    let outcome: Value = parse_json(out(&approved));
    assert_eq!(outcome["outcome"], "approved", "{outcome}");
    let file = host.folder().join("deploy.jws");
    let mode = std::fs::metadata(&file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = read_file(&file);
    let receipt = Receipt::parse(text.trim_end()).expect("a receipt");
    let request = &receipt.content().request;
    assert_eq!(outcome["receipt_id"], request.id.to_string());
    let ReceiptAnswer::Device { statement, .. } = &receipt.content().answer else {
        panic!("a device: {receipt:?}");
    };
    assert!(statement.contains(MESSAGE), "{statement}");
    assert_eq!(files(host.folder(), "deploy.jws"), ["deploy.jws"]);
    let keys = format!("{}/receipts/keys", host.issuer());
    let arguments = ["receipts", "verify", "deploy.jws", "--keys", &keys];
    let verified = assent(host.folder(), &arguments).await;
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");

    // The receipt is not written over another file, and no user is asked for nothing.
    let again = ask(host.folder(), &["--receipt", "deploy.jws"]).await;
    assert_eq!(again.status.code(), Some(3), "{again:?}");
    assert!(err(&again).contains("the file exists"), "{again:?}");
    assert!(ada.device.pending_requests(0).await.is_empty());
}

#[tokio::test]
async fn a_denial_exits_with_1_and_leaves_no_file() {
    let (host, ada) = installed().await;
    let denied = asked(&host, &ada, &["--receipt", "deploy.jws"], false).await;
    assert_eq!(denied.status.code(), Some(1), "{denied:?}");
    assert_eq!(out(&denied), "denied\n");
    assert!(files(host.folder(), "deploy.jws").is_empty());
}

#[tokio::test]
async fn a_request_without_an_answer_exits_with_2() {
    let (host, ada) = installed().await;
    let expire = async {
        pending(&ada.device).await;
        host.advance(11);
    };
    let arguments = ["--expires", "10s", "--json"];
    let (expired, ()) = tokio::join!(ask(host.folder(), &arguments), expire);
    assert_eq!(expired.status.code(), Some(2), "{expired:?}");
    let outcome: Value = parse_json(out(&expired));
    assert_eq!(outcome, json!({"outcome": "expired"}));
}

/// The clock of the instance stands still, so that each further poll is too early.
#[tokio::test]
async fn a_client_that_polls_too_fast_waits_longer() {
    let (host, ada) = installed().await;
    let decide = async {
        let request = pending(&ada.device).await;
        tokio::time::sleep(std::time::Duration::from_secs(4)).await;
        ada.device.approve(&request, "").await
    };
    let (approved, _) = tokio::join!(ask(host.folder(), &[]), decide);
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
    assert_eq!(out(&approved), "approved\n");
}

#[tokio::test]
async fn an_interruption_withdraws_the_request() {
    let (host, ada) = installed().await;
    for (signal, name) in [("-INT", "Ctrl-C"), ("-TERM", "the end of a job")] {
        let mut command = Command::new(binary("assent"));
        command
            .args(ASK)
            .current_dir(host.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let process = command.start();
        let request = pending(&ada.device).await;
        let id = process.id().expect("running").to_string();
        let mut kill = Command::new("kill");
        kill.args([signal, &id]).finish().await;
        let ended = in_time(process.wait_with_output()).await.expect("ended");
        assert_eq!(ended.status.code(), Some(3), "{name}: {ended:?}");
        assert_eq!(out(&ended), "cancelled\n", "{name}");
        assert!(ada.device.pending_requests(0).await.is_empty(), "{name}");
        assert!(ada.device.decide(&request, Some("")).await.is_err());
    }
}

#[tokio::test]
async fn credentials_that_others_may_read_are_rejected() {
    let (host, ada) = installed().await;
    let file = host.folder().join("ask.toml");
    for mode in [0o644, 0o640, 0o660, 0o606, 0o700, 0o4600] {
        set_mode(&file, mode);
        let refused = ask(host.folder(), &[]).await;
        assert_eq!(refused.status.code(), Some(3), "{mode:o}: {refused:?}");
        let expected = format!("permissions are {mode:04o}");
        assert!(err(&refused).contains(&expected), "{refused:?}");
    }
    let secret = ada.application.secret.as_deref().expect("a secret");
    set_mode(&file, 0o600);
    for (text, message) in [
        (format!("client_secret = \"{secret}\""), "issuer"),
        (format!("client_secret = {secret}"), "expected a TOML file"),
        (read_file(&file) + "more = 1\n", "expected a TOML file"),
    ] {
        write_file(&file, text);
        let refused = ask(host.folder(), &[]).await;
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(err(&refused).contains(message), "{refused:?}");
        assert!(!err(&refused).contains(secret), "{refused:?}");
    }
    std::fs::remove_file(&file).expect("removed");
    let refused = ask(host.folder(), &[]).await;
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(err(&refused).contains("ask.toml"), "{refused:?}");
    assert!(ada.device.pending_requests(0).await.is_empty());
}

/// The server returns a receipt with a changed signature.
#[tokio::test]
async fn a_tampered_receipt_is_no_success() {
    let (host, ada) = installed().await;
    let trigger = "CREATE TRIGGER tampered AFTER INSERT ON receipts BEGIN
         UPDATE receipts SET receipt = substr(receipt, 1, length(receipt) - 20) || 'AAAAAAAAAAAAAAAAAAAA'
         WHERE id = NEW.id; END";
    sql::query(trigger)
        .execute(&mut host.connection().await)
        .await
        .expect("created");
    let arguments = ["--receipt", "deploy.jws", "--json"];
    let refused = asked(&host, &ada, &arguments, true).await;
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let outcome: Value = parse_json(out(&refused));
    assert_eq!(outcome["outcome"], "error", "{outcome}");
    let message = outcome["message"].text();
    assert!(message.contains("the receipt is not valid"), "{message}");
    assert!(files(host.folder(), "deploy.jws").is_empty());
    // Without a receipt, the approval is enough.
    let approved = asked(&host, &ada, &[], true).await;
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
}

#[tokio::test]
async fn errors_exit_with_3_and_say_what_to_do() {
    let (host, ada) = installed().await;
    let folder = host.folder();
    let secret = ada.application.secret.as_deref().expect("a secret");
    let client = ada.application.id.as_str();
    let refused = async |arguments: &[&str], code: &str, message: &str| {
        let refused = assent(folder, arguments).await;
        assert_eq!(refused.status.code(), Some(3), "{arguments:?}: {refused:?}");
        assert!(err(&refused).contains(message), "{message}: {refused:?}");
        if arguments.contains(&"--json") {
            let outcome: Value = parse_json(out(&refused));
            assert_eq!(outcome["error"], code, "{outcome}");
        }
    };
    let json = [&ASK[..], &["--json"]].concat();
    let with_user = |name| {
        let mut arguments = json.clone();
        arguments[2] = name;
        arguments
    };
    // A user without access, and no user: the same answer.
    host.user("bob").await;
    for name in ["bob", "nobody"] {
        let message = "the user does not exist, or has no access to this application";
        refused(&with_user(name), "unknown_user_id", message).await;
    }
    let mut linked = json.clone();
    linked[4] = "see https://evil.example";
    refused(&linked, "invalid_binding_message", "no link").await;
    let long = [&json[..], &["--expires", "20m"]].concat();
    refused(&long, "invalid_request", "requested_expiry").await;
    let other = free_port();
    for (issuer, given, code, message) in [
        (
            host.issuer(),
            "wrong",
            "invalid_client",
            "not authorized: check client_id and client_secret",
        ),
        (
            format!("http://127.0.0.1:{other}/oidc"),
            secret,
            "unreachable",
            "127.0.0.1",
        ),
        (
            "http://id.example.org/oidc".to_owned(),
            secret,
            "unusable_answer",
            "use https",
        ),
        (format!("{}/other", host.issuer()), secret, "404", "404"),
    ] {
        credentials(folder, &issuer, client, given);
        refused(&json, code, message).await;
    }
    credentials(folder, &host.issuer(), client, secret);
    let path = format!("/applications/{client}");
    let change = json!({"grant_types": ["authorization_code"]});
    host.admin_ok(Method::PATCH, &path, change).await;
    refused(
        &json,
        "unauthorized_client",
        "may not ask users without a browser",
    )
    .await;
    // To a script, the usual code 2 of wrong arguments would be a request that expired.
    for wrong in [
        vec!["ask"],
        vec!["ask", "--user", "ada"],
        [&ASK[..], &["--expires", "soon"]].concat(),
        [&ASK[..], &["--nonsense"]].concat(),
    ] {
        refused(&wrong, "", "error: ").await;
    }
    assert!(ada.device.pending_requests(0).await.is_empty());
}

#[tokio::test]
async fn the_credentials_have_a_default_place() {
    let (host, ada) = installed().await;
    let folder = host.folder().join("config").join("assent");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::rename(host.folder().join("ask.toml"), folder.join("ask.toml")).expect("moved");
    let home = host.folder().join("config");
    let decide = async {
        let request = pending(&ada.device).await;
        ada.device.approve(&request, "").await
    };
    let variables = [("XDG_CONFIG_HOME", home.text())];
    let asking = assent_with(host.folder(), &ASK[..5], &variables);
    let (approved, _) = tokio::join!(asking, decide);
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
}
