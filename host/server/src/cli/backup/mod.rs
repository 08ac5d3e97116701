//! `assent backup`

pub(super) mod archive;
pub(super) mod header;
pub(super) mod postgres;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use crate::app::master_keys::existing_master_keys;
use crate::cli::backup::archive::{folder_of, new_file};
use crate::cli::backup::header::{BackupHeader, DumpKind, FORMAT, WrappedRoot};
use crate::cli::config_file::{ConfigFile, check_user, settings};
use crate::domain::audit::moment_text;
use assent_admin_client::terminal;
use assent_model::clock::{Clock, SystemClock};
use assent_model::entropy::SystemEntropy;
use assent_store::{BackupContent, PostgresSnapshot, copy_sqlite};

/// Write a backup of the database to a file, while the instances serve.
///
/// The backup has the state of one moment. It contains personal data, so only its owner may read the file. It does not
/// contain the master key: save that elsewhere. Without it the backup cannot be used. `assent restore --check FILE`
/// verifies a backup. For a moment the folder needs room for twice the size of the dump. PostgreSQL is dumped by
/// `pg_dump`, whose major version must be at least that of the server.
#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The file to create. An existing file is not replaced.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Backup) -> anyhow::Result<()> {
    let settings = settings(arguments.config.path())?;
    let (url, file) = (&settings.database.url, &arguments.file);
    check_user(url)?;
    ensure!(
        file.symlink_metadata().is_err(),
        "{} exists; name another file",
        file.display()
    );
    let masters = existing_master_keys(&settings.keys, &SystemEntropy)?;
    let created_at = moment_text(SystemClock.now());
    let database = DumpKind::of(url);
    let mut dump = new_file(folder_of(file))?;
    let content = match database {
        DumpKind::Sqlite => copy_sqlite(url, dump.path()).await?,
        DumpKind::PostgreSql => dump_postgres(url, dump.path()).await?,
    };
    ensure!(
        !content.wrapped_keys.is_empty(),
        "no instance has used the database; start one first"
    );
    let root = masters
        .unwrap(&content.wrapped_keys, &SystemEntropy)
        .context("the master key in the settings is not the one of this database")?
        .root;
    let header = BackupHeader {
        format: FORMAT,
        assent: env!("CARGO_PKG_VERSION").to_owned(),
        created_at,
        database,
        schema_version: content.schema_version,
        root_secret: WrappedRoot::among(&content.wrapped_keys),
        audit_heads: content.heads.to_text(),
        dump: archive::digest(dump.as_file_mut())?,
    };
    archive::write(file, &header, &root, dump.as_file_mut())?;
    terminal::report_line(format_args!(
        "Wrote {} ({} bytes of {database}).",
        file.display(),
        header.dump.size
    ));
    for root in &header.root_secret {
        terminal::report_line(format_args!(
            "Fingerprint of the master key: {}",
            root.master_key
        ));
    }
    terminal::note(
        "The master key is not in the backup. Keep a copy of it elsewhere: without it, the backup cannot be used.",
    );
    Ok(())
}

async fn dump_postgres(url: &str, into: &Path) -> anyhow::Result<BackupContent> {
    let snapshot = PostgresSnapshot::take(url).await?;
    let dumped = postgres::dump(&snapshot, into).await;
    let content = snapshot.content.clone();
    snapshot.end().await;
    dumped.map(|()| content)
}
