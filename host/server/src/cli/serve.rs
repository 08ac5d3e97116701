//! `assent serve`

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::app;
use crate::app::Environment;
use crate::app::serve::Shutdown;
use crate::cli::config_file::{check_user, settings};
use crate::cli::log;
use crate::config::Settings;
use crate::domain::Services;
use crate::domain::operations::bootstrap::BootstrapResult;
use crate::otlp::TraceExport;
use assent_admin_client::terminal;
use assent_model::audit::AuditContext;

pub(super) async fn run(file: &Path) -> anyhow::Result<()> {
    let settings = settings(file)?;
    check_user(&settings.database.url)?;
    let of_this_program = Environment::of_this_program(file);
    let collector = app::collector(&settings, &of_this_program.entropy)?;
    let is_traced = settings.telemetry.traced_share > 0.0;
    let export = collector
        .clone()
        .filter(|_| is_traced)
        .map(TraceExport::start);
    // The guard is dropped at the end of this function, after all lines are written.
    let log = log::start(&settings.log, export.as_ref())?;
    // Each waiting page and device keeps a connection open. The usual soft limit exists only for old programs.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "limit of open files not raised");
    }
    let ports = app::listen::listen(&settings).await?;
    let surroundings = Environment {
        dropped_log_lines: Some(log.lost.clone()),
        collector,
        serves: true,
        ..of_this_program
    };
    let services = app::compose(settings, surroundings).await?;
    let made = app::prepare_bootstrap(&services).await?;
    let running = app::serve::serve(services, ports)?;
    tracing::info!(address = %running.address, issuer = running.services.issuer, "serving");
    let settings = &running.services.settings;
    if settings.is_https()
        && settings.http.tls.is_none()
        && settings.http.trusted_proxies.is_empty()
        && settings.http.listen.socket().is_none()
    {
        tracing::warn!(
            "http.trusted_proxies is empty: behind a proxy, devices cannot show the location of a sign-in, and all \
             users share the rate limits of one IP address"
        );
    }
    // The handlers are installed before the server reports that it is ready, because signals may arrive from then on.
    let terminate = signal(SignalKind::terminate())?;
    let interrupt = signal(SignalKind::interrupt())?;
    let hang_up = signal(SignalKind::hangup())?;
    let reloading = tokio::spawn(reload_plugins(Arc::clone(&running.services), hang_up));
    greet(&running.services.settings, file, made.as_ref());
    notify_systemd(NotifyState::Ready);
    let (sender, signals) = mpsc::channel(1);
    let forwarding = tokio::spawn(forward(terminate, interrupt, sender));
    running.until(signals).await;
    forwarding.abort();
    reloading.abort();
    if let Some(export) = export {
        export.finish().await;
    }
    tracing::info!("stopped");
    Ok(())
}

/// Reports the state of the service to systemd (sd_notify(3)); does nothing if another program started this one.
fn notify_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "systemd not notified");
    }
}

/// Forwards the signals that stop the server. After Ctrl-C a user waits for the end, and there is no load balancer.
async fn forward(mut terminate: Signal, mut interrupt: Signal, to: mpsc::Sender<Shutdown>) {
    loop {
        let shutdown = tokio::select! {
            _ = terminate.recv() => Shutdown::Drain,
            _ = interrupt.recv() => Shutdown::Now,
        };
        notify_systemd(NotifyState::Stopping);
        if to.send(shutdown).await.is_err() {
            return;
        }
    }
}

/// Reloads the plugins whenever the operator requests it. The log has the result.
async fn reload_plugins(services: Arc<Services>, mut signal: Signal) {
    while signal.recv().await.is_some() {
        // The log has the reason of a failure, and the previous plugins stay in use.
        let reloading =
            crate::domain::operations::plugins::exchange::reload(&services, &AuditContext::SERVER);
        // After a panic the next signal reloads the plugins again.
        if AssertUnwindSafe(reloading).catch_unwind().await.is_err() {
            tracing::error!("reload of the plugins panicked");
        }
    }
}

/// Returns a path as a word of a shell's command line.
fn in_shell(path: &OsStr) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Prints the next steps for the user who started the server. The link of the first owner is shown on a terminal only,
/// because others may read a journal or the log of a container.
fn greet(settings: &Settings, file: &Path, made: Option<&BootstrapResult>) {
    let origin = settings.origin();
    let first = settings.bootstrap.as_ref();
    let demo = first.and_then(|first| first.demo.as_ref());
    let start = demo
        .and_then(|demo| url::Url::parse(&demo.redirect_uri).ok())
        .and_then(|url| url.join("/").ok());
    let administrator = first.map_or("NAME", |first| first.administrator.as_str());
    let shown = made.filter(|_| std::io::stdout().is_terminal());
    terminal::report_line("");
    if shown.is_none() {
        let program = std::env::args_os().next();
        let program = in_shell(program.as_deref().unwrap_or("assent".as_ref()));
        let file = in_shell(file.as_os_str());
        terminal::report_line(format_args!("Authenticator:    {origin}/authenticator"));
        terminal::report_line(format_args!(
            "New enrolment link:  {program} admin enrolment {administrator} --config {file}"
        ));
    }
    if let Some(start) = start {
        terminal::report_line(format_args!("Try the sign-in:  {start}"));
    }
    terminal::report_line(format_args!("The console:      {origin}/admin\n"));
    if let Some(made) = shown {
        terminal::report_line(format_args!(
            "Enrol a device for \"{administrator}\" (valid once):"
        ));
        print_qr(&made.enrolment_link);
        terminal::report_line(format_args!("  {}", made.enrolment_link));
    }
}

/// Prints a link as a QR code, if standard output is a terminal. A log or another program needs only the link.
pub(super) fn print_qr(link: &str) {
    if std::io::stdout().is_terminal()
        && let Ok(code) = qrcode::QrCode::new(link)
    {
        terminal::report_line(format_args!(
            "{}",
            code.render::<qrcode::render::unicode::Dense1x2>()
                .quiet_zone(true)
                .build()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::in_shell;

    #[test]
    fn a_path_is_one_word_of_a_command_line() {
        for (path, word) in [
            ("target/debug/assent", "target/debug/assent"),
            ("/srv/my id/assent.toml", "'/srv/my id/assent.toml'"),
            ("it's;$(id)", r"'it'\''s;$(id)'"),
            ("", "''"),
        ] {
            assert_eq!(in_shell(path.as_ref()), word);
        }
    }
}
