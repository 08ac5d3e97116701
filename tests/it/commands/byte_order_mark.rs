//! Files and bodies with a byte order mark, as editors and shells of Windows write them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;

use super::{assent, assent_with, err, out};
use crate::harness::{
    Database, ServerProcess, Text, http_client, read_file, temp_folder, write_file,
};

const MARK: &str = "\u{feff}";

#[tokio::test]
async fn each_text_may_begin_with_a_byte_order_mark() {
    let folder = temp_folder();
    let path = folder.path();
    let database = Database::Sqlite.create(path).await;
    write_file(path.join("url"), format!("{MARK}{}\r\n", database.url()));
    let key = path.join("master.key");
    let key_text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    write_file(&key, format!("{MARK}{key_text}\r\n"));
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("permissions");
    let settings = "[database]\nurl_file = \"url\"\n[keys]\nmaster_key_file = \"master.key\"\n";
    let server = ServerProcess::start(path, "", settings, Stdio::null()).await;
    let file = path.join("assent.toml");
    write_file(&file, format!("{MARK}{}", read_file(&file)));
    let run = async |arguments: &[&str]| {
        let variables = [("ASSENT_CONFIG", "assent.toml")];
        let output = assent_with(path, arguments, &variables).await;
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        out(&output)
    };
    let config = ["--config", "assent.toml"];
    run(&[&["config", "check"][..], &config].concat()).await;
    let token = run(&[&["admin", "token"][..], &config].concat()).await;

    let manifest = r#"{"owner": "team", "groups": [{"key": "readers", "name": "Readers"}]}"#;
    write_file(path.join("team.json"), format!("{MARK}{manifest}"));
    let manifest = "owner = \"others\"\n[[groups]]\nkey = \"writers\"\nname = \"Writers\"\n";
    write_file(path.join("others.toml"), format!("{MARK}{manifest}"));
    for file in ["team.json", "others.toml"] {
        run(&["apply", "--file", file, "--yes"]).await;
    }
    write_file(
        path.join("ada.json"),
        format!("{MARK}{{\"name\": \"ada\"}}"),
    );
    run(&["users", "create", "--file", "ada.json"]).await;
    write_file(path.join("users.csv"), format!("{MARK}name\ngrace\n"));
    run(&["users", "import", "--file", "users.csv"]).await;
    write_file(path.join("token"), format!("{MARK}{token}"));
    let shown = run(&[
        "users",
        "list",
        "--quiet",
        "--token-file",
        "token",
        "--server",
        &server.base,
    ])
    .await;
    assert_eq!(shown.lines().count(), 2, "{shown}");

    let answer = http_client()
        .post(format!("{}/admin/api/v1/groups", server.base))
        .bearer_auth(token.trim())
        .header(CONTENT_TYPE, "application/json")
        .body(format!("{MARK}{{\"name\": \"Editors\"}}"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn an_error_names_utf_16() {
    let folder = temp_folder();
    let path = folder.path();
    let text = "base_url = \"http://localhost:1\"\n";
    let bytes: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let file = path.join("assent.toml");
    std::fs::write(&file, bytes).expect("written");
    let output = assent(path, &["config", "check", "--config", file.text()]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("UTF-16; save it as UTF-8"),
        "{}",
        err(&output)
    );
}
