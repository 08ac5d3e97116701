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
