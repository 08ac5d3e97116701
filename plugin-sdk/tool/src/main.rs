//! `assent-plugin`: what a plugin author works with, from the first line to the folder that the operator gets.

mod build;
mod new;
mod plugin;
mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::new::{Language, Wish};
use crate::plugin::Role;
use crate::toolchain::Choice;

/// Makes, builds, tries out and packs plugins of Assent.
#[derive(Parser)]
#[command(version, after_help = "The guide for plugin authors is docs/plugins.md of Assent.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a project that builds and passes its tests as it is.
    #[command(after_help = "Examples:
  assent-plugin new department
  assent-plugin new department --language typescript
  assent-plugin new ../my-channel --role approval-channel
  assent-plugin new plugins/department          # inside a checkout of Assent: a member of its workspace")]
    New {
        /// The folder to make. Its last part is the plugin's name: lower-case letters, digits and `-`.
        name: PathBuf,
        /// What the plugin is there for.
        #[arg(long, value_enum, default_value = "claim-mapper")]
        role: Role,
        /// What it is written in. Approval channels are written in Rust.
        #[arg(long, value_enum, default_value = "rust")]
        language: Language,
        /// The folder `plugin-sdk` of a checkout of Assent; that of the checkout which this tool was built in, if it is not
        /// given.
        #[arg(long)]
        sdk: Option<PathBuf>,
    },
    /// Build components and list them: path and size, with a tab between.
    ///
    /// Each folder has a plugin.toml, and a Cargo.toml (the component is then `<target folder>/plugins/<name>.wasm`) or a
    /// package.json (`build/<name>.wasm`). Optimised always: a plugin's work is metered.
    #[command(after_help = "Examples:
  assent-plugin build .
  assent-plugin build plugins/account-roles plugins/web-push")]
    Build {
        /// Folders of plugins.
        #[arg(required = true)]
        plugins: Vec<PathBuf>,
        #[command(flatten)]
        with: With,
    },
}

/// What plugins are built with.
#[derive(Args)]
struct With {
    /// Where the compiler for WebAssembly comes from.
    #[arg(long, value_enum, default_value = "auto", env = "ASSENT_PLUGIN_TOOLCHAIN")]
    toolchain: Choice,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::New { name, role, language, sdk } => new::new(&Wish { folder: name, role, language, sdk }),
        Command::Build { plugins, with } => build::list(&plugins, with.toolchain),
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
