//! `assent migrate`, and `assent serve`, which requires its migrations.

use std::path::Path;
use std::process::Output;

use assent_store::MIGRATIONS;
use tokio::process::Command;

use crate::harness::{Run, binary, free_port, read_file, temp_folder, write_file};

async fn assent(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .args(["--config", "assent.toml"])
        .current_dir(folder)
        .kill_on_drop(true);
    command.finish().await
}

fn out(output: &Output) -> (Option<i32>, String) {
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[tokio::test]
async fn migrate_reports_what_is_pending_and_what_it_applied() {
    let folder = temp_folder();
    let folder = folder.path();
    let port = free_port();
    write_file(
        folder.join("assent.toml"),
        format!(
            "base_url = \"http://localhost:{port}\"\n[http]\nlisten = \"127.0.0.1:{port}\"\n\
             [database]\nmigrate = \"manual\"\n"
        ),
    );
    let all = |word| -> String {
        MIGRATIONS
            .iter()
            .map(|migration| format!("{word} {migration}\n"))
            .collect()
    };
    let check = assent(folder, &["migrate", "--check"]).await;
    assert_eq!(out(&check), (Some(6), all("pending")));
    assert!(!folder.join("data").exists(), "a check creates nothing");

    let refused = assent(folder, &["serve"]).await;
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("0001_expand_initial")
            && message.contains("run `assent migrate`, then start again"),
        "{message}"
    );

    let before_start = ["migrate", "--check", "--before-start"];
    let manual = assent(folder, &before_start).await;
    assert_eq!(out(&manual), (Some(6), all("pending")));
    let file = folder.join("assent.toml");
    let settings = read_file(&file);
    write_file(&file, settings.replace("migrate = \"manual\"\n", ""));
    let automatic = assent(folder, &before_start).await;
    assert_eq!(out(&automatic), (Some(0), "up to date\n".to_owned()));
    write_file(&file, settings);

    let migrated = assent(folder, &["migrate"]).await;
    assert_eq!(out(&migrated), (Some(0), all("applied")));
    for arguments in [["migrate"].as_slice(), &["migrate", "--check"]] {
        let again = assent(folder, arguments).await;
        assert_eq!(out(&again), (Some(0), "up to date\n".to_owned()));
    }
    let token = assent(folder, &["admin", "token"]).await;
    assert!(token.status.success(), "{token:?}");
}
