//! `assent audit`

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use serde_json::json;

use crate::cli::config_file::{ConfigFile, host_without_plugins};
use crate::domain::audit::verify;
use crate::domain::{Services, audit};
use assent_admin_client::terminal;
use assent_model::audit::chain::{Heads, Place, Positions, VerificationCounts};
use assent_model::audit::jsonl;
use assent_model::clock::Timestamp;
use assent_plugin_host::one_line;

/// The number of entries that each query reads.
const BATCH: u32 = 500;
/// The exit code of a verification that could not read the log.
const UNREADABLE: u8 = 3;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Verify the hash chains: no entry was changed, inserted or removed.
    ///
    /// The exit code is 0 if the log is intact, 1 if a chain is broken, and 3 if the log cannot be read. An attacker
    /// who can write the database but does not have the master key cannot change entries unnoticed, except that entries
    /// of the last second before an instance stopped can be removed. A rollback of all entries and the root to an
    /// earlier state shows only in a comparison with an export, a stream or the heads that an earlier verification
    /// printed (`--heads`).
    Verify {
        /// Verify an export (`-` is standard input) or the file of a stream instead of the database, from its first
        /// entry to its last.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Compare with the heads that an earlier verification printed: `LANE:SEQ:DIGEST` for each lane, separated by
        /// spaces. Shows a rollback to a state before it.
        #[arg(long, value_name = "HEADS", value_parser = parse_heads, conflicts_with = "file")]
        heads: Option<Heads>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Print all entries as lines of JSON in the format of `assent audit verify --file`: lane by lane, in each the
    /// oldest first.
    ///
    /// Includes personal data that was not erased. Prints the positions of the last entries on standard error.
    Export {
        /// Only entries after these positions, to continue an earlier export: `LANE:SEQ` for each lane, separated by
        /// commas.
        #[arg(long, value_name = "POSITIONS", default_value = "")]
        after: Positions,
        #[command(flatten)]
        config: ConfigFile,
    },
}

pub(super) async fn run(command: AuditCommand) -> anyhow::Result<ExitCode> {
    match command {
        AuditCommand::Verify {
            file,
            heads,
            json,
            config,
        } => Ok(verify(file, heads, json, &config).await),
        AuditCommand::Export { after, config } => {
            export(after, &config).await.map(|()| ExitCode::SUCCESS)
        }
    }
}

async fn verify(
    file: Option<PathBuf>,
    heads: Option<Heads>,
    json: bool,
    config: &ConfigFile,
) -> ExitCode {
    let checked = match &file {
        Some(file) => verify_file(file),
        None => verify_database(config, heads).await,
    };
    match checked.and_then(|verdict| {
        Ok((
            verdict.broken.is_none(),
            print_verdict(&verdict, file.is_some(), json)?,
        ))
    }) {
        Ok((true, ())) => ExitCode::SUCCESS,
        Ok((false, ())) => ExitCode::FAILURE,
        Err(error) => {
            terminal::note(format_args!(
                "assent: the audit log cannot be read: {error:#}"
            ));
            ExitCode::from(UNREADABLE)
        }
    }
}

fn verify_file(file: &PathBuf) -> anyhow::Result<verify::Verdict> {
    let verdict = if file.as_os_str() == "-" {
        verify::verify_export(std::io::stdin().lock())
    } else {
        let opened = File::open(file).with_context(|| file.display().to_string())?;
        verify::verify_export(BufReader::new(opened))
    };
    verdict.with_context(|| file.display().to_string())
}

async fn verify_database(
    config: &ConfigFile,
    heads: Option<Heads>,
) -> anyhow::Result<verify::Verdict> {
    let services = host_without_plugins(config.path()).await?;
    let verified = async {
        let mut verdict = audit::verify::verify(&services.store, None).await?;
        if let Some(heads) = heads
            && verdict.broken.is_none()
        {
            verdict.broken = verify::compare_heads(&services.store, &heads).await?;
        }
        anyhow::Ok(verdict)
    };
    let verdict = verified.await;
    services.store.close().await;
    verdict
}

/// Prints the result on standard output.
fn print_verdict(verdict: &verify::Verdict, is_file: bool, json: bool) -> anyhow::Result<()> {
    let VerificationCounts {
        entries,
        erased,
        first,
        last,
    } = &verdict.checked;
    let place = |place: &Option<Place>| {
        place.map(|place| json!({"lane": place.lane, "seq": place.seq, "at": text_of(place.at)}))
    };
    let digest = verdict.heads.digest().to_text();
    let lines = if json {
        let broken = verdict.broken.as_ref().map(|broken| {
            json!({
                "kind": broken.what.kind(),
                "lane": broken.lane,
                "seq": broken.what.seq(),
                "message": broken.to_string(),
            })
        });
        let report = json!({
            "valid": broken.is_none(),
            "entries": entries,
            "erased": erased,
            "first": place(first),
            "last": place(last),
            "digest": digest,
            "heads": verdict.heads.to_text(),
            "broken": broken,
        });
        serde_json::to_string_pretty(&report)?
    } else {
        let stretch = match (first, last) {
            (Some(first), Some(last)) => {
                format!(
                    "{entries} entries in {}, from {} to {}",
                    lanes(verdict.heads.iter().count()),
                    text_of(first.at),
                    text_of(last.at)
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
                let heads = verdict.heads.to_text();
                format!("Intact: {stretch}.{erased}\nHeads: {heads}{beyond}")
            }
        }
    };
    terminal::report_line(lines);
    Ok(())
}

async fn export(after: Positions, config: &ConfigFile) -> anyhow::Result<()> {
    let services = host_without_plugins(config.path()).await?;
    let exported = print_export(&services, after).await;
    services.store.close().await;
    exported
}

async fn print_export(services: &Services, mut positions: Positions) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for lane in services.store.audit_lanes().await? {
        loop {
            let after = positions.get(lane);
            let records = services.store.audit_records(lane, after, BATCH).await?;
            let Some(last) = records.last() else { break };
            positions.advance(lane, last.seq);
            for record in &records {
                writeln!(out, "{}", jsonl::write(record)?)?;
            }
        }
    }
    out.flush()?;
    terminal::note(format_args!("Exported up to: {positions}"));
    Ok(())
}

fn parse_heads(text: &str) -> Result<Heads, String> {
    Heads::parse(text.trim())
        .ok_or_else(|| "expected LANE:SEQ:DIGEST, as `assent audit verify` prints it".to_owned())
}

/// Returns a number of lanes in words.
fn lanes(count: usize) -> String {
    match count {
        1 => "1 lane".to_owned(),
        count => format!("{count} lanes"),
    }
}

/// Formats a time with milliseconds (RFC 3339).
fn text_of(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.millis())
        .map(|at| at.to_string())
        .unwrap_or_default()
}
