//! The connection of a command: to a server by its address, or to the instance on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use reqwest::ClientBuilder;
use url::Url;

use assent_admin_client::connection::{self, Api, PATIENCE};
use assent_admin_client::error::CommandError;
use assent_model::audit::AuditContext;
use assent_model::secret::Secret;

use crate::cli::config_file::{ConfigFile, host_without_plugins};
use crate::config::{ListenAddress, Settings};
use crate::domain::admin;

/// The server and the token of a command. Without an address it is the instance on this machine, which needs no token.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(in crate::cli) struct ConnectionArguments {
    #[command(flatten)]
    remote: connection::ServerConnection,
    #[command(flatten)]
    config: ConfigFile,
}

impl ConnectionArguments {
    /// The admin API, with a token for it.
    ///
    /// # Errors
    /// [`CommandError`] if the arguments do not lead to an API.
    pub(in crate::cli) async fn api(&self) -> anyhow::Result<Api> {
        if let Some(server) = &self.remote.server {
            return Api::at_server(&self.remote, server);
        }
        let token = self.remote.token()?;
        here(self.remote.client()?.no_proxy(), self.config.path(), token).await
    }
}

/// Connects to the listener of this machine, independent of a proxy before it. Without a specified token, it creates
/// one in the database.
async fn here(client: ClientBuilder, file: &Path, token: Option<Secret>) -> anyhow::Result<Api> {
    if !file.exists() {
        return Err(CommandError::usage(format!(
            "there are no settings at {}; name the file with --config, or a server with --server",
            file.display()
        )));
    }
    let settings = crate::cli::config_file::settings(file)?;
    let (client, address) = reach(client, &settings);
    let socket = settings.http.listen.socket().map(Path::to_owned);
    let token = match token {
        Some(token) => token,
        None => {
            let host = host_without_plugins(file).await?;
            // Another program may listen there, though not one of another user. So the token is valid only for a short
            // time.
            let (token, _) =
                admin::issue_admin_token_for(&host, PATIENCE, &AuditContext::SERVER).await?;
            host.store.close().await;
            Secret::new(token.expose())
        }
    };
    let base = Url::parse(&address).context("the address of the listener")?;
    match socket {
        Some(socket) => Api::at_socket(client, &socket, base, token),
        None => Api::connect(client, base, token),
    }
}

/// Returns a client for the listener of this machine, and its address.
pub(in crate::cli) fn reach(client: ClientBuilder, settings: &Settings) -> (ClientBuilder, String) {
    let listen = match &settings.http.listen {
        ListenAddress::Tcp(listen) => *listen,
        ListenAddress::Unix(socket) => {
            return (
                client.unix_socket(socket.as_path()),
                "http://localhost".to_owned(),
            );
        }
    };
    let address = match listen.ip() {
        IpAddr::V4(any) if any.is_unspecified() => {
            SocketAddr::from((Ipv4Addr::LOCALHOST, listen.port()))
        }
        IpAddr::V6(any) if any.is_unspecified() => {
            SocketAddr::from((Ipv6Addr::LOCALHOST, listen.port()))
        }
        _ => listen,
    };
    match (&settings.http.tls, settings.base_url.host_str()) {
        // The certificate is for the public name.
        (Some(_), Some(name)) => (
            client.resolve(name, address),
            format!("https://{name}:{}", address.port()),
        ),
        _ => (client, format!("http://{address}")),
    }
}
