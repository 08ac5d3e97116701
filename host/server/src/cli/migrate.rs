//! `assent migrate`

use std::process::ExitCode;

use clap::Args;

use crate::cli::config_file::{ConfigFile, check_user, settings};
use crate::cli::log;
use crate::config::{Migrate as WhenToMigrate, Settings};
use assent_admin_client::terminal;
use assent_store::{Database, HEARTBEAT_LIMIT, MIGRATIONS, MigrationOutcome};

/// The exit code of a check that found pending migrations.
const PENDING: u8 = 6;

/// Apply the migrations of this release to the database.
///
/// Run it with the new release before its first instance starts, and again when no instance of the earlier release
/// runs. Expanding migrations leave earlier releases working. A contracting migration removes what earlier releases
/// use, so it is postponed while one of their instances runs. The exit code is 0 even if one is postponed: `--check`
/// reports it. Several may run at the same time: one waits for the other. After an interruption run it again.
#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Print the pending migrations, and change nothing. The exit code is 0 if there are none, and 6 if there are.
    #[arg(long)]
    check: bool,
    /// With `--check`: leave out migrations that `assent serve` applies at its start.
    #[arg(long, requires = "check")]
    before_start: bool,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Migrate) -> anyhow::Result<ExitCode> {
    let settings = settings(arguments.config.path())?;
    let url = &settings.database.url;
    if arguments.check {
        let pending = Database::pending_migrations(url, MIGRATIONS).await?;
        if pending.is_empty() || (arguments.before_start && start_applies(&settings)) {
            terminal::report_line("up to date");
            return Ok(ExitCode::SUCCESS);
        }
        for migration in pending {
            terminal::report_line(format_args!("pending {migration}"));
        }
        return Ok(ExitCode::from(PENDING));
    }
    check_user(url)?;
    // The guard lives until this function ends, so that all lines are written.
    let _log = log::start(&settings.log, None)?;
    report(&Database::migrate(url, MIGRATIONS).await?);
    Ok(ExitCode::SUCCESS)
}

/// Whether `assent serve` applies pending migrations to a database with data.
fn start_applies(settings: &Settings) -> bool {
    match settings.database.migrate {
        Some(WhenToMigrate::Automatic) => true,
        Some(WhenToMigrate::Manual) => false,
        None => settings.database.url.starts_with("sqlite:"),
    }
}

fn report(outcome: &MigrationOutcome) {
    for migration in &outcome.applied {
        terminal::report_line(format_args!("applied {migration}"));
    }
    for postponed in &outcome.postponed {
        terminal::report_line(format_args!("postponed {}", postponed.migration));
    }
    if outcome.applied.is_empty() && outcome.postponed.is_empty() {
        terminal::report_line("up to date");
    }
    let Some(postponed) = outcome.postponed.first() else {
        return;
    };
    terminal::note(
        "Postponed, because these instances run releases that use tables or columns that the migration removes:",
    );
    for instance in &postponed.instances {
        terminal::note(format_args!("  {instance}"));
    }
    terminal::note(format_args!(
        "Replace or stop them, then run `assent migrate` again. An instance that crashed counts as running for {} s.",
        HEARTBEAT_LIMIT.as_secs()
    ));
}
