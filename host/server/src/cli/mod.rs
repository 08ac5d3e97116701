//! The command line.

mod api;
mod ask;
mod audit;
mod authenticator;
mod backup;
mod config_check;
mod config_file;
mod doctor;
mod explain;
mod health;
mod log;
mod manifest;
mod manual;
mod master_key;
mod migrate;
mod plugin;
mod receipts;
mod restore;
mod serve;
mod trusted_address;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::cli::config_file::{ConfigFile, host_without_plugins};
use crate::config::Settings;
use crate::domain::admin;
use crate::domain::admin::{AdminContext, EnrolDevice, EnrolmentLink};
use crate::domain::sessions::session::revoke_all_tokens;
use crate::http::admin_api::openapi::text as openapi_document;
use crate::http::devices;
use assent_admin_client::environment::without_empty_variables;
use assent_admin_client::{error, terminal};
use assent_model::audit::AuditContext;

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
    /// Check this installation, and say how to fix each problem.
    Doctor(doctor::Doctor),
    /// Ask the instance on this machine whether it can serve.
    Health(health::Health),
    /// Apply the migrations of this release to the database.
    Migrate(migrate::Migrate),
    Backup(backup::Backup),
    Restore(restore::Restore),
    /// The settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Commands for the operator of this machine.
    #[command(subcommand)]
    Admin(AdminCommand),
    /// The audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Receipts: the signed evidence of answers to approval requests.
    #[command(subcommand)]
    Receipts(receipts::ReceiptsCommand),
    Ask(ask::Ask),
    /// A headless authenticator, for tests and automation.
    #[command(subcommand)]
    Authenticator(authenticator::AuthenticatorCommand),
    /// Explain the claims of an ID token or an assertion: what each plugin did.
    Explain(explain::Explain),
    Apply(manifest::Apply),
    Diff(manifest::Diff),
    Export(manifest::Export),
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
    /// Print a link that enrols a device of a user, for example to replace a lost one.
    Enrolment {
        /// The user's name or email address.
        user: String,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Show the progress of the replacement of the master key, and the next step.
    MasterKey(ConfigFile),
    /// Revoke all access and refresh tokens and end all sessions, for example after the restore of a backup.
    RevokeTokens {
        /// Confirm that every user has to sign in again.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
}

/// Returns the complete command line: the commands of this machine, and those of the admin API.
///
/// # Errors
/// If the OpenAPI document of the admin API cannot be read.
pub fn command_line() -> anyhow::Result<clap::Command> {
    Ok(commands()?.add_to(Arguments::command()))
}

/// Runs the command that the arguments name. Exit codes: 0: success; 1: failure; 2: wrong arguments; 3: the object does
/// not exist; 4: not permitted; 5: the server does not respond. `audit verify`, `migrate --check`, `apply` and `diff`
/// have further codes, and `ask` has its own.
pub fn run() -> ExitCode {
    let done = commands().and_then(|api| {
        let command = without_empty_variables(api.add_to(Arguments::command()));
        let matches = match command.try_get_matches() {
            Ok(matches) => matches,
            // To scripts, the usual code of wrong arguments would be a request that expired.
            Err(error) if error.use_stderr() && names_ask() => {
                error.print()?;
                return Ok(ExitCode::from(ask::ERROR));
            }
            Err(error) => error.exit(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(dispatch(&api, &matches))
    });
    match done {
        Ok(code) => code,
        // The reader of the output closed it, which is not an error.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            terminal::note(format_args!(
                "assent: {}",
                assent_model::printable::lines(&format!("{error:#}"))
            ));
            error
                .downcast_ref::<error::CommandError>()
                .map_or(ExitCode::FAILURE, |failure| failure.kind.code())
        }
    }
}

/// Whether the first argument is that of `assent ask`.
fn names_ask() -> bool {
    std::env::args_os().nth(1).is_some_and(|name| name == "ask")
}

fn commands() -> anyhow::Result<api::Commands> {
    api::Commands::from_document(openapi_document())
}

/// Returns each operation of the admin API by its name, with its method and path, such as `users.list` and `GET
/// /users`.
///
/// # Errors
/// If the API's document cannot be read.
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
        Command::Ask(arguments) => return Ok(Box::pin(ask::run(arguments)).await),
        Command::Receipts(command) => return receipts::run(command).await,
        Command::Doctor(arguments) => return doctor::run(arguments).await,
        Command::Health(arguments) => return health::run(arguments).await,
        Command::Migrate(arguments) => return migrate::run(arguments).await,
        Command::Backup(arguments) => backup::run(arguments).await,
        Command::Restore(arguments) => restore::run(arguments).await,
        Command::Apply(arguments) => return manifest::apply(arguments).await,
        Command::Diff(arguments) => return manifest::diff(arguments).await,
        Command::Export(arguments) => return manifest::export(arguments).await,
        Command::Serve(file) => serve::run(file.path()).await,
        Command::Config(ConfigCommand::Check(file)) => config_check::run(file.path()).await,
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
        Command::Admin(AdminCommand::MasterKey(file)) => master_key::run(file.path()).await,
        Command::Authenticator(command) => authenticator::run(command).await,
        Command::Explain(arguments) => explain::run(arguments).await,
        Command::Plugins(command) => plugin::run(command).await,
        Command::Completions { shell } => manual::completions(shell, command_line()?),
        Command::Man(arguments) => manual::run(&arguments, command_line()?),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Returns the JSON Schema of the settings file.
pub fn config_schema() -> String {
    let schema = schemars::schema_for!(Settings);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
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
    terminal::note(format_args!(
        "{} can enrol one device here within {hours} hours:",
        user.name
    ));
    let advice = "run the command again: a new link replaces this one";
    terminal::print_once(&format!("{link}\n"), advice)?;
    serve::print_qr(&link);
    Ok(())
}

async fn revoke_tokens(file: &Path, confirmed: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        confirmed,
        "this ends every session and every token of all users and applications; run it again with --yes"
    );
    let services = host_without_plugins(file).await?;
    // Otherwise tokens of the replaced sealing key would be valid in the new epoch.
    let replaced = services.sealing_keys.all();
    let seals_from = replaced.iter().map(|key| key.seals_from).max();
    let wait = seals_from.map(|from| from.remaining(services.now()));
    if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
        terminal::note(format_args!(
            "A new sealing key is in use in {} s. Waiting for it.",
            wait.as_secs()
        ));
        tokio::time::sleep(wait + Duration::from_secs(1)).await;
    }
    let epoch = revoke_all_tokens(&services, &AuditContext::SERVER).await?;
    services.store.close().await;
    terminal::report_line(format_args!(
        "All sessions and tokens have ended. The epoch of new tokens is {epoch}."
    ));
    Ok(())
}

async fn token(file: &Path) -> anyhow::Result<()> {
    let services = host_without_plugins(file).await?;
    let (token, until) = admin::issue_admin_token(&services, &AuditContext::SERVER).await?;
    services.store.close().await;
    let minutes = until.remaining(services.now()).as_secs().div_ceil(60);
    terminal::note(format_args!(
        "A token for {}/admin/api/v1, valid for {minutes} minutes:",
        services.settings.origin()
    ));
    terminal::print_once(
        &format!("{}\n", token.expose()),
        "run the command again; the token expires unused",
    )
}
