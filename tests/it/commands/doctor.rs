//! `assent doctor` at real installations.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::{assent, err, out, serve, settings, stop};
use crate::harness::tls::{certificate_of, files};
use crate::harness::{
    Body, Database, Respond, TestHost, Text, component, free_port, http_client, parse_json,
    read_file, temp_folder, utf8, write_file,
};

async fn doctor(folder: &Path) -> Output {
    assent(folder, &["doctor", "--config", "assent.toml"]).await
}

/// Returns the findings of a check as "level: text".
fn findings(of: &Output, check: &str) -> Vec<String> {
    let all: Value = parse_json(out(of));
    let all = all.as_array().expect("a list").iter();
    all.filter(|one| one["check"] == check)
        .map(|one| format!("{}: {}", one["level"].text(), one["text"].text()))
        .collect()
}

#[tokio::test]
async fn a_healthy_instance_has_no_problem_and_a_stopped_one_has_advice() {
    let folder = temp_folder();
    let folder = folder.path();
    let base = settings(folder);
    let plugin = folder.join("account-roles.wasm");
    std::fs::copy(component("account-roles"), &plugin).expect("a copy");
    // Every user can write this file, so the doctor recommends a digest.
    std::fs::set_permissions(&plugin, Permissions::from_mode(0o666)).expect("permissions");
    let text = read_file(folder.join("assent.toml"));
    let shipped = component("account-roles").display().to_string();
    write_file(
        folder.join("assent.toml"),
        text.replace(&shipped, plugin.text()),
    );
    let (process, _) = serve(folder).await;
    let healthy = doctor(folder).await;
    let text = out(&healthy);
    assert!(healthy.status.success(), "{text}");
    for line in [
        "ok       settings: assent.toml is valid\n".to_owned(),
        "warning  plugins: the settings have no digest of account-roles\n         Add sha256"
            .to_owned(),
        "ok       database: SQLite ".to_owned(),
        "ok       master key: it can be used\n".to_owned(),
        "ok       disk: data has ".to_owned(),
        format!("ok       base URL: {base} answers with the issuer of this installation\n"),
        "ok       server: it is ready\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line} in {text}");
    }
    stop(process).await;

    let stopped = doctor(folder).await;
    let text = out(&stopped);
    assert_eq!(stopped.status.code(), Some(1));
    let problem = format!("problem  base URL: {base} does not lead to this server: ");
    assert!(
        text.contains(&problem) && text.contains("         Start the server"),
        "{text}"
    );

    let settings = read_file(folder.join("assent.toml"));
    let mail = "[mail]\nserver = \"localhost:1\"\nsecurity = \"none\"\nfrom = \"a@example.org\"\n";
    write_file(folder.join("assent.toml"), format!("{settings}{mail}"));
    std::fs::rename(folder.join("data/master.key"), folder.join("backup")).expect("moved");
    let text = out(&doctor(folder).await);
    assert!(
        text.contains("problem  email: connection failed at localhost:1"),
        "{text}"
    );
    assert!(
        text.contains("warning  master key: data/master.key does not exist\n"),
        "{text}"
    );

    write_file(
        folder.join("assent.toml"),
        format!("{settings}nonsense = 1\n"),
    );
    let text = out(&doctor(folder).await);
    assert!(
        text.starts_with("problem  settings: assent.toml:"),
        "{text}"
    );
    assert_eq!(
        text.lines().count(),
        2,
        "nothing else can be checked: {text}"
    );
}

#[tokio::test]
async fn settings_of_postgresql_that_endanger_data_are_problems() {
    let folder = temp_folder();
    let database = Database::Postgres.create_migrated(folder.path()).await;
    let text = format!(
        "base_url = \"http://localhost:1\"\n[database]\nurl = \"{}\"\n",
        database.url()
    );
    write_file(folder.path().join("assent.toml"), text);
    let found = assent(
        folder.path(),
        &["doctor", "--json", "--config", "assent.toml"],
    )
    .await;
    assert_eq!(found.status.code(), Some(1), "{}", err(&found));
    let of_database = findings(&found, "database");
    let [speed, problems @ ..] = of_database.as_slice() else {
        panic!("{of_database:?}")
    };
    assert!(speed.contains(": PostgreSQL "), "{speed}");
    // The tests' PostgreSQL cluster has `fsync` off, and its only role is a superuser.
    let has = |words: &str| problems.iter().any(|one| one.contains(words));
    assert!(
        has("problem: fsync is off") && has("warning: the server connects as a superuser"),
        "{problems:?}"
    );
    assert!(!has("not encrypted"), "a socket needs no TLS: {problems:?}");
    let clock = findings(&found, "clock");
    assert!(
        clock.iter().all(|one| one.starts_with("ok: ")) && clock.len() == 1,
        "{clock:?}"
    );
    assert_eq!(findings(&found, "migrations"), Vec::<String>::new());
}

#[tokio::test]
async fn the_certificate_of_the_base_url_is_verified() {
    let folder = temp_folder();
    let folder = folder.path();
    let (certificate, key) = certificate_of("server");
    write_file(
        folder.join("ca.pem"),
        utf8(certificate.to_pem().expect("PEM")),
    );
    let port = free_port();
    let text = format!(
        "base_url = \"https://localhost:{port}\"\n[http]\nlisten = \"127.0.0.1:{port}\"\n[http.tls]\n{}",
        files(folder, &certificate, &key)
    );
    write_file(folder.join("assent.toml"), text);
    let (process, _) = serve(folder).await;
    let untrusted = assent(folder, &["doctor", "--json", "--config", "assent.toml"]).await;
    let found = findings(&untrusted, "base URL");
    assert!(
        found[0].starts_with("problem: ") && found[0].contains("certificate"),
        "{found:?}"
    );
    let trusted = [
        "doctor",
        "--json",
        "--ca",
        "ca.pem",
        "--config",
        "assent.toml",
    ];
    let trusted = assent(folder, &trusted).await;
    let found = findings(&trusted, "certificate");
    // The certificate is valid for two days, and a second may have passed.
    let days = ["1", "2"]
        .map(|days| format!("warning: the certificate of localhost is valid for {days} more days"));
    assert!(found.len() == 1 && days.contains(&found[0]), "{found:?}");
    assert_eq!(
        findings(&trusted, "proxy"),
        ["ok: none: clients reach the server directly"]
    );
    stop(process).await;
}

#[tokio::test]
async fn the_connection_endpoint_reports_the_use_of_a_forwarded_address() {
    for (settings, sent, address, forwarded_for) in [
        ("", None, Some("127.0.0.1"), "absent"),
        ("", Some("203.0.113.9"), Some("127.0.0.1"), "ignored"),
        (
            "trusted_proxies = [\"127.0.0.0/8\"]",
            Some("203.0.113.9"),
            Some("203.0.113.9"),
            "used",
        ),
        (
            "trusted_proxies = [\"127.0.0.1\"]",
            Some("203.0.113.9, 127.0.0.1"),
            Some("203.0.113.9"),
            "internal",
        ),
        (
            "trusted_proxies = [\"127.0.0.1\"]",
            Some("nobody"),
            None,
            "unreadable",
        ),
    ] {
        let host = TestHost::start_with_settings(&format!("[http]\n{settings}")).await;
        let mut request = http_client().get(format!("{}/connection", host.base));
        if let Some(sent) = sent {
            request = request.header("x-forwarded-for", sent);
        }
        let response: Value = request.response().await.read_json().await;
        assert_eq!(response["client_address"].as_str(), address, "{sent:?}");
        assert_eq!(response["forwarded_for"], forwarded_for, "{sent:?}");
    }
}
