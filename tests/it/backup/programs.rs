//! PostgreSQL's own programs are missing, too old, or fail.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Restored, back_up, command, err};
use crate::harness::{Database, Run, TestHost, Text, temp_folder, write_file};

const ACCEPT: &str = "--accept-lost-revocations";

/// Creates programs that print this version, and otherwise fail.
fn programs(folder: &Path, version: &str) {
    for name in ["pg_dump", "pg_restore"] {
        let file = folder.join(name);
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo '{name} (PostgreSQL) {version}' && exit 0\n\
             echo 'out of paper' >&2\nexit 3\n"
        );
        write_file(&file, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("a mode");
    }
}

/// Checks that a backup and a restore with these programs fail with this message and leave no files behind.
async fn fail_with(path: &Path, expected: &str) {
    let host = TestHost::start_on(Database::Postgres).await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(Database::Postgres).await;
    let folder = temp_folder();
    let file = folder.path().join("assent.backup");
    for (url, arguments) in [
        (host.database_url(), &["backup", file.text()][..]),
        (restored.url(), &["restore", backup.text(), ACCEPT]),
    ] {
        let mut failing = command(&host, url, arguments);
        failing.env("PATH", path);
        let output = failing.finish().await;
        let message = err(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(super::files(folder.path()).len(), 0);
    assert!(restored.is_untouched().await);
}

#[tokio::test]
async fn missing_programs_are_named_with_their_package() {
    let folder = temp_folder();
    fail_with(folder.path(), "apt install postgresql-client)").await;
}

#[tokio::test]
async fn programs_older_than_the_server_are_rejected() {
    let folder = temp_folder();
    programs(folder.path(), "9.6.24");
    fail_with(folder.path(), "has version 9, and the server version").await;
}

#[tokio::test]
async fn a_failing_program_leaves_nothing_behind() {
    let folder = temp_folder();
    programs(folder.path(), "99.1");
    fail_with(folder.path(), "out of paper").await;
}
