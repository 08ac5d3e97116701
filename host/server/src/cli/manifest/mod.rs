//! `assent apply`, `assent diff` and `assent export`: configuration as code.

mod approval;
mod files;
mod plan;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::api::connection::ConnectionArguments;
use assent_admin_client::connection::{Api, Problem};
use assent_admin_client::error::{CommandError, ErrorKind};
use assent_admin_client::terminal;
use plan::Plan;

/// The exit code of `diff` if there are changes, as of `migrate --check`.
const DIFFERENT: u8 = 6;
/// The exit code if the plan differs from the displayed one.
const PLAN_CHANGED: u8 = 7;
/// The exit code if the user declined the changes.
const DECLINED: u8 = 8;

/// The manifest, and its server.
#[derive(Debug, Args)]
struct ManifestArguments {
    /// A manifest in TOML or JSON, or a folder with several; - is standard input. Several of one owner are joined.
    #[arg(long = "file", short = 'f', value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Delete the objects of the owner that the manifest does not name.
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

/// Apply a manifest of applications, groups and access.
///
/// Shows the changes, asks for confirmation, and applies all of them in one transaction. Exit codes: 0 applied, or
/// nothing to do; 7 an object changed after the plan was shown; 8 declined.
#[derive(Debug, Args)]
pub(super) struct Apply {
    #[command(flatten)]
    manifest: ManifestArguments,
    /// Do not ask for confirmation.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Have this administrator approve the plan on a device.
    #[arg(long, value_name = "NAME")]
    approve_by: Option<String>,
}

/// Show the changes that a manifest makes.
///
/// Exit codes: 0 no changes; 6 there are changes.
#[derive(Debug, Args)]
pub(super) struct Diff {
    #[command(flatten)]
    manifest: ManifestArguments,
}

/// Export the objects of a manifest owner as a manifest.
///
/// It has no ids and no secrets.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The owner. Without it, the only existing one.
    #[arg(long)]
    owner: Option<String>,
    /// The format.
    #[arg(long, value_enum, default_value_t)]
    format: ManifestFormat,
    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ManifestFormat {
    #[default]
    Toml,
    Json,
}

/// A manifest with its server.
struct Target {
    api: Api,
    manifest: Value,
    prune: bool,
}

impl ManifestArguments {
    async fn target(&self) -> anyhow::Result<Target> {
        let manifest = files::read(&self.files)?;
        Ok(Target {
            api: self.connection.api().await?,
            manifest,
            prune: self.prune,
        })
    }
}

impl Target {
    async fn plan(&self) -> anyhow::Result<Plan> {
        let request = self.api.request(Method::POST, &["plans".to_owned()], &[]);
        let body = json!({"manifest": self.manifest, "prune": self.prune});
        let answer = self.api.send(request.json(&body), |_| None).await?;
        self.api.parse(&self.api.bytes(answer).await?)
    }

    /// Applies the plan with this digest.
    async fn apply(
        &self,
        digest: &str,
        approve_by: Option<&str>,
    ) -> anyhow::Result<Result<(), Problem>> {
        let parts = ["plans".to_owned(), "apply".to_owned()];
        let mut body = json!({"manifest": self.manifest, "prune": self.prune, "digest": digest});
        if let (Some(name), Some(members)) = (approve_by, body.as_object_mut()) {
            members.insert("approve_by".to_owned(), json!(name));
        }
        let request = || self.api.request(Method::POST, &parts, &[]).json(&body);
        let problem = match self.api.answer(request()).await? {
            Ok(_) => return Ok(Ok(())),
            Err(problem) => problem,
        };
        let (Some(name), Some(pending)) = (approve_by, approval::pending_approval(&problem)) else {
            return Ok(Err(problem));
        };
        if !approval::wait_for_decision(&self.api, name, &pending).await? {
            return Ok(Err(problem));
        }
        let request = request().header(approval::HEADER, pending.id);
        Ok(self.api.answer(request).await?.map(|_| ()))
    }
}

pub(super) async fn diff(arguments: Diff) -> anyhow::Result<ExitCode> {
    let plan = arguments.manifest.target().await?.plan().await?;
    terminal::report(plan.text());
    Ok(match plan.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(DIFFERENT),
    })
}

pub(super) async fn apply(arguments: Apply) -> anyhow::Result<ExitCode> {
    let mut target = arguments.manifest.target().await?;
    let plan = target.plan().await?;
    let shown = terminal::print(&plan.text());
    if plan.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes {
        if !terminal::is_interactive() || arguments.manifest.reads_standard_input() {
            return Err(CommandError::usage(
                "confirmation is not possible without a terminal; use --yes to confirm",
            ));
        }
        // An unread plan cannot be confirmed.
        shown
            .map_err(|error| anyhow!("the plan cannot be shown ({error}); nothing was changed"))?;
        if terminal::confirm("Apply these changes?", "yes").is_err() {
            terminal::note("assent: declined; nothing was changed");
            return Ok(ExitCode::from(DECLINED));
        }
        // The user may take longer to read the plan than the token is valid.
        target.api = arguments.manifest.connection.api().await?;
    }
    let approve_by = arguments.approve_by.as_deref();
    match target.apply(&plan.digest, approve_by).await? {
        Ok(()) => {
            terminal::report_line("Applied.");
            Ok(ExitCode::SUCCESS)
        }
        Err(problem) if problem.kind() == "urn:assent:problem:plan-changed" => {
            terminal::note(format_args!(
                "assent: an object of the plan changed after the plan was shown; nothing was applied. Run the command \
                 again"
            ));
            Ok(ExitCode::from(PLAN_CHANGED))
        }
        Err(problem) if problem.kind() == "urn:assent:problem:approval-required" => {
            terminal::note("assent: the plan was not approved; nothing was changed");
            Ok(ExitCode::from(DECLINED))
        }
        Err(problem) => Err(problem.into_error(|_| None)),
    }
}

impl ManifestArguments {
    fn reads_standard_input(&self) -> bool {
        self.files.iter().any(|file| file.as_os_str() == "-")
    }
}

pub(super) async fn export(arguments: Export) -> anyhow::Result<ExitCode> {
    let api = arguments.connection.api().await?;
    let owner = match arguments.owner {
        Some(owner) => owner,
        None => only_owner(&api).await?,
    };
    let (manifest, _) = api.read(&["manifests".to_owned(), owner], &[]).await?;
    let text = match arguments.format {
        ManifestFormat::Json => format!("{manifest:#}\n"),
        ManifestFormat::Toml => toml::to_string_pretty(&manifest)?,
    };
    terminal::print(&assent_model::printable::lines(&text))?;
    Ok(ExitCode::SUCCESS)
}

async fn only_owner(api: &Api) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    struct Owners {
        items: Vec<Owner>,
    }
    #[derive(Deserialize)]
    struct Owner {
        owner: String,
    }
    let (owners, _) = api.read(&["manifests".to_owned()], &[]).await?;
    let Owners { items } = serde_json::from_value(owners)?;
    let names: Vec<String> = items.into_iter().map(|one| one.owner).collect();
    match names.as_slice() {
        [owner] => Ok(owner.clone()),
        [] => Err(CommandError::with_kind(
            ErrorKind::NotFound,
            "no manifest manages anything yet",
        )),
        several => Err(CommandError::usage(format!(
            "there are several owners; name one of them with --owner: {}",
            several.join(", ")
        ))),
    }
}
