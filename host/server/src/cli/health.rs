//! `assent health`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::cli::api::connection::reach;
use crate::cli::config_file::{ConfigFile, settings};
use assent_admin_client::terminal;

/// The timeout of the request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Ask the instance on this machine whether it can serve, as GET /readyz does. The exit code is 0 if it can.
///
/// For health checks of containers.
#[derive(Args, Debug)]
pub(super) struct Health {
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) async fn run(arguments: Health) -> anyhow::Result<ExitCode> {
    let settings = settings(arguments.config.path())?;
    // The request contains no secret, and the response only says whether this instance serves.
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT)
        .tls_danger_accept_invalid_certs(true);
    let (client, address) = reach(client, &settings);
    let answer = client
        .build()?
        .get(format!("{address}/readyz"))
        .send()
        .await
        .with_context(|| format!("no instance answers at {address}"))?;
    let code = if answer.status().is_success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    terminal::report(assent_model::printable::lines(&answer.text().await?));
    Ok(code)
}
