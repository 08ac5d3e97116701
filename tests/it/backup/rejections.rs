//! Invalid restores are rejected with a clear error, and change nothing.

use std::path::Path;

use assent_test_macros::both_databases;

use super::{Restored, back_up, command, export, files, query_value, run_err, run_ok};
use crate::harness::{Database, Run, TestHost, Text, connect, read_bytes, read_file, write_file};

const ACCEPT: &str = "--accept-lost-revocations";

/// Returns the path of a copy of the backup in which `to` replaces the bytes `from`.
fn changed(backup: &Path, from: &[u8], to: &[u8]) -> String {
    let mut bytes = read_bytes(backup);
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .expect("the bytes");
    bytes[at..at + to.len()].copy_from_slice(to);
    let file = backup.with_extension("changed");
    write_file(&file, bytes);
    file.text().to_owned()
}

#[both_databases]
async fn a_changed_backup_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(database).await;
    let reject =
        async |file: &str| run_err(&host, restored.url(), &["restore", file, ACCEPT]).await;

    let mut bytes = read_bytes(&backup);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = host.folder().join("damaged");
    write_file(&damaged, &bytes);
    let message = reject(damaged.text()).await;
    assert!(message.contains("the dump is damaged"), "{message}");

    let truncated = host.folder().join("truncated");
    write_file(&truncated, &bytes[..middle]);
    let message = reject(truncated.text()).await;
    assert!(message.contains("the dump is damaged"), "{message}");

    let other_time = changed(&backup, b"\"created_at\": \"2", b"\"created_at\": \"3");
    let message = reject(&other_time).await;
    assert!(message.contains("the header was changed"), "{message}");

    let newer = changed(&backup, b"\"format\": 1", b"\"format\": 2");
    let message = reject(&newer).await;
    assert!(message.contains("the backup has format 2"), "{message}");

    let settings = host.folder().join("commands.toml");
    let message = reject(settings.text()).await;
    assert!(
        message.contains("this is not a backup of Assent"),
        "{message}"
    );
    assert!(restored.is_untouched().await);
}

#[both_databases]
async fn another_master_key_is_rejected_before_anything_else(database: Database) {
    let host = TestHost::start_on(database).await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(database).await;
    let mut with_other_key = command(&host, restored.url(), &["restore", backup.text()]);
    let other = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    with_other_key.env("ASSENT__KEYS__MASTER_KEY", other);
    let output = with_other_key.finish().await;
    let message = super::err(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("another master key"), "{message}");
    assert!(restored.is_untouched().await);

    let file = host.folder().join("other.backup");
    let mut wrong = command(&host, host.database_url(), &["backup", file.text()]);
    wrong.env("ASSENT__KEYS__MASTER_KEY", other);
    let output = wrong.finish().await;
    let message = super::err(&output);
    assert!(
        message.contains("not the one of this database") && !file.exists(),
        "{message}"
    );
}

#[both_databases]
async fn a_database_that_is_not_empty_is_rejected(database: Database) {
    let mut host = TestHost::start_on(database).await;
    host.user("ada").await;
    let backup = back_up(&host).await;
    let again = run_err(&host, host.database_url(), &["backup", backup.text()]).await;
    assert!(again.contains("exists; name another file"), "{again}");
    let arguments = ["restore", backup.text(), ACCEPT];
    let url = host.database_url().to_owned();
    let message = run_err(&host, &url, &arguments).await;
    assert!(
        message.contains("a restore does not replace a database"),
        "{message}"
    );
    host.stop().await;
    let message = run_err(&host, &url, &arguments).await;
    assert!(
        message.contains("a restore does not replace a database"),
        "{message}"
    );
    let mut connection = connect(&url).await;
    let users: i64 = query_value(&mut connection, "SELECT COUNT(*) FROM users").await;
    assert_eq!(users, 1);
    connection.close().await;
}

#[tokio::test]
async fn a_log_of_an_earlier_database_is_rejected() {
    let host = TestHost::start().await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(Database::Sqlite).await;
    write_file(restored.folder.path().join("assent.db-wal"), "");
    let arguments = ["restore", backup.text(), ACCEPT];
    let message = run_err(&host, restored.url(), &arguments).await;
    assert!(message.contains("assent.db-wal exists"), "{message}");
    assert_eq!(files(restored.folder.path()).len(), 1);
}

#[tokio::test]
async fn a_backup_of_the_other_database_is_rejected() {
    let host = TestHost::start().await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(Database::Postgres).await;
    let arguments = ["restore", backup.text(), ACCEPT];
    let message = run_err(&host, restored.url(), &arguments).await;
    assert!(
        message
            .contains("the backup is of SQLite, and database.url names a database of PostgreSQL"),
        "{message}"
    );
    assert!(restored.is_untouched().await);
}

/// An instance that connects to the new database would accept credentials that the restore is about to end.
#[tokio::test]
async fn a_database_that_an_instance_uses_is_rejected() {
    let host = TestHost::start_on(Database::Postgres).await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(Database::Postgres).await;
    let instance = connect(restored.url()).await;
    let arguments = ["restore", backup.text(), ACCEPT];
    let message = run_err(&host, restored.url(), &arguments).await;
    assert!(message.contains("Stop all instances"), "{message}");
    instance.close().await;
    assert!(restored.is_untouched().await);
}

#[both_databases]
async fn no_instance_opens_an_unfinished_restore(database: Database) {
    let host = TestHost::start_on(database).await;
    let mut connection = host.connection().await;
    connection
        .batch("CREATE TABLE unfinished_restore (started_at BIGINT NOT NULL PRIMARY KEY)")
        .await
        .expect("created");
    connection.close().await;
    for arguments in [
        &["serve"][..],
        &["migrate"],
        &["admin", "token"],
        &["backup", "x.backup"],
        &["doctor"],
    ] {
        let output = command(&host, host.database_url(), arguments)
            .finish()
            .await;
        let printed = format!(
            "{}{}",
            super::err(&output),
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            printed.contains("a restore into it is not finished"),
            "{arguments:?}: {printed}"
        );
    }
}

#[both_databases]
async fn an_export_that_does_not_continue_the_log_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    let before = read_file(export(&host).await);
    host.user("grace").await;
    let backup = back_up(&host).await;
    host.user("linus").await;
    host.user("margaret").await;
    let after = read_file(export(&host).await);
    let restored = Restored::empty(database).await;
    let file = host.folder().join("export.jsonl");
    let reject = async |lines: &str| {
        write_file(&file, lines);
        let arguments = ["restore", backup.text(), "--audit-export", file.text()];
        run_err(&host, restored.url(), &arguments).await
    };
    let message = reject(&before).await;
    assert!(message.contains("older than the backup"), "{message}");
    let last: String = after.lines().next_back().expect("a line").to_owned();
    let message = reject(&format!("{last}\n")).await;
    assert!(
        message.contains("Entries between the two are missing") && message.contains("--after 1:"),
        "{message}"
    );
    let message = reject(&after.replace("user.created", "user.updated")).await;
    assert!(message.contains("the hash chain is broken"), "{message}");
    let message = reject("").await;
    assert!(message.contains("no entries"), "{message}");

    let other = TestHost::start_on(database).await;
    for name in ["a", "b", "c", "d"] {
        other.user(name).await;
    }
    let foreign = read_file(export(&other).await);
    let message = reject(&foreign).await;
    assert!(message.contains("of another database"), "{message}");
    assert!(restored.is_untouched().await);

    // The export may begin at the end of the backup.
    let mut lines: Vec<&str> = after.lines().collect();
    let rest = lines.split_off(before.lines().count() + 1);
    write_file(&file, rest.join("\n") + "\n");
    let arguments = ["restore", backup.text(), "--audit-export", file.text()];
    let printed = run_ok(&host, restored.url(), &arguments).await;
    assert!(
        printed.contains("The export has 2 entries after the backup"),
        "{printed}"
    );
}
