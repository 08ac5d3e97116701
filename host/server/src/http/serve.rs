//! Serving connections, with limits that apply before a request exists.

use std::convert::Infallible;
use std::future::Future;
use std::io::ErrorKind;
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

use super::prebuilt::Front;
use super::request_body::RequestBody;
use super::socket::{ListenSocket, SocketStream};
use super::tls::TlsIdentity;
use crate::config::IpNetwork;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::operations::traffic::rate_limits::limit::ConcurrencyLimit;
use crate::http::forwarded::{HandshakeCredentials, LocalProxy, is_trusted};
use crate::http::oidc::client_certificate::ClientCertificate;

/// The maximum time for pending requests after the server receives the signal to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time for which a stopping server waits for the first request of a connection.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// The connections that may wait in the queue of a socket: the largest backlog that Linux permits by default.
const LONGEST_QUEUE: usize = 4096;
/// One network may have this part of a listener's connections: a quarter.
const NETWORK_SHARE: usize = 4;
/// The size of a connection's buffer in each direction, in bytes. If the head of a request is longer, the response is a
/// 431 without a body. The router accepts at most half of that, and responds with a page.
const BUFFER: usize = 64 * 1024;

/// A listener, and how it treats connections.
#[derive(Debug)]
pub struct Listener {
    /// The socket that accepts connections.
    pub socket: ListenSocket,
    /// The TLS identity, if the listener uses TLS.
    pub tls: Option<Arc<TlsIdentity>>,
    /// The maximum number of connections. A further one waits until another ends.
    pub most_connections: usize,
    /// The limits of a new connection: the number per network, and the time for its handshake and for the head of its
    /// first request.
    pub newcomers: NewConnectionBounds,
    /// The maximum time for a request's head, and for the wait until the next request.
    pub head_timeout: Duration,
    /// The maximum time for which a client may leave a response unread.
    pub write_timeout: Duration,
}

/// Limits of connections that apply before a request exists, so that no single client uses up all connections.
#[derive(Debug)]
pub struct NewConnectionBounds {
    /// The maximum number of connections from one IPv4 address, or from the first 64 bits of an IPv6 address. A wider
    /// network of IPv6 has a multiple of it, and none has more than a part of the listener's connections. A further
    /// connection is closed at once.
    pub most_of_network: usize,
    /// The maximum time for the handshake, and after it for the head of the first request.
    pub patience: Duration,
    /// Proxies, exempt from these bounds because they forward the requests of all clients.
    pub exempt: Vec<IpNetwork>,
}

impl Listener {
    /// Returns the limit of connections per network. Without the share, the /48 of one rented machine could use up all
    /// connections of a listener.
    fn network_limit(&self) -> ConcurrencyLimit<Network> {
        let share = (self.most_connections / NETWORK_SHARE).max(1);
        ConcurrencyLimit::with_largest(self.newcomers.most_of_network, share)
    }
}

#[cfg(test)]
impl Listener {
    /// Returns a listener for a test, with bounds that the test does not reach.
    pub fn with_test_bounds(
        socket: tokio::net::TcpListener,
        tls: Option<Arc<TlsIdentity>>,
    ) -> Self {
        Self {
            socket: socket.into(),
            tls,
            most_connections: 10 * NETWORK_SHARE,
            newcomers: NewConnectionBounds {
                most_of_network: 10,
                patience: Duration::from_secs(20),
                exempt: Vec::new(),
            },
            head_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(20),
        }
    }
}

/// Serves until `stop` completes, then waits for pending requests to end.
pub async fn serve(listener: Listener, front: Front, stop: impl Future<Output = ()>) {
    let (stopping, _) = watch::channel(false);
    let places = Arc::new(Semaphore::new(listener.most_connections));
    let networks = Arc::new(listener.network_limit());
    let mut stop = pin!(stop);
    let begin = |stream, peer: Option<SocketAddr>, place: Option<OwnedSemaphorePermit>| {
        // The peer of a Unix socket is a proxy.
        let is_exempt = peer.is_none_or(|peer| is_trusted(peer.ip(), &listener.newcomers.exempt));
        let network = Network::from(peer.map(|peer| peer.ip()));
        let held = if is_exempt {
            None
        } else {
            networks.hold(network)
        };
        if !is_exempt && held.is_none() {
            let peer = peer_text(peer);
            tracing::debug!(peer, "connection closed: limit of the network exceeded");
            return;
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
            stopping: stopping.subscribe(),
        };
        let tls = listener.tls.clone();
        tokio::spawn(async move {
            connection.serve(stream, tls).await;
            drop((place, held));
        });
    };
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
            Ok((stream, peer)) => begin(stream, peer, place.ok()),
            // The process has no more file descriptors, or the peer disconnected at once. Neither ends the server.
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    // The kernel accepted the connections in the queue of the socket, and resets them when the socket closes. The bound
    // ends this during a flood of new connections.
    if let Ok(queue) = listener.socket.into_queue() {
        for _ in 0..LONGEST_QUEUE {
            let (stream, peer) = match queue.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The peer disconnected at once.
                Err(_) => continue,
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                break;
            };
            begin(stream, peer, Some(place));
        }
    }
    // Waiting pages and devices keep their connections open. They reconnect when the server is available again.
    stopping.send_replace(true);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, stopping.closed()).await;
}

/// Returns the peer of a connection for the log.
fn peer_text(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "Unix socket".to_owned(), |peer| peer.to_string())
}

struct HttpConnection {
    peer: Option<SocketAddr>,
    front: Front,
    patience: Duration,
    head_timeout: Duration,
    write_timeout: Duration,
    /// Becomes true when the server stops.
    stopping: watch::Receiver<bool>,
}

impl HttpConnection {
    async fn serve(self, stream: SocketStream, tls: Option<Arc<TlsIdentity>>) {
        stream.send_at_once();
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.write_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = tls else {
            return self.requests(stream, None, None).await;
        };
        let proved = tls.asks_for_certificates().then_some(HandshakeCredentials);
        match tokio::time::timeout(self.patience, tls.accept(stream)).await {
            Ok(Ok((stream, certificate))) => self.requests(stream, proved, certificate).await,
            Ok(Err(error)) => {
                tracing::debug!(peer = peer_text(self.peer), %error, "TLS handshake failed");
            }
            Err(_) => tracing::debug!(peer = peer_text(self.peer), "TLS handshake timed out"),
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
            mut stopping,
            ..
        } = self;
        let (begun, mut first) = watch::channel(false);
        let mut early = begun.subscribe();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            begun.send_replace(true);
            let mut request: Request = RequestBody::of(request).map(Body::new);
            if let Some(peer) = peer {
                request.extensions_mut().insert(ConnectInfo(peer));
            } else {
                request.extensions_mut().insert(LocalProxy);
            }
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
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        // Completes if the first request is late, and never after the first request came.
        let late = async {
            if tokio::time::timeout(patience, first.wait_for(|begun| *begun))
                .await
                .is_ok()
            {
                std::future::pending::<()>().await;
            }
        };
        // hyper closes a connection at once if it has read nothing from it, but the client may have sent a request
        // already.
        let stopped = async {
            let _ = stopping.wait_for(|stopping| *stopping).await;
            let _ = tokio::time::timeout(FIRST_REQUEST, early.wait_for(|begun| *begun)).await;
        };
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = late => {
                let peer = peer_text(peer);
                tracing::debug!(peer, "first request of a connection timed out");
                return;
            }
            () = stopped => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = result {
            let peer = peer_text(peer);
            tracing::debug!(peer, %error, "connection aborted");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::*;

    /// The response to a request over this connection. It is empty if the server closed the connection.
    async fn response_on(mut client: TcpStream) -> String {
        // The server may have closed the connection before.
        let _ = client
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await;
        let mut response = Vec::new();
        let _ = client.read_to_end(&mut response).await;
        String::from_utf8(response).unwrap()
    }

    #[tokio::test]
    async fn one_network_has_only_a_part_of_the_connections() {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let mut listener = Listener::with_test_bounds(socket, None);
        listener.most_connections = 8;
        let limit = Arc::new(listener.network_limit());
        let router = Router::new().route("/", get(async || "served"));
        tokio::spawn(serve(listener, router.into(), std::future::pending()));
        // The setting permits 10 connections of one address.
        let _idle = [
            TcpStream::connect(address).await.unwrap(),
            TcpStream::connect(address).await.unwrap(),
        ];
        let third = TcpStream::connect(address).await.unwrap();
        assert_eq!(response_on(third).await, "");
        let other = TcpSocket::new_v4().unwrap();
        other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let other = other.connect(address).await.unwrap();
        assert!(response_on(other).await.ends_with("served"));

        // Two connections of each /64 in one /48.
        let network = |text: &str| Network::from(Some(text.parse::<IpAddr>().unwrap()));
        let permits: Vec<_> = (0..16)
            .flat_map(|n| [n; 2])
            .filter_map(|n| limit.hold(network(&format!("2001:db8:0:{n:x}00::1"))))
            .collect();
        assert_eq!(permits.len(), 2);
        assert!(limit.hold(network("2001:db8:1::1")).is_some());
    }

    #[tokio::test]
    async fn connections_that_wait_in_the_queue_are_served_before_the_listener_closes() {
        // Each time the server may accept the connection first or notice the stop first.
        for _ in 0..20 {
            let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = socket.local_addr().unwrap();
            let listener = Listener::with_test_bounds(socket, None);
            let mut client = TcpStream::connect(address).await.unwrap();
            client
                .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .await
                .unwrap();
            let router = Router::new().route("/", get(async || "served"));
            serve(listener, router.into(), std::future::ready(())).await;
            let mut response = String::new();
            client.read_to_string(&mut response).await.unwrap();
            assert!(response.ends_with("served"), "{response}");
        }
    }
}
