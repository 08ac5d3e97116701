//! `assent-plugin`: the tool of plugin authors, from a new project to the folder for the operator.

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
mod sdk;
mod test;
mod toolchain;

use std::io::{ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use assent_admin_client::environment::without_empty_variables;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::new::{Language, Wish};
use crate::plugin::Role;
use crate::report::report;
use crate::toolchain::Choice;

/// Creates, builds, tests and packs plugins of Assent.
#[derive(Parser)]
#[command(
    version,
    after_help = "The guide for plugin authors is docs/developers/plugins.md of Assent."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create a project that builds and passes its tests.
    ///
    /// The SDK is copied into its folder `vendor`. So the project needs the toolchain and the package registries, but
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
    /// Build components and list them: path and size, separated by a tab.
    ///
    /// Each folder has a Cargo.toml or a package.json. The component of a Cargo.toml is
    /// `<target folder>/plugins/<name>.wasm`, and that of a package.json is `build/<name>.wasm`. The build is always
    /// optimized, because the server limits a plugin's work. The command writes plugin.toml from the component's own
    /// description.
    #[command(after_help = "Examples:
  assent-plugin build .
  assent-plugin build plugins/account-roles plugins/web-push")]
    Build {
        /// The folders of the plugins.
        #[arg(required = true)]
        plugins: Vec<PathBuf>,
        #[command(flatten)]
        with: With,
    },
    /// Show a component's description and its requests, and compare them with plugin.toml.
    #[command(after_help = "Examples:
  assent-plugin check .
  assent-plugin check department-0.1.0/department.wasm")]
    Check {
        /// The folder of a project, which is built first, the folder of a packed plugin, or the file of a component.
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
        /// The folder of a project, which is built first, the folder of a packed plugin, or the file of a component.
        plugin: PathBuf,
        /// A fixture or a folder of fixtures, instead of the plugin's own folder `fixtures`.
        #[arg(long)]
        fixture: Option<PathBuf>,
        #[command(flatten)]
        with: With,
    },
    /// Watch a claim mapper's sources; after each change, build it and try it in a running instance.
    ///
    /// The instance compiles the component and computes the claims of one user with it and without it. It does not load
    /// the component, so no sign-in is affected. The command shows the differences and the plugin's log lines. It needs
    /// a token from `assent admin token`, in the variable ASSENT_ADMIN_TOKEN or in --token-file.
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
        /// The folder of a project, which is built first, or the file of a component.
        plugin: PathBuf,
        /// The fixture to measure, instead of the first one in the plugin's own folder `fixtures`.
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
    /// The fixtures must pass. The settings grant all requests of the plugin. They contain the digest of the component,
    /// because the server then loads no other component.
    #[command(after_help = "Examples:
  assent-plugin pack .
  assent-plugin pack . --out /srv/plugins >> assent.toml")]
    Pack {
        /// The folder of a project, which is built first.
        plugin: PathBuf,
        /// The parent of the new folder. The default is `pack` beside plugin.toml.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Replace another component that was packed with the same version.
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
    // Like the server, `check` compiles in a separate process with the same limits.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == assent_plugin_host::COMPILE)
    {
        return assent_plugin_host::compile_plugin();
    }
    let matches = without_empty_variables(Arguments::command()).get_matches();
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let done = match arguments.command {
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
        // The reader of the output closed it, which is not an error.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Shows the lines that a plugin writes to the operator's log, and no other lines.
fn show_log() {
    let lines = tracing_subscriber::EnvFilter::new("off,assent_plugin_host::call=debug");
    let log = tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .log_internal_errors(false)
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
