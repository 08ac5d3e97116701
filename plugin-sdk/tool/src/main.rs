//! `assent-plugin`: builds plugin crates into components.

mod build;
mod plugin;
mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::toolchain::Choice;

/// Builds plugins of Assent.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build plugin crates into components, `<target folder>/plugins/<name>.wasm`.
    ///
    /// Each folder has a Cargo.toml and a plugin.toml. Optimised always: a plugin's work is metered.
    Build {
        /// Folders of plugin crates.
        #[arg(required = true)]
        crates: Vec<PathBuf>,
        /// Where the compiler for WebAssembly comes from.
        #[arg(long, value_enum, default_value = "auto", env = "ASSENT_PLUGIN_TOOLCHAIN")]
        toolchain: Choice,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Build { crates, toolchain } => build::build(&crates, toolchain),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr, reason = "a command answers on the terminal")]
fn report(error: &anyhow::Error) {
    eprintln!("assent-plugin: {error:#}");
}
