//! PostgreSQL's own programs for dumps and restores.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, bail, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use assent_store::PostgresSnapshot;

/// The size of the pieces in which a dump is written, in bytes.
const PIECE: usize = 256 * 1024;

/// Writes a dump of the snapshot into a file.
pub(super) async fn dump(snapshot: &PostgresSnapshot, into: &Path) -> anyhow::Result<()> {
    require("pg_dump", snapshot.server_version).await?;
    let mut command = command("pg_dump", &snapshot.variables);
    command
        .args([
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            "--no-password",
        ])
        .arg(format!("--snapshot={}", snapshot.name))
        .arg("--file")
        .arg(into);
    let output = command.output().await.context("pg_dump")?;
    check_success("pg_dump", &output)
}

/// Fails if `pg_restore` is missing, or older than the server.
pub(in crate::cli) async fn require_restore(server_version: i64) -> anyhow::Result<()> {
    require("pg_restore", server_version).await
}

/// Restores a dump into the database of these variables: all of it or nothing.
pub(in crate::cli) async fn restore(
    variables: &[(&'static str, OsString)],
    mut dump: impl Read,
) -> anyhow::Result<()> {
    let mut command = command("pg_restore", variables);
    command
        .args([
            "--exit-on-error",
            "--single-transaction",
            "--no-owner",
            "--no-privileges",
        ])
        .args(["--no-password", "--dbname", &connection_string(variables)?])
        .stdin(Stdio::piped());
    let mut child = command.spawn().context("pg_restore")?;
    let mut input = child.stdin.take().context("pg_restore has no input")?;
    let pass_on = async move {
        let mut piece = vec![0; PIECE];
        loop {
            let length = dump.read(&mut piece)?;
            let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else {
                break;
            };
            input.write_all(read).await?;
        }
        input.shutdown().await
    };
    let (passed, output) = tokio::join!(pass_on, child.wait_with_output());
    // If the program ended early, its own message contains the reason.
    check_success("pg_restore", &output.context("pg_restore")?)?;
    Ok(passed?)
}

/// Returns a connection string. Without `--dbname` the program would print statements. The name is not secret; the
/// other values come from the environment.
fn connection_string(variables: &[(&'static str, OsString)]) -> anyhow::Result<String> {
    let value = |variable: &str| {
        let found = variables.iter().find(|(name, _)| *name == variable);
        found.and_then(|(_, value)| value.to_str())
    };
    let name = value("PGDATABASE")
        .or_else(|| value("PGUSER"))
        .context("database.url names no database")?;
    let quoted = name.replace('\\', r"\\").replace('\'', r"\'");
    Ok(format!("dbname='{quoted}'"))
}

/// Returns a program that connects with these variables and no others.
fn command(program: &str, variables: &[(&'static str, OsString)]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Fails if a program is missing, or its major version is less than the server's: it could not handle all features of
/// the server.
async fn require(program: &str, server_version: i64) -> anyhow::Result<()> {
    let mut version_command = command(program, &[]);
    version_command.arg("--version").stdout(Stdio::piped());
    let output = match version_command.output().await {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "{program} is not installed. Install PostgreSQL's client programs, version {server_version} or newer \
             (Debian and Ubuntu: apt install postgresql-client)"
        ),
        other => other.with_context(|| program.to_owned())?,
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = major_version(&text).with_context(|| {
        format!(
            "{program} --version does not name a version: {}",
            text.trim()
        )
    })?;
    ensure!(
        version >= server_version,
        "{program} has version {version}, and the server version {server_version}. Install the client programs of \
         PostgreSQL {server_version} or newer (Debian and Ubuntu: apt install postgresql-client-{server_version})"
    );
    Ok(())
}

/// Returns the major version in a text such as `pg_dump (PostgreSQL) 17.5 (Debian 17.5-1)`.
fn major_version(text: &str) -> Option<i64> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    let end = version.find(|c: char| !c.is_ascii_digit());
    version.get(..end.unwrap_or(version.len()))?.parse().ok()
}

fn check_success(program: &str, output: &Output) -> anyhow::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    bail!(
        "{program} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read() {
        for (text, version) in [
            ("pg_dump (PostgreSQL) 17.5 (Debian 17.5-1)\n", Some(17)),
            ("pg_dump (PostgreSQL) 18beta1", Some(18)),
            ("pg_restore (PostgreSQL) 15", Some(15)),
            ("pg_dump 17", None),
            ("", None),
        ] {
            assert_eq!(major_version(text), version, "{text}");
        }
    }

    #[test]
    fn a_database_name_is_quoted() {
        let variables = |name: &str| vec![("PGUSER", "u".into()), ("PGDATABASE", name.into())];
        let text = connection_string(&variables(r"it's \a")).unwrap();
        assert_eq!(text, r"dbname='it\'s \\a'");
        let user = connection_string(&[("PGUSER", "u".into())]).unwrap();
        assert_eq!(user, "dbname='u'");
    }
}
