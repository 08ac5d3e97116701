//! `assent audit`

use std::fs::File;
use std::io::{BufReader, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use serde_json::json;

use crate::cli::config_file::{ConfigFile, host_without_plugins};
use crate::domain::{Services, audit};
use assent_model::audit::chain::VerificationCounts;
use assent_model::audit::jsonl;
use assent_model::clock::Timestamp;
use assent_plugin_host::one_line;

/// How many entries are read at a time.
const BATCH: u32 = 500;
/// The exit code of a verification that could not look.
const COULD_NOT_LOOK: u8 = 3;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Verify the hash chain: no entry was changed, inserted or removed.
    ///
    /// The exit code is 0 if the log is intact, 1 if the chain is broken, and 3 if the log cannot be read. An attacker
    /// who can write the database but does not have the master key cannot change entries unnoticed. A rollback of
    /// entries and head together to an earlier state shows only in a comparison with an export or a stream.
    Verify {
        /// Verify an export (`-` is standard input) or the file of a stream in place of the database, from its first
        /// entry to its last.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Print all entries as lines of JSON, the oldest first, in the format of `assent audit verify --file`.
    ///
    /// Includes personal data that was not erased.
    Export {
        /// Only entries after this position, to continue an earlier export.
        #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        after: i64,
        #[command(flatten)]
        config: ConfigFile,
    },
}

pub(super) async fn run(command: AuditCommand) -> anyhow::Result<ExitCode> {
    match command {
        AuditCommand::Verify { file, json, config } => Ok(verify(file, json, &config).await),
        AuditCommand::Export { after, config } => {
            export(after, &config).await.map(|()| ExitCode::SUCCESS)
        }
    }
}

async fn verify(file: Option<PathBuf>, json: bool, config: &ConfigFile) -> ExitCode {
    let checked = match &file {
        Some(file) => verify_file(file),
        None => verify_database(config).await,
    };
    match checked.and_then(|verdict| {
        Ok((
            verdict.broken.is_none(),
            tell(&verdict, file.is_some(), json)?,
        ))
    }) {
        Ok((true, ())) => ExitCode::SUCCESS,
        Ok((false, ())) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("assent: the audit log cannot be read: {error:#}");
            ExitCode::from(COULD_NOT_LOOK)
        }
    }
}

fn verify_file(file: &PathBuf) -> anyhow::Result<audit::Verdict> {
    let verdict = if file.as_os_str() == "-" {
        audit::verify_export(std::io::stdin().lock())
    } else {
        let opened = File::open(file).with_context(|| file.display().to_string())?;
        audit::verify_export(BufReader::new(opened))
    };
    verdict.with_context(|| file.display().to_string())
}

async fn verify_database(config: &ConfigFile) -> anyhow::Result<audit::Verdict> {
    let services = host_without_plugins(&config.config).await?;
    let verdict = audit::verify(&services.store, None).await;
    services.store.close().await;
    Ok(verdict?)
}

/// Tells what was found, on standard output, since it is the result.
fn tell(verdict: &audit::Verdict, is_file: bool, json: bool) -> anyhow::Result<()> {
    let VerificationCounts {
        entries,
        erased,
        first,
        last,
    } = &verdict.checked;
    let place = |place: &Option<(i64, Timestamp)>| {
        place.map(|(seq, at)| json!({"seq": seq, "at": text_of(at)}))
    };
    let lines = if json {
        let broken = verdict
            .broken
            .as_ref()
            .map(|broken| json!({"kind": broken.kind(), "seq": broken.seq(), "message": broken.to_string()}));
        let told = json!({
            "valid": broken.is_none(),
            "entries": entries,
            "erased": erased,
            "first": place(first),
            "last": place(last),
            "digest": verdict.last.digest.to_text(),
            "broken": broken,
        });
        serde_json::to_string_pretty(&told)?
    } else {
        let stretch = match (first, last) {
            (Some((first, from)), Some((last, to))) => {
                format!(
                    "{entries} entries, {first} to {last}, of {} to {}",
                    text_of(*from),
                    text_of(*to)
                )
            }
            _ => "no entries".to_owned(),
        };
        match &verdict.broken {
            Some(broken) => format!(
                "BROKEN: {}.\nIntact before that: {stretch}.",
                one_line(&broken.to_string())
            ),
            None => {
                let erased = if *erased > 0 {
                    format!("\nPersonal data erased: {erased}.")
                } else {
                    String::new()
                };
                let beyond = if is_file {
                    "\nA file cannot show later entries."
                } else {
                    ""
                };
                let digest = verdict.last.digest.to_text();
                format!("Intact: {stretch}.{erased}\nDigest of the last entry: {digest}{beyond}")
            }
        }
    };
    writeln!(std::io::stdout(), "{lines}").or_else(|error| match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error.into()),
    })
}

async fn export(after: i64, config: &ConfigFile) -> anyhow::Result<()> {
    let services = host_without_plugins(&config.config).await?;
    let exported = print_export(&services, after).await;
    services.store.close().await;
    exported
}

async fn print_export(services: &Services, mut after: i64) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    loop {
        let records = services.store.audit_records(after, BATCH).await?;
        let Some(last) = records.last() else { break };
        after = last.seq;
        for record in &records {
            writeln!(out, "{}", jsonl::write(record)?)?;
        }
    }
    Ok(out.flush()?)
}

/// A moment to the millisecond, as RFC 3339 writes it.
fn text_of(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.millis())
        .map(|at| at.to_string())
        .unwrap_or_default()
}
