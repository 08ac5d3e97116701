//! `assent restore`

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Args;
use tempfile::Builder;

use crate::app::chain_context;
use crate::app::master_keys::existing_master_keys;
use crate::cli::backup::archive::{OpenBackup, folder_of, persist_file};
use crate::cli::backup::header::DumpKind;
use crate::cli::backup::postgres;
use crate::cli::config_file::{ConfigFile, check_user, settings};
use crate::config::Settings;
use crate::domain::audit::continuation::{LaterChanges, RepeatedChange, later_changes};
use crate::domain::audit::{moment, moment_text};
use assent_admin_client::terminal::{self, harmless};
use assent_model::clock::{Clock, SystemClock};
use assent_model::entropy::{SharedEntropy, SystemEntropy};
use assent_store::{
    ChainContext, EndedCounts, MIGRATIONS, Migration, PostgresTarget, RestoreOutcome, RestorePlan,
    RestoreTarget, StoreError, UnfinishedRestore,
};

/// The risk of a restore without an export.
const LOST_REVOCATIONS: &str = "the database will not have the changes after the backup: users who were suspended, \
     terminated or erased since can sign in again, and revoked devices can approve again. Name an export of the audit \
     log, or the file of an audit stream, which has these changes: --audit-export FILE. Without one, add \
     --accept-lost-revocations, and repeat these changes by hand";

/// Restore a backup into an empty database.
///
/// Stop all instances first. The command verifies the master key and the backup before it changes anything. It does not
/// replace a database: database.url must name a file that does not exist, or an empty database of PostgreSQL. It ends
/// all single-use and revocable objects: sessions, tokens, approvals, enrolment links, recovery codes, consents and
/// tokens of the admin API. So every user signs in again.
///
/// With an export of the audit log that was made after the backup, it applies again the suspensions, terminations,
/// erasures, deletions and device revocations since the backup. It reports other changes that removed permissions.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An export of the audit log (`assent audit export`), or the file of an audit stream, from after the backup.
    #[arg(long, value_name = "FILE")]
    audit_export: Option<PathBuf>,
    /// Accept that suspensions, terminations, erasures and device revocations since the backup are lost.
    #[arg(long, conflicts_with = "audit_export")]
    accept_lost_revocations: bool,
    /// Verify the backup, the master key and the export, and change nothing.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Restore) -> anyhow::Result<()> {
    let settings = settings(arguments.config.path())?;
    let masters = existing_master_keys(&settings.keys, &SystemEntropy)?;
    let mut backup = OpenBackup::open(&arguments.file, &masters)?;
    check_schema(&backup)?;
    let export = arguments.audit_export.as_deref();
    ensure!(
        export.is_some() || arguments.accept_lost_revocations || arguments.check,
        LOST_REVOCATIONS
    );
    backup
        .copy_dump(std::io::sink())
        .with_context(|| arguments.file.display().to_string())?;
    let later = export
        .map(|export| read_export(export, &backup))
        .transpose()?;
    if arguments.check {
        print_check(&backup, later.as_ref());
        return Ok(());
    }
    let entropy: SharedEntropy = Arc::new(SystemEntropy);
    let plan = RestorePlan {
        backup_at: moment(&backup.header.created_at)
            .context("the header has no time of the backup")?,
        now: SystemClock.now(),
        revocations: later.as_ref().map(|later| later.revocations.clone()),
        entropy: Arc::clone(&entropy),
    };
    let chaining = chain_context(&backup.root, &entropy)?;
    let outcome = restore(&settings, &mut backup, &chaining, &plan).await?;
    print_outcome(&settings, &backup, later.as_ref(), &outcome);
    Ok(())
}

fn check_schema(backup: &OpenBackup) -> anyhow::Result<()> {
    let header = &backup.header;
    let known = MIGRATIONS.iter().map(Migration::version).max();
    ensure!(
        Some(header.schema_version) <= known,
        "the backup was made by release {}, whose schema is newer than that of this release ({}); restore it with that \
         release, or a newer one",
        header.assent,
        env!("CARGO_PKG_VERSION")
    );
    Ok(())
}

fn read_export(export: &Path, backup: &OpenBackup) -> anyhow::Result<LaterChanges> {
    let heads = backup
        .header
        .heads()
        .context("the header has no heads of the audit log")?;
    let opened = File::open(export).with_context(|| export.display().to_string())?;
    later_changes(BufReader::new(opened), &heads).with_context(|| export.display().to_string())
}

async fn restore(
    settings: &Settings,
    backup: &mut OpenBackup,
    chaining: &ChainContext,
    plan: &RestorePlan,
) -> anyhow::Result<RestoreOutcome> {
    let url = &settings.database.url;
    let (from, to) = (backup.header.database, DumpKind::of(url));
    ensure!(
        from == to,
        "the backup is of {from}, and database.url names a database of {to}"
    );
    check_user(url)?;
    match RestoreTarget::empty(url).await? {
        RestoreTarget::Sqlite(file) => restore_sqlite(url, &file, backup, chaining, plan).await,
        RestoreTarget::Postgres(target) => {
            restore_postgres(url, target, backup, chaining, plan).await
        }
    }
}

/// Restores a SQLite database. The file gets its name when everything is complete, so that an interruption leaves no
/// file that an instance could open.
async fn restore_sqlite(
    url: &str,
    file: &Path,
    backup: &mut OpenBackup,
    chaining: &ChainContext,
    plan: &RestorePlan,
) -> anyhow::Result<RestoreOutcome> {
    let folder = folder_of(file);
    let restored = Builder::new()
        .prefix(".assent-restore-")
        .tempfile_in(folder)
        .with_context(|| folder.display().to_string())?;
    backup.copy_dump(restored.as_file())?;
    let unfinished = UnfinishedRestore::open_file(restored.path(), MIGRATIONS).await?;
    let outcome = unfinished.finish(chaining, plan).await?;
    // An instance may have started in the meantime.
    RestoreTarget::empty(url).await?;
    persist_file(restored, file)?;
    Ok(outcome)
}

async fn restore_postgres(
    url: &str,
    mut target: PostgresTarget,
    backup: &mut OpenBackup,
    chaining: &ChainContext,
    plan: &RestorePlan,
) -> anyhow::Result<RestoreOutcome> {
    postgres::require_restore(target.server_version).await?;
    // The command verifies a private copy while it reads the dump, because `pg_restore` executes the statements of a
    // dump.
    let dump = tempfile::tempfile()?;
    backup.copy_dump(&dump)?;
    (&dump).seek(SeekFrom::Start(0))?;
    target.mark().await?;
    if let Err(error) = postgres::restore(&target.variables, &dump).await {
        // `pg_restore` has rolled back its own transaction.
        return Err(match target.give_up().await {
            Ok(()) => error,
            Err(mark) => error.context(format!("the database stays marked, drop it: {mark}")),
        });
    }
    target.close().await;
    let finished = async {
        UnfinishedRestore::open(url, MIGRATIONS)
            .await?
            .finish(chaining, plan)
            .await
    };
    let finished: Result<_, StoreError> = finished.await;
    finished.context(
        "the backup was copied into the database, and then the restore failed. No instance can open the database. Drop \
         it, create an empty one, and restore again",
    )
}

fn print_check(backup: &OpenBackup, later: Option<&LaterChanges>) {
    terminal::report_line(format_args!(
        "The backup can be restored: {}.",
        backup_text(backup)
    ));
    if let Some(later) = later {
        print_later(later);
        terminal::report_line(format_args!(
            "The restore applies {} changes again.",
            later.revocations.len()
        ));
    }
}

fn backup_text(backup: &OpenBackup) -> String {
    let header = &backup.header;
    format!(
        "{}, {} bytes of {}, release {}",
        header.created_at, header.dump.size, header.database, header.assent
    )
}

fn print_later(later: &LaterChanges) {
    match later.last {
        Some(last) => terminal::report_line(format_args!(
            "The export has {} entries after the backup, the last of {}. Later changes are lost.",
            later.entries,
            moment_text(last)
        )),
        None => terminal::report_line(
            "The export has no entries after the backup. Later changes are lost.",
        ),
    }
    if !later.to_repeat.is_empty() {
        terminal::report_line(format_args!(
            "Changes that may have taken rights away: {}. Check each, and repeat it by hand:",
            later.to_repeat.len()
        ));
        for change in &later.to_repeat {
            terminal::report_line(format_args!("  {}", change_line(change)));
        }
    }
}

/// The maximum length of a change's details in the output, in characters. The entry in the export contains all.
const LONGEST_DETAIL: usize = 400;

/// Returns a change in one line.
fn change_line(change: &RepeatedChange) -> String {
    let mut line = format!("{} {}", moment_text(change.at), change.event.as_str());
    for (name, id) in [("user", &change.user), ("application", &change.application)] {
        if let Some(id) = id {
            line.push_str(&format!(" {name} {}", harmless(id)));
        }
    }
    let detail: String = change.detail.chars().take(LONGEST_DETAIL).collect();
    line.push_str(&format!(
        " {} (entry {})",
        harmless(&detail),
        harmless(&change.entry)
    ));
    line
}

fn print_outcome(
    settings: &Settings,
    backup: &OpenBackup,
    later: Option<&LaterChanges>,
    outcome: &RestoreOutcome,
) {
    terminal::report_line(format_args!(
        "Restored the backup: {}.",
        backup_text(backup)
    ));
    let EndedCounts {
        sessions,
        token_families,
        approvals,
        enrolment_links,
        recovery_codes,
        consents,
        admin_tokens,
    } = outcome.ended;
    terminal::report_line(format_args!(
        "Ended: {sessions} sessions, {token_families} token families, {approvals} approvals, {enrolment_links} \
         enrolment links, {recovery_codes} recovery codes, {consents} consents, {admin_tokens} tokens of the admin API."
    ));
    terminal::report_line("All access and refresh tokens are invalid.");
    if backup.is_of_previous_master_key {
        terminal::report_line(format_args!(
            "The backup was made with the previous master key. When `assent admin master-key` shows the new sealing \
             key in use, run `assent admin revoke-tokens --yes`: until then the previous key is enough to forge tokens."
        ));
    }
    if let Some(later) = later {
        print_later(later);
        let done = &outcome.reapplied;
        terminal::report_line(format_args!(
            "Applied again: users suspended: {}, terminated: {}, erased: {}, deleted: {}; accounts closed: {}; devices \
             revoked: {}. Changes that the backup contains: {}; of users or devices that it does not contain: {}.",
            done.users_suspended,
            done.users_terminated,
            done.users_erased,
            done.users_deleted,
            done.accounts_closed,
            done.devices_revoked,
            done.unchanged,
            done.unknown()
        ));
        for user in &done.unknown_users {
            terminal::report_line(format_args!("The backup does not contain the user {user}."));
        }
    }
    terminal::report_line(format_args!(
        "\nNext steps:\n\
         - Start the instances five minutes after the last one was stopped, or later. Until then a client assertion \
         that was used before could be used again.\n\
         - All users sign in again, with the devices that they have.\n\
         - Recovery codes are void. Users create new ones at {}.\n\
         - Enrolment links and invitations are void. Send new ones.\n\
         - Tokens of the admin API are void: `assent admin token` prints a new one.",
        format_args!("{}/devices", settings.origin())
    ));
    if later.is_none() {
        terminal::report_line(format_args!(
            "- Suspend, terminate and erase again the users whom you suspended, terminated or erased after the backup, \
             and revoke the devices that were revoked since."
        ));
    }
}
