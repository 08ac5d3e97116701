//! `assent-plugin`: what a plugin author works with, from the first line to the folder that the operator gets.

mod bench;
mod build;
mod built_component;
mod check;
mod description;
mod dev;
mod files;
mod fixture_run;
mod new;
mod pack;
mod plugin;
mod process;
mod report;
mod runtime;
mod sdk;
mod test;
mod toolchain;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::new::{Language, Wish};
use crate::plugin::Role;
use crate::report::report;
use crate::toolchain::Choice;

/// Creates, builds, tests and packs plugins of Assent.
#[derive(Parser)]
#[command(
    version,
    after_help = "The guide for plugin authors is docs/plugins.md of Assent."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create a project that builds and passes its tests.
    ///
    /// The SDK is copied into its folder `vendor`, so the project needs the toolchain and the package registries, and
    /// no checkout of Assent.
    #[command(after_help = "Examples:
  assent-plugin new department
  assent-plugin new department --language typescript
  assent-plugin new ../my-channel --role approval-channel
  assent-plugin new plugins/department          # inside a checkout of Assent: a member of its workspace")]
    New {
        /// The folder to create. Its last part is the plugin's name: lower-case letters, digits and `-`.
        name: PathBuf,
        /// The role of the plugin.
        #[arg(long, value_enum, default_value = "claim-mapper")]
        role: Role,
        /// The programming language. Approval channels are written in Rust.
        #[arg(long, value_enum, default_value = "rust")]
        language: Language,
    },
    /// Build components and list them: path and size, with a tab between.
    ///
    /// Each folder has a Cargo.toml (the component is then `<target folder>/plugins/<name>.wasm`) or a package.json
    /// (`build/<name>.wasm`). Optimised always: a plugin's work is metered. Writes plugin.toml from the component's own
    /// description.
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
    /// Show a component's description and its requests, and check them against the plugin.toml of a packed plugin.
    #[command(after_help = "Examples:
  assent-plugin check .
  assent-plugin check department-0.1.0/department.wasm")]
    Check {
        /// The folder of a plugin, which is built first, or a packed one, or a component's file.
        plugin: PathBuf,
        #[command(flatten)]
        with: With,
    },
    /// Run the fixtures against the component, in the server's own runtime.
    #[command(after_help = "Examples:
  assent-plugin test .
  assent-plugin test . --fixture fixtures/by-role.json
  assent-plugin test department-0.1.0/department.wasm --fixture fixtures")]
    Test {
        /// The folder of a plugin, which is built first, or a packed one, or a component's file.
        plugin: PathBuf,
        /// A fixture, or a folder of them, in place of the plugin's own folder `fixtures`.
        #[arg(long)]
        fixture: Option<PathBuf>,
        #[command(flatten)]
        with: With,
    },
    /// Watch a claim mapper's sources; after each change, build it and try it in a running instance.
    ///
    /// The instance compiles the component, computes the claims of one user with it and without it, and loads nothing:
    /// no sign-in is affected. This shows the differences, and the plugin's log lines. The instance needs a token of
    /// `assent admin token`, in the variable ASSENT_ADMIN_TOKEN or in --token-file.
    #[command(after_help = "Examples:
  assent-plugin dev . --application Books --user ada                 # the instance of `make run`
  assent-plugin dev . --application Books --user ada --server https://id.example.org --token-file token
  assent-plugin dev . --application Books --user ada --once")]
    Dev {
        #[command(flatten)]
        options: Box<dev::DevOptions>,
        #[command(flatten)]
        with: With,
    },
    /// Measure a fresh instance and one call of it: microseconds, fuel, memory.
    #[command(after_help = "Examples:
  assent-plugin bench .
  assent-plugin bench . --fixture fixtures/by-role.json --calls 10000")]
    Bench {
        /// The folder of a plugin, which is built first, or a component's file.
        plugin: PathBuf,
        /// The fixture to call it with, in place of the first in the plugin's own folder `fixtures`.
        #[arg(long)]
        fixture: Option<PathBuf>,
        /// The number of measured calls.
        #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        calls: u32,
        #[command(flatten)]
        with: With,
    },
    /// Write the folder for the operator, `<name>-<version>/`, and print the settings for it.
    ///
    /// The fixtures must pass. The settings grant all requests of the plugin, and contain the digest of the component:
    /// the
    /// server loads no other component.
    #[command(after_help = "Examples:
  assent-plugin pack .
  assent-plugin pack . --out /srv/plugins >> assent.toml")]
    Pack {
        /// The folder of a plugin, which is built first.
        plugin: PathBuf,
        /// The folder to create it in; by default `pack` beside plugin.toml.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Replaces another component that was packed under the same version.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        with: With,
    },
}

/// The toolchain of plugins.
#[derive(Args)]
struct With {
    /// The source of the compiler for WebAssembly.
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        env = "ASSENT_PLUGIN_TOOLCHAIN"
    )]
    toolchain: Choice,
}

fn main() -> ExitCode {
    // `check` compiles as the server does: in a process of its own, within the same limits.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == assent_plugin_host::COMPILE)
    {
        return assent_plugin_host::compile_plugin();
    }
    let done = match Arguments::parse().command {
        Command::New {
            name,
            role,
            language,
        } => new::new(&Wish {
            folder: name,
            role,
            language,
        }),
        Command::Build { plugins, with } => build::list(&plugins, with.toolchain),
        Command::Check { plugin, with } => check::check(&plugin, with.toolchain),
        Command::Test {
            plugin,
            fixture,
            with,
        } => {
            show_log();
            test::test(&plugin, fixture.as_deref(), with.toolchain)
        }
        Command::Dev { options, with } => dev::dev(*options, with.toolchain),
        Command::Bench {
            plugin,
            fixture,
            calls,
            with,
        } => bench::bench(
            &plugin,
            fixture.as_deref(),
            usize::try_from(calls).unwrap_or(1),
            with.toolchain,
        ),
        Command::Pack {
            plugin,
            out,
            force,
            with,
        } => pack::pack(&plugin, out.as_deref(), force, with.toolchain),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Shows what a plugin writes to the operator's log, and no other lines of the host.
fn show_log() {
    let lines = tracing_subscriber::EnvFilter::new("off,assent_plugin_host::call=debug");
    let log = tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_env_filter(lines);
    log.with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
