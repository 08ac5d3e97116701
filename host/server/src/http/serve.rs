//! Serving connections, with limits that hold before there is a request to look at.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio_io_timeout::TimeoutStream;

use super::prebuilt::Front;
use super::tls::TlsIdentity;
use crate::config::IpNetwork;
use crate::domain::operations::rate_limits::{ConcurrencyLimit, Network};
use crate::http::forwarded::is_trusted;
use crate::http::handshake::HandshakeCredentials;
use crate::http::oidc::client_certificate::ClientCertificate;

/// How long requests under way may take once the server is told to stop.
const GOODBYE: Duration = Duration::from_secs(5);
/// How much of a connection is held in memory in each direction, in bytes. A head of a request that is longer is
/// answered with a bare 431; half of that is the most that the router takes, which answers with a page.
const BUFFER: usize = 64 * 1024;

/// A listener, and how it treats connections.
#[derive(Debug)]
pub struct Listener {
    /// Where connections come.
    pub socket: TcpListener,
    /// What it needs to speak TLS, if it does.
    pub tls: Option<Arc<TlsIdentity>>,
    /// How many connections there may be; a further one waits until another ends.
    pub most_connections: usize,
    /// How many connections one network may have, and how long a new one may take for its handshake and for the head of
    /// its first request.
    pub newcomers: NewConnectionBounds,
    /// How long a connection may take for a request's head, and wait for its next request.
    pub head_timeout: Duration,
    /// How long a client may leave an answer unread.
    pub write_timeout: Duration,
}

/// Bounds of connections that hold before there is a request, so that no single client uses all connections up.
#[derive(Debug)]
pub struct NewConnectionBounds {
    /// How many connections there may be from one IPv4 address, or from the first 64 bits of an IPv6 address. A further
    /// one is closed at once.
    pub most_of_network: usize,
    /// How long the handshake may take, and then the head of the first request.
    pub patience: Duration,
    /// Proxies, exempt from these bounds because they forward the requests of all clients.
    pub exempt: Vec<IpNetwork>,
}

/// Serves until `stop` is done, then lets requests under way end.
pub async fn serve(listener: Listener, front: Front, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(listener.most_connections));
    let networks = Arc::new(ConcurrencyLimit::new(listener.newcomers.most_of_network));
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.socket.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let is_exempt = is_trusted(peer.ip(), &listener.newcomers.exempt);
                let network = Network::from(Some(peer.ip()));
                let held = if is_exempt {
                    None
                } else {
                    networks.hold(network)
                };
                if !is_exempt && held.is_none() {
                    tracing::debug!(%peer, "connection closed: limit of the network exceeded");
                    continue;
                }
                let connection = HttpConnection {
                    peer,
                    front: front.clone(),
                    patience: if is_exempt {
                        listener.head_timeout
                    } else {
                        listener.newcomers.patience
                    },
                    head_timeout: listener.head_timeout,
                    write_timeout: listener.write_timeout,
                    watcher: graceful.watcher(),
                };
                let tls = listener.tls.clone();
                tokio::spawn(async move {
                    connection.serve(stream, tls).await;
                    drop((place, held));
                });
            }
            // Out of descriptors, or the peer went away at once: neither ends the server.
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener.socket);
    // Waiting pages and phones hold their connections open; they come again when the server is back.
    let _ = tokio::time::timeout(GOODBYE, graceful.shutdown()).await;
}

struct HttpConnection {
    peer: SocketAddr,
    front: Front,
    patience: Duration,
    head_timeout: Duration,
    write_timeout: Duration,
    watcher: Watcher,
}

impl HttpConnection {
    async fn serve(self, stream: TcpStream, tls: Option<Arc<TlsIdentity>>) {
        // An answer is written whole, so holding it back to fill a packet only delays it.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.write_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = tls else {
            return self.requests(stream, None, None).await;
        };
        let proved = tls.asks_for_certificates().then_some(HandshakeCredentials);
        match tokio::time::timeout(self.patience, tls.accept(stream)).await {
            Ok(Ok((stream, certificate))) => self.requests(stream, proved, certificate).await,
            Ok(Err(error)) => tracing::debug!(peer = %self.peer, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(peer = %self.peer, "TLS handshake timed out"),
        }
    }

    async fn requests(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        proved: Option<HandshakeCredentials>,
        shown: Option<ClientCertificate>,
    ) {
        let Self {
            peer,
            front,
            patience,
            head_timeout,
            watcher,
            ..
        } = self;
        let first = Arc::new(Notify::new());
        let begun = Arc::clone(&first);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            begun.notify_one();
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if let Some(proved) = proved {
                request.extensions_mut().insert(proved);
            }
            if let Some(certificate) = &shown {
                request.extensions_mut().insert(certificate.clone());
            }
            let front = front.clone();
            async move { Ok::<_, Infallible>(front.respond(request).await) }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout);
        builder.max_buf_size(BUFFER).max_header_size(BUFFER);
        let served = watcher.watch(builder.serve_connection(TokioIo::new(stream), service));
        // Ends where the first request is late, and never once it came.
        let late = async {
            if tokio::time::timeout(patience, first.notified())
                .await
                .is_ok()
            {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            result = served => if let Err(error) = result {
                tracing::debug!(%peer, %error, "connection aborted");
            },
            () = late => tracing::debug!(%peer, "first request of a connection timed out"),
        }
    }
}
