//! The server while it serves, and its shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::app::error::StartError;
use crate::app::listen::{Identities, Ports, identities, most_connections};
use crate::app::maintenance::{
    delete_expired, export_metrics, heartbeat, keep_keys, poll_changes, refresh_geoip,
    replace_sealing_keys, write_client_secret_uses,
};
use crate::app::supervision::{Pauses, supervise};
use crate::config::{Http, ListenAddress};
use crate::domain::Services;
use crate::domain::operations::telemetry::metrics::ListenerCertificate;
use crate::http::{ListenSocket, Listener, NewConnectionBounds};
use crate::oidc::{backchannel, backchannel_results};
use crate::{domain, http};

/// The largest number of connections of the metrics listener.
const METRICS_CONNECTIONS: usize = 32;

/// The kind of shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Drain for the time that the settings specify, then stop.
    Drain,
    /// Accept no more requests.
    Now,
}

/// An instance that serves.
#[derive(Debug)]
pub struct RunningServer {
    /// The parts that the instance works with.
    pub services: Arc<Services>,
    /// The address of the main listener.
    pub address: ListenAddress,
    /// The address of the metrics listener, if there is one.
    pub metrics_address: Option<SocketAddr>,
    stop: tokio::sync::watch::Sender<bool>,
    servers: JoinSet<()>,
    /// The background tasks, for example retention, key rotation, logout delivery, approval delivery and the trace
    /// writer.
    background: JoinSet<()>,
}

/// Starts the listeners and the background tasks, and returns without waiting for them.
///
/// # Errors
/// If a certificate cannot be used, or the address of a socket cannot be read.
pub fn serve(services: Arc<Services>, ports: Ports) -> Result<RunningServer, StartError> {
    let Identities {
        main: tls,
        mtls: mtls_identity,
    } = identities(&services.settings, &services.clock)?;
    let certificates = [&tls, &mtls_identity].into_iter().flatten().map(Arc::clone);
    let certificates = certificates.map(|identity| ListenerCertificate {
        table: identity.table(),
        expires_at: Box::new(move || identity.expires_at()),
    });
    // It is set already only if these services are served a second time.
    let _ = services.metrics.certificates.set(certificates.collect());
    let unusable = |reason| StartError::Listen {
        setting: "http.listen",
        address: services.settings.http.listen.clone(),
        reason,
    };
    let address = ports.main.local_address().map_err(unusable)?;
    let metrics_address = ports
        .metrics
        .as_ref()
        .map(TcpListener::local_addr)
        .transpose()
        .map_err(unusable)?;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let front = http::Front::new(Arc::clone(&services));
    let most = most_connections();
    let listener = |socket: ListenSocket, tls, most_connections| Listener {
        socket,
        tls,
        most_connections,
        newcomers: new_connection_bounds(&services.settings.http),
        head_timeout: services.settings.http.head_timeout.get(),
        write_timeout: services.settings.http.write_timeout.get(),
    };
    let mut servers = JoinSet::new();
    let mut most_of_main = most;
    if let (Some(socket), Some(identity)) = (ports.mtls, mtls_identity) {
        // A client that uses up one listener's connections must not use up those of the other.
        let most_of_mtls = most / 4;
        most_of_main -= most_of_mtls;
        let listener = listener(socket, Some(identity), most_of_mtls);
        servers.spawn(http::serve(
            listener,
            front.for_client_certificates(),
            stop_signal(stopped.clone()),
        ));
    }
    if let Some(socket) = ports.metrics {
        let mut listener = listener(socket.into(), None, METRICS_CONNECTIONS);
        // One client must leave connections for others.
        listener.newcomers.most_of_network = METRICS_CONNECTIONS / 4;
        listener.newcomers.exempt.clear();
        servers.spawn(http::serve(
            listener,
            front.for_metrics(&services),
            stop_signal(stopped.clone()),
        ));
    }
    servers.spawn(http::serve(
        listener(ports.main, tls, most_of_main),
        front,
        stop_signal(stopped),
    ));
    let background = start_background(&services);
    Ok(RunningServer {
        services,
        address,
        metrics_address,
        stop,
        servers,
        background,
    })
}

fn start_background(services: &Arc<Services>) -> JoinSet<()> {
    let mut background = JoinSet::new();
    in_background(&mut background, services, "heartbeat", heartbeat);
    in_background(&mut background, services, "retention", delete_expired);
    in_background(&mut background, services, "keys", keep_keys);
    in_background(
        &mut background,
        services,
        "sealing_keys",
        replace_sealing_keys,
    );
    in_background(&mut background, services, "geoip", refresh_geoip);
    in_background(&mut background, services, "changes", poll_changes);
    in_background(&mut background, services, "telemetry", export_metrics);
    in_background(
        &mut background,
        services,
        "client_secret_uses",
        write_client_secret_uses,
    );
    in_background(&mut background, services, "logouts", backchannel::deliver);
    let results = backchannel_results::deliver;
    in_background(&mut background, services, "backchannel_results", results);
    in_background(&mut background, services, "mail", domain::mail::outbox::run);
    let deliveries = domain::approvals::delivery::run;
    in_background(&mut background, services, "approval_channels", deliveries);
    let traces = domain::claims::traces::run_trace_writer;
    in_background(&mut background, services, "claim_traces", traces);
    let requests = domain::operations::recent_requests::run_request_writer;
    in_background(&mut background, services, "client_requests", requests);
    in_background(
        &mut background,
        services,
        "audit_root",
        domain::audit::sign_roots,
    );
    in_background(
        &mut background,
        services,
        "audit_streams",
        domain::audit::stream::run,
    );
    background
}

fn new_connection_bounds(http: &Http) -> NewConnectionBounds {
    NewConnectionBounds {
        most_of_network: usize::try_from(http.connections_per_network).unwrap_or(usize::MAX),
        patience: http.first_request_timeout.get(),
        exempt: http.trusted_proxies.clone(),
    }
}

/// Starts a task that runs until the instance stops.
fn in_background<F>(
    background: &mut JoinSet<()>,
    services: &Arc<Services>,
    name: &'static str,
    task: impl Fn(Arc<Services>) -> F + Send + Sync + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let services = Arc::clone(services);
    background.spawn(async move {
        supervise(&services.task_restarts, Pauses::default(), name, || {
            task(Arc::clone(&services))
        })
        .await;
    });
}

async fn stop_signal(mut stopped: tokio::sync::watch::Receiver<bool>) {
    // An error means that the sender is gone, which has the same meaning: stop.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

impl RunningServer {
    /// Serves until a signal arrives or the server fails, then finishes the requests in progress. A second signal ends
    /// the draining that the first signal began.
    pub async fn until(mut self, mut signals: mpsc::Receiver<Shutdown>) {
        let shutdown = tokio::select! {
            signal = signals.recv() => signal.unwrap_or(Shutdown::Now),
            _ = self.servers.join_next() => Shutdown::Now,
        };
        if shutdown == Shutdown::Drain {
            let time = self.services.settings.http.drain_time;
            tracing::info!(%time, "draining");
            self.services.draining.begin();
            tokio::select! {
                () = tokio::time::sleep(time.get()) => {}
                _ = signals.recv() => {}
                _ = self.servers.join_next() => {}
            }
        }
        self.stop().await;
    }

    /// Finishes the requests in progress, and closes the database.
    pub async fn stop(mut self) {
        // This ends long polls too, so that the requests in progress end in time.
        self.services.draining.begin();
        // There is no receiver if the server has failed.
        let _ = self.stop.send(true);
        self.background.shutdown().await;
        while self.servers.join_next().await.is_some() {}
        domain::approvals::delivery::return_leases(&self.services).await;
        if let Err(error) = self.services.store.write_client_secret_uses().await {
            tracing::debug!(%error, "last uses of client secrets not written");
        }
        self.services.store.close().await;
    }
}
