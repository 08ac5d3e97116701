//! Serving connections, with limits that hold before there is a request to look at.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt;

/// How many connections there may be; a further one waits until another ends.
const MOST_CONNECTIONS: usize = 20_000;
/// How long requests under way may take once the host is told to stop.
const GOODBYE: Duration = Duration::from_secs(5);

/// Serves until `stop` is done, then lets requests under way end. A connection may take `head_timeout` for a request's
/// head, and wait as long for its next request.
pub async fn serve(listener: TcpListener, router: Router, head_timeout: Duration, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = graceful.watch(connection(stream, peer, router.clone(), head_timeout));
                tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection broke off");
                    }
                    drop(place);
                });
            }
            // Out of descriptors, or the peer went away at once: neither ends the host.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    // Waiting pages and phones hold their connections open; they come again when the host is back.
    let _ = tokio::time::timeout(GOODBYE, graceful.shutdown()).await;
}

fn connection(
    stream: TcpStream,
    peer: std::net::SocketAddr,
    router: Router,
    head_timeout: Duration,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> {
    // An answer is written whole, so holding it back to fill a packet only delays it.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    builder.serve_connection(TokioIo::new(stream), service)
}
