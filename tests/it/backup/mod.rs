//! `assent backup` and `assent restore` with the real binary.

mod drill;
mod migrations;
mod programs;
mod receipts;
mod rejections;
mod rules;

use std::path::{Path, PathBuf};
use std::process::Output;

use assent_store::sql::{self, Connection, FromValue};
use tokio::process::Command;

use crate::harness::{
    Database, DatabaseUrl, Run, TestHost, Text, binary, connect, temp_folder, write_file,
};

/// The folder of a restore, with its database.
struct Restored {
    folder: tempfile::TempDir,
    database: DatabaseUrl,
}

impl Restored {
    /// Returns an empty database that a restore may use.
    async fn empty(database: Database) -> Self {
        let folder = temp_folder();
        let database = database.create(folder.path()).await;
        Self { folder, database }
    }

    fn url(&self) -> &str {
        self.database.url()
    }

    /// Returns whether the restore wrote nothing.
    async fn is_untouched(&self) -> bool {
        match self.url().starts_with("sqlite:") {
            true => files(self.folder.path()).is_empty(),
            false => {
                let mut connection = connect(self.url()).await;
                let tables: i64 = query_value(
                    &mut connection,
                    "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'",
                )
                .await;
                connection.close().await;
                tables == 0
            }
        }
    }
}

/// Returns the paths of the files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("a file").path()).collect()
}

/// Returns the single value of a statement.
async fn query_value<T>(connection: &mut Connection, statement: &'static str) -> T
where
    T: FromValue,
{
    let (value,): (T,) = sql::query_as(statement)
        .fetch_one(connection)
        .await
        .expect("a value");
    value
}

/// Returns a command with settings that name this database and the master key of this instance.
fn command(host: &TestHost, url: &str, arguments: &[&str]) -> Command {
    let settings = host.folder().join("commands.toml");
    let text = format!(
        "base_url = \"http://localhost:1\"\n[http]\nlisten = \"127.0.0.1:0\"\n[database]\nurl = \"{url}\"\n\
         [keys]\nmaster_key_file = \"{}\"\n",
        host.host.settings.keys.master_key_file.display()
    );
    write_file(&settings, text);
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .arg("--config")
        .arg(settings)
        .current_dir(host.folder())
        .kill_on_drop(true);
    command
}

async fn run(host: &TestHost, url: &str, arguments: &[&str]) -> Output {
    command(host, url, arguments).finish().await
}

/// Runs a command that must succeed. Returns its output.
async fn run_ok(host: &TestHost, url: &str, arguments: &[&str]) -> String {
    let output = run(host, url, arguments).await;
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command that must fail. Returns its message.
async fn run_err(host: &TestHost, url: &str, arguments: &[&str]) -> String {
    let output = run(host, url, arguments).await;
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    err(&output)
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Creates a backup of this instance while it serves.
async fn back_up(host: &TestHost) -> PathBuf {
    let file = host.folder().join("assent.backup");
    run_ok(host, host.database_url(), &["backup", file.text()]).await;
    file
}

/// Creates an export of this instance's audit log.
async fn export(host: &TestHost) -> PathBuf {
    let exported = run_ok(host, host.database_url(), &["audit", "export"]).await;
    let file = host.folder().join("export.jsonl");
    write_file(&file, exported);
    file
}
