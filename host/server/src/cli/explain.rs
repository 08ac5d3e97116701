//! `assent explain`

use std::io::Read;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use crate::cli::config_file::{ConfigFile, host_without_plugins};
use crate::domain::claims::traces;
use assent_admin_client::terminal::{self, harmless};
use assent_model::text::without_mark;
use assent_plugin_host as plugins;
use assent_store::ClaimTrace;

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// An ID token, its `jti`, or the ID of an assertion. Without it, or with `-`, it is read from standard input.
    token: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Explain) -> anyhow::Result<()> {
    let text = match arguments.token.filter(|token| token != "-") {
        Some(token) => token,
        None => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(64 << 10)
                .read_to_string(&mut text)
                .context("standard input cannot be read")?;
            text
        }
    };
    let services = host_without_plugins(arguments.config.path()).await?;
    let found = traces::find(&services, without_mark(&text).trim()).await;
    let named = match &found {
        Ok(Some(trace)) => {
            let user = services
                .store
                .user(trace.user_id)
                .await?
                .map(|user| user.name.to_string());
            let application = services.store.registered(&trace.application).await?;
            Some((
                user.unwrap_or_default(),
                application
                    .map(|found| found.name().to_owned())
                    .unwrap_or_default(),
            ))
        }
        _ => None,
    };
    services.store.close().await;
    let (Some(trace), Some((user, application))) = (found?, named) else {
        bail!(
            "there is no claim trace of this token: no plugin served it, or it is older than {} \
                (plugins.trace_retention)",
            crate::cli::config_file::settings(arguments.config.path())?
                .plugins
                .trace_retention
        );
    };
    let at = |at: assent_model::clock::Timestamp| {
        jiff::Timestamp::from_millisecond(at.millis())
            .map(|at| at.to_string())
            .unwrap_or_default()
    };
    if arguments.json {
        let trace = serde_json::to_value(traces::show(&trace, at))?;
        return terminal::print(&format!("{trace:#}\n"));
    }
    let (application, user) = (harmless(&application), harmless(&user));
    terminal::report_line(format_args!(
        "Claims that {application} received about {user} ({}, {})",
        trace.sink,
        at(trace.created_at)
    ));
    print_calls(&trace)
}

/// Prints a few lines for each plugin.
fn print_calls(trace: &ClaimTrace) -> anyhow::Result<()> {
    let calls: Vec<Value> =
        serde_json::from_str(&trace.calls).context("the trace cannot be read")?;
    for call in &calls {
        let sha256: String = text(call, "/sha256").chars().take(12).collect();
        terminal::report_line(format_args!(
            "\n{} ({} {}, sha256 {sha256}...): {}, {} units of fuel, {} us",
            text(call, "/plugin"),
            text(call, "/component"),
            text(call, "/version"),
            text(call, "/outcome").replace('_', " "),
            number(call, "/fuel"),
            number(call, "/time_us"),
        ));
        if call.get("reason").is_some() {
            terminal::report_line(format_args!("  {}", text(call, "/reason")));
        }
        for change in call
            .get("changes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if change.get("claim").is_some() {
                let [before, after] = ["before", "after"].map(|key| value_text(change.get(key)));
                terminal::report_line(format_args!(
                    "  {}: {before} -> {after}",
                    text(change, "/claim")
                ));
            } else {
                let values = value_text(change.pointer("/attribute/values"));
                terminal::report_line(format_args!(
                    "  attribute {}: {values}",
                    text(change, "/attribute/name")
                ));
            }
        }
    }
    Ok(())
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(
        || "nothing".to_owned(),
        |value| assent_plugin_host::one_line(&value.to_string()),
    )
}

/// Returns the text at a position of a response (RFC 6901), without control characters; empty if there is no text.
pub(super) fn text(answer: &serde_json::Value, pointer: &str) -> String {
    plugins::one_line(
        answer
            .pointer(pointer)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default(),
    )
}

/// Returns the number at a position of a response.
pub(super) fn number(answer: &serde_json::Value, pointer: &str) -> u64 {
    answer
        .pointer(pointer)
        .and_then(serde_json::Value::as_u64)
        .unwrap_or_default()
}
