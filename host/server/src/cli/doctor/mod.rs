//! `assent doctor`

mod address;
mod database;
mod disk;
mod finding;
mod local;
mod services;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::config_check;
use crate::cli::config_file::{ConfigFile, check_user, settings};
use assent_admin_client::terminal;
use finding::{Finding, Level};

/// Check this installation, and say how to fix each problem.
///
/// It reads the settings and loads the plugins, and then checks the database, the clock, the disk, the base URL as
/// clients reach it, the proxy's headers, the TLS certificate, the SMTP server and the hosts of approval channels. It
/// changes nothing. Run it as the server's user, while the server runs. The exit code is 1 if there is a problem, and 0
/// if there are only warnings.
#[derive(Args, Debug)]
pub(super) struct Doctor {
    /// Print the findings as JSON: a list of `check`, `level` (ok, warning, problem), `text` and `advice`.
    #[arg(long)]
    json: bool,
    /// A file with a certificate authority in PEM form that clients of the base URL trust, beside those of the system.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Doctor) -> anyhow::Result<ExitCode> {
    let findings = examine(&arguments).await;
    if arguments.json {
        terminal::report_line(serde_json::to_string_pretty(&findings)?);
    } else {
        for finding in &findings {
            terminal::report(assent_model::printable::lines(&finding.to_string()));
        }
    }
    let has_problem = findings.iter().any(|one| one.level == Level::Problem);
    Ok(if has_problem {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn examine(arguments: &Doctor) -> Vec<Finding> {
    let file = arguments.config.path();
    // This comes before the plugins are loaded, which needs the server's user too.
    if let Ok(settings) = settings(file)
        && let Err(error) = check_user(&settings.database.url)
    {
        return vec![Finding::problem("user", error.to_string(), "")];
    }
    let checked = match config_check::check(file).await {
        Ok(checked) => checked,
        Err(error) => {
            let advice = "Correct the settings; the other checks need them.";
            return vec![Finding::problem("settings", format!("{error:#}"), advice)];
        }
    };
    let mut findings = vec![Finding::ok(
        "settings",
        format!("{} is valid", file.display()),
    )];
    let notes = checked.warnings.into_iter().chain(checked.notes);
    findings.extend(notes.map(|note| Finding::warning("settings", note, "")));
    let settings = &checked.settings;
    findings.extend(local::environment_file(file));
    findings.extend(local::socket(settings).await);
    findings.extend(services::plugin_digests(&settings.plugins));
    findings.extend(database::examine(settings).await);
    findings.extend(disk::examine(settings));
    findings.extend(address::examine(settings, arguments.ca.as_deref()).await);
    findings.extend(services::examine(settings).await);
    findings
}
