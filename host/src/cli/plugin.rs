//! `assent plugin`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::Value;

use super::{ConfigFile, host_without_plugins, number, text};
use crate::config::Settings;
use crate::domain::admin;
use crate::model::audit::By;
use crate::plugins::{self, Compiler};

/// How long the server may take to compile and try out every plugin.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// Say what a component is, what it asks for and what it would write.
    Check {
        /// The component.
        file: PathBuf,
    },
    /// Say which plugins the server on this machine has, and what their calls used.
    List(ConfigFile),
    /// Have the server on this machine read the plugins' settings anew and exchange its plugins, without a restart.
    ///
    /// Where anything is wrong, the plugins that were there go on, and this says why. SIGHUP does the same; its answer is in
    /// the log.
    Reload(ConfigFile),
}

pub(super) async fn run(command: PluginCommand) -> anyhow::Result<()> {
    match command {
        PluginCommand::Check { file } => check(&file).await,
        PluginCommand::List(file) => list(&call(&file.config, reqwest::Method::GET, "/plugins").await?),
        PluginCommand::Reload(file) => {
            let before = call(&file.config, reqwest::Method::GET, "/plugins").await?;
            let after = call(&file.config, reqwest::Method::POST, "/plugins/reload").await?;
            exchanged(&before, &after);
            list(&after)
        }
    }
}

async fn check(file: &Path) -> anyhow::Result<()> {
    let found = plugins::inspect(file, &Compiler::of_this_program()).await;
    let found = found.with_context(|| file.display().to_string())?;
    println!("{} {} ({} bytes)", found.description.name, found.description.version, found.size);
    println!("  {}", found.description.summary);
    println!("  sha256   {}", found.sha256);
    println!("  role     {} ({} {})", found.world.role(), found.world.package(), found.contract_version);
    println!("  imports  {}", or_none(&found.imports));
    println!("  writes   {}", or_none(&found.description.writes));
    if !found.description.hosts.is_empty() {
        println!("  hosts    {}", or_none(&found.description.hosts));
    }
    Ok(())
}

fn or_none(list: &[String]) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}

/// Says what was exchanged: which components are others than before.
fn exchanged(before: &Value, after: &Value) {
    let plugins = |answer: &Value| answer.get("plugins").and_then(Value::as_array).cloned().unwrap_or_default();
    let known = plugins(before);
    for plugin in plugins(after) {
        let name = text(&plugin, "/plugin");
        let old = known.iter().find(|old| text(old, "/plugin") == name);
        match old {
            None => eprintln!("new: {name} {} ({})", text(&plugin, "/version"), digest(&plugin)),
            Some(old) if text(old, "/sha256") != text(&plugin, "/sha256") => eprintln!(
                "exchanged: {name} {} ({}) -> {} ({})",
                text(old, "/version"),
                digest(old),
                text(&plugin, "/version"),
                digest(&plugin)
            ),
            Some(_) => {}
        }
    }
    eprintln!("The plugins were exchanged.");
}

/// The first digits of a component's digest.
fn digest(plugin: &Value) -> String {
    text(plugin, "/sha256").chars().take(12).collect()
}

/// One line for each plugin.
fn list(answer: &Value) -> anyhow::Result<()> {
    let plugins = answer.get("plugins").and_then(Value::as_array).context("the server's answer can't be read")?;
    println!(
        "{:<24} {:<28} {:<9} {:<13} {:>9} {:>8} {:>8} {:>7}",
        "PLUGIN", "ROLE", "VERSION", "SHA256", "CALLS", "P50 us", "P99 us", "FAULTS"
    );
    for plugin in plugins {
        println!(
            "{:<24} {:<28} {:<9} {:<13} {:>9} {:>8} {:>8} {:>7}",
            text(plugin, "/plugin"),
            text(plugin, "/role"),
            text(plugin, "/version"),
            digest(plugin),
            number(plugin, "/measured/calls"),
            number(plugin, "/measured/time_us/p50"),
            number(plugin, "/measured/time_us/p99"),
            number(plugin, "/measured/faults"),
        );
    }
    let changed = answer.pointer("/last_reload/needs_restart").and_then(Value::as_array);
    for table in changed.into_iter().flatten() {
        eprintln!("{} changed too; that counts after a restart", text(table, ""));
    }
    Ok(())
}

/// Calls the admin API of the server that listens on this machine, with a token of its database.
async fn call(file: &Path, method: reqwest::Method, path: &str) -> anyhow::Result<Value> {
    let host = host_without_plugins(file).await?;
    // It goes to whoever listens there, so it is good for this call alone.
    let (token, _) = admin::issue_admin_token_for(&host, PATIENCE, &By::HOST).await?;
    host.store.close().await;
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
    let (client, origin) = reach(client, &host.settings);
    let request = client.build()?.request(method, format!("{origin}/admin/api/v1{path}"));
    let sent = request.bearer_auth(token.expose()).send().await;
    let answer = sent.with_context(|| {
        format!("no server answers at {}; is `assent serve` running with these settings?", host.settings.http.listen)
    })?;
    let status = answer.status();
    let body: Value = answer.json().await.context("the server's answer can't be read")?;
    if !status.is_success() {
        bail!("{}", body.get("detail").and_then(Value::as_str).unwrap_or("the server did not say why"));
    }
    Ok(body)
}

/// The way to the listener of this machine, whatever stands before it: a client and the address to call.
fn reach(client: reqwest::ClientBuilder, settings: &Settings) -> (reqwest::ClientBuilder, String) {
    let listen = settings.http.listen;
    let address = match listen.ip() {
        IpAddr::V4(any) if any.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, listen.port())),
        IpAddr::V6(any) if any.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, listen.port())),
        _ => listen,
    };
    match (&settings.http.tls, settings.base_url.host_str()) {
        // The certificate is for the name that people use.
        (Some(_), Some(name)) => (client.resolve(name, address), format!("https://{name}:{}", address.port())),
        _ => (client, format!("http://{address}")),
    }
}
