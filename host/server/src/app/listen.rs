//! The listeners and their certificates.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::error::StartError;
use crate::app::unix_socket;
use crate::config::{ListenAddress, Settings};
use crate::http::ListenSocket;
use crate::http::tls::{Clients, TlsIdentity};
use assent_model::clock::SharedClock;

/// The largest number of connections, if the system grants the process enough descriptors.
const MOST_CONNECTIONS: u64 = 20_000;
/// Below this limit the server logs a warning, because each waiting page and device holds a connection.
const FEW_CONNECTIONS: u64 = 2_000;
/// The number of descriptors that remain for files, the database and outgoing requests.
const OTHER_DESCRIPTORS: u64 = 256;

/// The sockets that an instance serves on.
#[derive(Debug)]
pub struct Ports {
    /// The socket of `http.listen`.
    pub main: ListenSocket,
    /// The socket of `http.mtls.listen`, if it is set.
    pub mtls: Option<ListenSocket>,
    /// The socket of `metrics.listen`, if it is set.
    pub metrics: Option<TcpListener>,
}

/// Opens the sockets that the settings name. This is separate from [`serve`], so that a port that the system chooses
/// (`:0`) is known before the settings name it.
///
/// # Errors
/// If an address cannot be used, for example because another program listens on it.
pub async fn listen(settings: &Settings) -> Result<Ports, StartError> {
    let group = settings.http.socket_group.as_deref();
    let main = bind("http.listen", &settings.http.listen, group).await?;
    let mtls = match settings.http.mtls_listener() {
        Some(mtls) => Some(bind("http.mtls.listen", &mtls.listen, group).await?),
        None => None,
    };
    let metrics = match settings.metrics.listen {
        Some(address) => Some(bind_tcp("metrics.listen", address).await?),
        None => None,
    };
    Ok(Ports {
        main,
        mtls,
        metrics,
    })
}

async fn bind(
    setting: &'static str,
    address: &ListenAddress,
    group: Option<&str>,
) -> Result<ListenSocket, StartError> {
    match address {
        ListenAddress::Tcp(address) => bind_tcp(setting, *address).await.map(ListenSocket::Tcp),
        ListenAddress::Unix(path) => unix_socket::bind(path, group)
            .map(|listener| ListenSocket::Unix(listener, path.clone()))
            .map_err(|reason| StartError::Listen {
                setting,
                address: address.clone(),
                reason,
            }),
    }
}

async fn bind_tcp(setting: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|reason| StartError::Listen {
            setting,
            address: address.into(),
            reason,
        })
}

/// The certificates of the listeners.
#[derive(Debug)]
pub struct Identities {
    pub(super) main: Option<Arc<TlsIdentity>>,
    pub(super) mtls: Option<Arc<TlsIdentity>>,
}

/// Reads the certificates and keys that the settings name.
///
/// # Errors
/// If a file cannot be read, or its content cannot be used.
pub fn identities(settings: &Settings, clock: &SharedClock) -> Result<Identities, StartError> {
    let load = |table, files, clients| {
        TlsIdentity::load(table, files, clients, Arc::clone(clock)).map(Arc::new)
    };
    let (main, mtls) = (settings.http.tls.clone(), settings.http.mtls_listener());
    Ok(Identities {
        main: main
            .map(|files| load("http.tls", files, Clients::Anonymous))
            .transpose()?,
        mtls: mtls
            .map(|mtls| load("http.mtls", mtls.tls, Clients::MayShowCertificate))
            .transpose()?,
    })
}

/// Returns the number of connections that the descriptors of this process permit.
pub(super) fn most_connections() -> usize {
    let descriptors = rlimit::Resource::NOFILE.get_soft().unwrap_or(1024);
    let most = descriptors
        .saturating_sub(OTHER_DESCRIPTORS)
        .max(descriptors / 4)
        .clamp(1, MOST_CONNECTIONS);
    if most < FEW_CONNECTIONS {
        tracing::warn!(
            descriptors,
            limit = most,
            "limit of open files is low: raise `ulimit -n` or LimitNOFILE"
        );
    } else {
        tracing::info!(descriptors, limit = most, "connection limit set");
    }
    usize::try_from(most).unwrap_or(usize::MAX)
}
