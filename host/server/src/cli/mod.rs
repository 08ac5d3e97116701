//! The command line.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command answers on the terminal"
)]

mod api;
mod audit;
mod authenticator;
mod config_file;
mod explain;
mod health;
mod log;
mod manual;
mod migrate;
mod plugin;
mod qr_code;
mod serve;
mod values;

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::app::Environment;
use crate::cli::config_file::{ConfigFile, host_without_plugins, settings};
use crate::config::Settings;
use crate::domain::admin;
use crate::domain::admin::{AdminContext, EnrolDevice, EnrolmentLink};
use crate::domain::keys::token_epochs::revoke_all_tokens;
use crate::domain::operations::plugin_specs::plugin_specs;
use crate::geoip::GeoIp;
use crate::http::admin_api::openapi_document;
use crate::http::devices;
use crate::{app, config};
use assent_admin_client::{error, terminal};
use assent_model::audit::AuditContext;
use assent_plugin_host as plugins;

/// A passwordless identity provider: OpenID Connect and SAML sign-ins, approved on a device.
#[derive(Debug, Parser)]
#[command(name = "assent", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until stopped.
    Serve(ConfigFile),
    /// Ask the instance on this machine whether it can serve.
    Health(health::Health),
    /// Apply the migrations of this release to the database.
    Migrate(migrate::Migrate),
    /// The settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Commands for the operator of this machine.
    #[command(subcommand)]
    Admin(AdminCommand),
    /// The audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// A headless authenticator, for tests and automation.
    #[command(subcommand)]
    Authenticator(authenticator::AuthenticatorCommand),
    /// Explain the claims of an ID token or an assertion: what each plugin did.
    Explain(explain::Explain),
    /// Plugins.
    #[command(subcommand, visible_alias = "plugin")]
    Plugins(plugin::PluginCommand),
    /// Print the completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write a page for each command.
    Man(manual::Man),
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check the settings and their plugins, without serving.
    Check(ConfigFile),
    /// Print the JSON Schema of the settings.
    Schema,
    /// Print the OpenAPI document of an API; /admin/api/v1/openapi.json serves that of the admin API.
    Openapi {
        /// The API.
        #[arg(long, value_enum, default_value_t)]
        api: DescribedApi,
    },
}

/// An API with an OpenAPI document.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum DescribedApi {
    /// The API of the console and the command line.
    #[default]
    Admin,
    /// The API of authenticators.
    Authenticator,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Print a short-lived token for the admin API.
    Token(ConfigFile),
    /// Print a link that enrols a device of a user, for example in place of a lost one.
    Enrolment {
        /// The user's name or email address.
        user: String,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Revoke all access and refresh tokens and end all sessions, for example after the restore of a backup.
    RevokeTokens {
        /// Confirm that every user has to sign in again.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
}

/// The whole command line: the commands of this machine, and those of the admin API.
fn command_line(api: &api::Commands) -> clap::Command {
    api.add_to(Arguments::command())
}

/// Runs the command that the arguments name. 0: done; 1: it failed; 2: the arguments are wrong; 3: there is no such
/// thing; 4: it is not allowed; 5: no host answers. `audit verify` and `migrate --check` have codes of their own.
pub fn run() -> ExitCode {
    let done = commands().and_then(|api| {
        let matches = command_line(&api).get_matches();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(dispatch(&api, &matches))
    });
    match done {
        Ok(code) => code,
        // Whoever reads has seen enough.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!(
                "assent: {}",
                terminal::harmless_lines(&format!("{error:#}"))
            );
            error
                .downcast_ref::<error::CommandError>()
                .map_or(ExitCode::FAILURE, |failure| failure.kind.code())
        }
    }
}

fn commands() -> anyhow::Result<api::Commands> {
    api::Commands::from_document(openapi_document())
}

/// Each operation of the admin API by its name, with its method and path, as `users.list` and `GET /users`.
///
/// # Errors
/// If the API's document can't be read.
pub fn api_commands() -> anyhow::Result<Vec<(String, String)>> {
    Ok(commands()?.table())
}

async fn dispatch(api: &api::Commands, matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    if let Some(done) = api.run(matches).await {
        return done.map(|()| ExitCode::SUCCESS);
    }
    let arguments = Arguments::from_arg_matches(matches)?;
    let done = match arguments.command {
        Command::Audit(command) => return audit::run(command).await,
        Command::Health(arguments) => return health::run(arguments).await,
        Command::Migrate(arguments) => return migrate::run(arguments).await,
        Command::Serve(file) => serve::run(file.path()).await,
        Command::Config(ConfigCommand::Check(file)) => check(file.path()).await,
        Command::Config(ConfigCommand::Schema) => {
            terminal::print(&format!("{}\n", config_schema()))
        }
        Command::Config(ConfigCommand::Openapi { api }) => {
            let document = match api {
                DescribedApi::Admin => openapi_document(),
                DescribedApi::Authenticator => devices::openapi_document(),
            };
            terminal::print(&format!("{document}\n"))
        }
        Command::Admin(AdminCommand::Token(file)) => token(file.path()).await,
        Command::Admin(AdminCommand::Enrolment { user, config }) => {
            enrolment(config.path(), &user).await
        }
        Command::Admin(AdminCommand::RevokeTokens { yes, config }) => {
            revoke_tokens(config.path(), yes).await
        }
        Command::Authenticator(command) => authenticator::run(command).await,
        Command::Explain(arguments) => explain::run(arguments).await,
        Command::Plugins(command) => plugin::run(command).await,
        Command::Completions { shell } => manual::completions(shell, command_line(api)),
        Command::Man(arguments) => manual::run(&arguments, command_line(api)),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// The JSON Schema of the settings file.
pub fn config_schema() -> String {
    let schema = schemars::schema_for!(Settings);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

async fn check(file: &Path) -> anyhow::Result<()> {
    let settings = settings(file)?;
    let specs = plugin_specs(&settings.plugins).with_context(|| file.display().to_string())?;
    let Environment {
        clock, compiler, ..
    } = Environment::of_this_program(file);
    app::identities(&settings, &clock).with_context(|| file.display().to_string())?;
    GeoIp::open(settings.geoip.database_file.as_deref())
        .with_context(|| file.display().to_string())?;
    app::logo(&settings).with_context(|| file.display().to_string())?;
    crate::domain::audit::check_streams(&settings.audit.stream)
        .map_err(anyhow::Error::msg)
        .with_context(|| file.display().to_string())?;
    if let Some(folder) = &settings.plugins.compiled_folder {
        let key = || {
            format!(
                "{}: plugins.compiled_folder: {}",
                file.display(),
                folder.display()
            )
        };
        plugins::check_compiled_folder(folder)
            .map_err(anyhow::Error::msg)
            .with_context(key)?;
    }
    let loaded = plugins::Plugins::load(
        specs,
        plugins::Loader::new(clock, Arc::new(plugins::NoCredentials), compiler, None),
    )
    .await;
    let loaded = loaded.with_context(|| format!("{}: plugins", file.display()))?;
    loaded
        .try_out()
        .await
        .with_context(|| format!("{}: plugins", file.display()))?;
    if !loaded.may_write_attributes() {
        eprintln!(
            "{}: warning: no claim mapper writes attributes, so assertions have none and `custom_attributes` of SAML \
             applications \
             have no effect (the plugin saml-attributes, with writes = [\"attribute:*\"])",
            file.display()
        );
    }
    for note in config::notes(&settings) {
        eprintln!("{}: note: {note}", file.display());
    }
    println!("{}: valid", file.display());
    Ok(())
}

async fn enrolment(file: &Path, user: &str) -> anyhow::Result<()> {
    let services = host_without_plugins(file).await?;
    let name = user.parse()?;
    let user = services
        .store
        .user_by_login(&name)
        .await?
        .with_context(|| format!("there is no user {name}"))?;
    let context = AdminContext::of_operator(Arc::clone(&services));
    let (
        _,
        EnrolmentLink {
            link,
            expires_at: until,
        },
    ) = context.run(&EnrolDevice(user.id)).await?;
    services.store.close().await;
    let hours = until.remaining(services.now()).as_secs().div_ceil(3600);
    eprintln!(
        "{} can enrol one device here within {hours} hours:",
        user.name
    );
    println!("{link}");
    if std::io::stdout().is_terminal() {
        qr_code::print_qr(&link);
    }
    Ok(())
}

async fn revoke_tokens(file: &Path, confirmed: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        confirmed,
        "this ends every session and every token of all users and applications; run it again with --yes"
    );
    let services = host_without_plugins(file).await?;
    let epoch = revoke_all_tokens(&services, &AuditContext::SERVER).await?;
    services.store.close().await;
    println!("All sessions and tokens have ended. The epoch of new tokens is {epoch}.");
    Ok(())
}

async fn token(file: &Path) -> anyhow::Result<()> {
    let services = host_without_plugins(file).await?;
    let (token, until) = admin::issue_admin_token(&services, &AuditContext::SERVER).await?;
    services.store.close().await;
    let minutes = until.remaining(services.now()).as_secs().div_ceil(60);
    eprintln!(
        "A token for {}/admin/api/v1, valid for {minutes} minutes:",
        services.settings.origin()
    );
    println!("{}", token.expose());
    Ok(())
}
