//! The body of a request, of which the rest is read after an early response.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;

/// The largest rest that is read, in bytes: more than the largest body of a permitted request.
const MAX_DRAINED_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum time for reading it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request. If a response does not need the body, the rest is read and discarded.
///
/// Otherwise the server would close the connection while the client still writes. A proxy would then report status 502
/// in place of the response, and could take the instance for a failed one.
pub(super) struct RequestBody {
    /// `None` after the end, or an error.
    rest: Option<Incoming>,
    /// Whether the client sends the body only after a "100 Continue" (RFC 9110 section 10.1.1). It sends nothing if the
    /// response is early.
    expects_continue: bool,
}

impl RequestBody {
    /// Replaces the body of a request.
    pub(super) fn of(request: hyper::Request<Incoming>) -> hyper::Request<Self> {
        let expect = request.headers().get(EXPECT);
        let expects_continue =
            expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        request.map(|body| Self {
            rest: Some(body),
            expects_continue,
        })
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(rest) = &mut self.rest else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(rest).poll_frame(cx);
        self.expects_continue = false;
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.rest = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let empty = SizeHint::with_exact(0);
        self.rest.as_ref().map_or(empty, Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(rest) = self.rest.take().filter(|rest| !rest.is_end_stream()) else {
            return;
        };
        if self.expects_continue || rest.size_hint().lower() > MAX_DRAINED_BYTES {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(discard(rest));
        }
    }
}

/// Reads a body to its end, within the limits.
async fn discard(mut rest: Incoming) {
    let read = async {
        let mut size = 0;
        while size <= MAX_DRAINED_BYTES
            && let Some(Ok(frame)) =
                std::future::poll_fn(|cx| Pin::new(&mut rest).poll_frame(cx)).await
        {
            size += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, read).await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioIo, TokioTimer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;

    const RESPONSE: &str = "HTTP/1.1 200 OK\r\n";

    /// Serves one connection with a service that ignores bodies. The sender requests a graceful shutdown. The buffer of
    /// the connection is small, so that a client can only write while the server reads.
    fn connection() -> (DuplexStream, oneshot::Sender<()>, JoinHandle<()>) {
        let (client, server) = tokio::io::duplex(8 * 1024);
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let service = service_fn(async |request| {
                drop(RequestBody::of(request));
                Ok::<_, Infallible>(hyper::Response::new(String::new()))
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(server), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => {}
                Ok(()) = stopped => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
        });
        (client, stop, served)
    }

    async fn send(client: &mut DuplexStream, headers: &str, body: usize) {
        let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n");
        client.write_all(head.as_bytes()).await.expect("the head");
        client.write_all(&vec![b'x'; body]).await.expect("the body");
    }

    /// Reads one response without a body.
    async fn response(client: &mut DuplexStream) -> String {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            read.push(client.read_u8().await.expect("a response"));
        }
        String::from_utf8(read).expect("text")
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_usable_after_an_early_response() {
        let (mut client, _stop, _served) = connection();
        for _ in 0..2 {
            send(&mut client, "content-length: 1000000", 1_000_000).await;
            let response = response(&mut client).await;
            assert!(response.starts_with(RESPONSE), "{response}");
            assert!(!response.contains("connection: close"), "{response}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_waits_ten_seconds_for_the_rest_of_a_silent_client() {
        let (mut client, _stop, served) = connection();
        let begun = Instant::now();
        send(&mut client, "content-length: 1000000", 1000).await;
        let response = response(&mut client).await;
        assert!(response.starts_with(RESPONSE), "{response}");
        assert_eq!(begun.elapsed().as_secs(), 0);
        served.await.expect("the connection ended");
        assert_eq!(begun.elapsed().as_secs(), DRAIN_TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_lets_the_client_send_the_rest_and_waits_no_longer_than_usual() {
        for is_silent in [false, true] {
            let (mut client, stop, served) = connection();
            let begun = Instant::now();
            send(&mut client, "content-length: 1000000", 1000).await;
            assert!(response(&mut client).await.starts_with(RESPONSE));
            stop.send(()).expect("a server");
            if !is_silent {
                let rest = vec![b'x'; 999_000];
                client.write_all(&rest).await.expect("the server reads it");
            }
            served.await.expect("the connection ended");
            let waited = if is_silent {
                DRAIN_TIMEOUT.as_secs()
            } else {
                0
            };
            assert_eq!(begun.elapsed().as_secs(), waited, "silent: {is_silent}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_are_too_large_or_not_sent_yet_are_not_awaited() {
        for headers in [
            "content-length: 17000000",
            "content-length: 1000000\r\nexpect: 100-continue",
        ] {
            let (mut client, _stop, served) = connection();
            let begun = Instant::now();
            send(&mut client, headers, 0).await;
            assert!(
                response(&mut client).await.starts_with(RESPONSE),
                "{headers}"
            );
            served.await.expect("the connection ended");
            assert_eq!(begun.elapsed().as_secs(), 0, "{headers}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_stops_reading_an_endless_body() {
        let (mut client, _stop, served) = connection();
        send(&mut client, "transfer-encoding: chunked", 0).await;
        let chunk = [b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat();
        let mut written = 0;
        while client.write_all(&chunk).await.is_ok() {
            written += 4096;
            assert!(written < 2 * MAX_DRAINED_BYTES, "{written} bytes were read");
        }
        assert!(
            written >= MAX_DRAINED_BYTES,
            "only {written} bytes were read"
        );
        served.await.expect("the connection ended");
    }
}
