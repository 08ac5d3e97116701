//! `assent serve`

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::app;
use crate::app::Surroundings;
use crate::cli::config_file::settings;
use crate::cli::qr_code::print_qr;
use crate::config::{Log, LogFormat, Settings};
use crate::domain::Host;
use crate::domain::operations::bootstrap::BootstrapResult;
use assent_model::audit::AuditContext;
use assent_store::QUIET;

pub(super) async fn run(file: &Path) -> anyhow::Result<()> {
    let settings = settings(file)?;
    start_log(&settings.log)?;
    // Each waiting page and phone holds a connection open. The usual soft limit is there for programs of long ago.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let ports = app::listen(&settings).await?;
    let host = app::compose(settings, Surroundings::of_this_program(file)).await?;
    let made = app::prepare_bootstrap(&host).await?;
    let running = app::serve(host, ports)?;
    tracing::info!(address = %running.address, issuer = running.host.issuer, "serving");
    let settings = &running.host.settings;
    if settings.is_https()
        && settings.http.tls.is_none()
        && settings.http.trusted_proxies.is_empty()
    {
        tracing::warn!(
            "http.trusted_proxies is empty: behind a proxy, people will not see on the phone where a sign-in comes \
             from, and all of them share the rate limits of one address"
        );
    }
    // Before anybody is told that it serves, and may want something of it.
    let mut terminate = signal(SignalKind::terminate())?;
    let hang_up = signal(SignalKind::hangup())?;
    let reloading = tokio::spawn(reload_plugins(Arc::clone(&running.host), hang_up));
    greet(&running.host.settings, made.as_ref());
    running
        .until(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        })
        .await;
    reloading.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Exchanges the plugins whenever the operator asks for it. How it went is in the log.
async fn reload_plugins(host: Arc<Host>, mut asked: Signal) {
    while asked.recv().await.is_some() {
        // The log has said why it failed, and those that were there go on.
        let _ = crate::domain::operations::plugins::reload(&host, &AuditContext::SERVER).await;
    }
}

fn start_log(log: &Log) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&log.level).map_err(|error| anyhow::anyhow!("log.level: {error}"))?;
    let filter = filter.add_directive(QUIET.parse()?);
    let colour = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colour)
        .with_writer(std::io::stderr);
    match log.format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}

/// Tells whoever started the host where to go on.
fn greet(settings: &Settings, made: Option<&BootstrapResult>) {
    let origin = settings.origin();
    let demo = settings
        .bootstrap
        .as_ref()
        .and_then(|first| first.demo.as_ref());
    let start = demo
        .and_then(|demo| url::Url::parse(&demo.redirect_uri).ok())
        .and_then(|url| url.join("/").ok());
    println!();
    match (made, settings.bootstrap.as_ref()) {
        (Some(made), Some(first)) => {
            println!(
                "Enrol an authenticator for \"{}\" (good once):\n  {}",
                first.administrator, made.enrolment_link
            );
            print_qr(&made.enrolment_link);
        }
        _ => println!(
            "Your authenticator: {origin}/authenticator (a new link: assent admin enrolment NAME)"
        ),
    }
    if let Some(start) = start {
        println!("Try the sign-in:  {start}");
    }
    println!("The console:      {origin}/admin\n");
}
