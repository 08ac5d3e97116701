//! A test with a real phone, `make run LAN=1`: the certificate, the page that explains it, and the instance behind it.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::harness::{Parsed, Pipes, Run, binary, free_port, in_time, temp_folder, write_file};
use crate::javascript;

/// Runs a command of `assent-lan`. Returns whether it succeeds, and its output.
async fn lan(folder: &Path, command: &str, arguments: &[&str]) -> (bool, String) {
    let mut run = Command::new(binary("assent-lan"));
    let run = run
        .arg(command)
        .args(arguments)
        .current_dir(folder)
        .finish()
        .await;
    (
        run.status.success(),
        String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned(),
    )
}

/// Returns the first word of the output that begins with this text.
async fn printed(process: &mut tokio::process::Child, begins: &str) -> String {
    let mut lines = process.output_lines();
    loop {
        let line = in_time(lines.next_line()).await;
        let line = line.expect("readable").expect("the server still runs");
        if let Some(word) = line
            .split_whitespace()
            .find(|word| word.starts_with(begins))
        {
            let word = word.to_owned();
            // The remaining output is read, so that the process never blocks on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return word;
        }
    }
}

#[tokio::test]
async fn a_device_trusts_the_lan_certificate_and_enrols() {
    let folder = temp_folder();
    let folder = folder.path();
    let port = free_port();
    let port = port.to_string();
    let trial = ["127.0.0.1", "trial", "--port", &port];
    let (created, origin) = lan(folder, "certify", &trial).await;
    assert!(created, "{origin}");
    let origin = origin.trim();
    assert_eq!(origin, format!("https://127.0.0.1:{port}"));
    let (ready, _) = lan(folder, "ready", &trial).await;
    assert!(!ready, "nothing listens yet");

    let settings = format!(
        "base_url = \"{origin}\"\n[http]\nlisten = \"127.0.0.1:{port}\"\n\
         [http.tls]\ncertificate_file = \"trial/certificate.pem\"\nkey_file = \"trial/certificate.key\"\n\
         [bootstrap]\nadministrator = \"admin\"\n"
    );
    write_file(folder.join("assent.toml"), settings);
    let mut serve = Command::new(binary("assent"));
    serve
        .args(["serve", "--config", "assent.toml"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut serve = serve.start();
    printed(&mut serve, "https://").await;
    let mut enrolment = Command::new(binary("assent"));
    enrolment
        .args(["admin", "enrolment", "admin", "--config", "assent.toml"])
        .current_dir(folder);
    let link = String::from_utf8(enrolment.finish().await.stdout).expect("a link");
    let link = link.trim();
    assert!(
        link.starts_with(origin) && link.contains("#enrol="),
        "{link}"
    );
    let (ready, message) = lan(folder, "ready", &trial).await;
    assert!(ready, "{message}");

    let mut explain = Command::new(binary("assent-lan"));
    explain
        .arg("explain")
        .args(trial)
        .args(["--page-port", "0"])
        .current_dir(folder);
    let mut explain = explain.stdout(Stdio::piped()).kill_on_drop(true).start();
    let page = printed(&mut explain, "http://").await;
    javascript::run(
        "lan.mjs",
        &[("PAGE_URL", &page), ("ORIGIN", origin), ("ENROL_URL", link)],
    )
    .await;
}

#[tokio::test]
async fn the_lan_address_is_found_or_named() {
    let folder = temp_folder();
    let (found, address) = lan(folder.path(), "address", &["1"]).await;
    if found {
        let address: std::net::IpAddr = address.trim().parsed();
        assert!(!address.is_loopback(), "{address}");
    } else {
        assert!(
            address.contains("make run LAN=192.168.1.5"),
            "the error names the remedy: {address}"
        );
    }
    assert_eq!(
        lan(folder.path(), "address", &["laptop.local"]).await,
        (true, "laptop.local\n".to_owned())
    );
    let (found, message) = lan(folder.path(), "address", &["../etc"]).await;
    assert!(
        !found && message.contains("LAN=1 finds the address"),
        "{message}"
    );
}
