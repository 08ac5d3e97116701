//! `assent plugins check`

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;

use assent_admin_client::terminal::{self, harmless};
use assent_plugin_host::{self, Compiler};

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// Describe a component: its role, the permissions that it requests, and the claims that it writes.
    Check {
        /// The component.
        file: PathBuf,
    },
}

pub(super) async fn run(command: PluginCommand) -> anyhow::Result<()> {
    match command {
        PluginCommand::Check { file } => check(&file).await,
    }
}

async fn check(file: &Path) -> anyhow::Result<()> {
    let found = assent_plugin_host::inspect(file, &Compiler::of_this_program()).await;
    let found = found.with_context(|| file.display().to_string())?;
    let name = harmless(&found.description.name);
    terminal::report_line(format_args!(
        "{name} {} ({} bytes)",
        harmless(&found.description.version),
        found.size
    ));
    terminal::report_line(format_args!("  {}", harmless(&found.description.summary)));
    terminal::report_line(format_args!("  sha256   {}", found.sha256));
    terminal::report_line(format_args!(
        "  role     {} ({} {})",
        found.world.role(),
        found.world.package(),
        found.contract_version
    ));
    terminal::report_line(format_args!("  imports  {}", or_none(&found.imports)));
    terminal::report_line(format_args!(
        "  writes   {}",
        or_none(&found.description.writes)
    ));
    if !found.description.hosts.is_empty() {
        terminal::report_line(format_args!(
            "  hosts    {}",
            or_none(&found.description.hosts)
        ));
    }
    Ok(())
}

fn or_none(list: &[String]) -> String {
    if list.is_empty() {
        "nothing".to_owned()
    } else {
        harmless(&list.join(", "))
    }
}
