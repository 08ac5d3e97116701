//! Terminals, certificates and manuals.

use super::*;
use crate::harness::{Run, Text, parse_json, read_file, temp_folder, write_file};
use assent_store::sql;

#[tokio::test]
async fn names_cannot_inject_terminal_escapes() {
    let host = TestHost::start().await;
    let name = "\u{1b}]0;owned\u{7}Exp\u{9b}31m\u{202e}es\nroot  owner";
    let body = json!({"name": "x", "application_type": "spa", "redirect_uris": ["https://spa.example/cb"]});
    let created = host.admin_ok(Method::POST, "/applications", body).await;
    // The test writes the name directly to the database, past any validation of the API.
    let mut database = host.connection().await;
    let stored = sql::query("UPDATE applications SET name = $1")
        .bind(name)
        .execute(&mut database)
        .await
        .expect("stored");
    assert_eq!(stored, 1);
    let is_harmless = |text: &str| {
        let steers = |c: char| c == '\u{1b}' || c == '\u{7}' || c == '\u{9b}' || c == '\u{202e}';
        assert!(!text.contains(steers), "{text:?}");
    };
    let show = format!("applications show {}", id(&created));
    for words in [
        "applications list",
        "applications list --json",
        "applications list --all --json",
        &show,
    ] {
        let (code, shown) = at_terminal(&host, words, "").await;
        assert!(code == 0 && shown.contains("]0;"), "{words}: {shown:?}");
        is_harmless(&shown);
    }
    let table = output_of(&host, &["applications", "list"]).await;
    is_harmless(&table);
    assert_eq!(table.lines().count(), 2, "no name adds a row: {table}");
    let list = json_of(&host, &["applications", "list"]).await;
    assert_eq!(
        list["items"][0]["name"], name,
        "scripts receive the unchanged value"
    );
    let (_, table) = at_terminal(&host, "applications list", "").await;
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
}

#[tokio::test]
async fn an_instance_with_a_private_ca_is_trusted_by_its_certificate() {
    let folder = temp_folder();
    let (settings, _) = https_settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let (code, message) = failed(&host, &["users", "list"]).await;
    assert!(code == 5 && message.contains("certificate"), "{message}");
    let ca = folder.path().join("certificate.pem");
    output_of(&host, &["users", "list", "--ca", ca.text()]).await;
}

#[tokio::test]
async fn local_commands_need_only_the_settings_file() {
    let mut host = TestHost::start().await;
    let port = url::Url::parse(&host.base)
        .expect("an address")
        .port()
        .expect("a port");
    let settings = format!("assent-{port}.toml");
    let here = |arguments: &[&str]| {
        let mut command = command(&host, arguments);
        command
            .args(["--config", &settings])
            .env("ASSENT__HTTP__LISTEN", format!("127.0.0.1:{port}"));
        command
            .env_remove("ASSENT_SERVER")
            .env_remove("ASSENT_ADMIN_TOKEN");
        command
    };
    let me = ended(here(&["me", "show", "--json"])).await;
    let returned: Value = parse_json(out(&me));
    assert_eq!(returned["kind"], "admin_token", "{}", err(&me));
    let nowhere = here(&["me", "show"]);
    let mut elsewhere = command(&host, &["me", "show"]);
    let elsewhere = ended_with_code(elsewhere.env_remove("ASSENT_SERVER")).await;
    assert!(
        elsewhere.0 == 2
            && elsewhere
                .1
                .contains("there are no settings at config/assent.toml"),
        "{elsewhere:?}"
    );
    host.stop().await;
    let nowhere = ended(nowhere).await;
    assert_eq!(nowhere.status.code(), Some(5), "{nowhere:?}");
    assert!(
        err(&nowhere).contains(&format!("no server answers at http://127.0.0.1:{port}")),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn completions_and_manuals_list_every_command() {
    let folder = temp_folder();
    let assent = async |arguments: &[&str]| crate::commands::assent(folder.path(), arguments).await;
    for shell in ["bash", "zsh", "fish"] {
        let script = assent(&["completions", shell]).await;
        assert!(
            out(&script).contains("enrol") && out(&script).contains("redirect-uri"),
            "{shell}: {}",
            err(&script)
        );
        if shell == "bash" {
            let file = folder.path().join("completions");
            write_file(&file, &script.stdout);
            let checked = Command::new("bash").arg("-n").arg(&file).finish().await;
            assert!(checked.status.success(), "{}", err(&checked));
        }
    }
    let page = out(&assent(&["man"]).await);
    assert!(
        page.contains(".TH assent 1") && page.contains("applications"),
        "{page}"
    );
    let written = assent(&["man", "--out", "."]).await;
    assert_eq!(written.status.code(), Some(0), "{}", err(&written));
    let page = read_file(folder.path().join("assent-users-create.1"));
    assert!(
        page.contains("The user name. Required for a new user"),
        "{page}"
    );
}
