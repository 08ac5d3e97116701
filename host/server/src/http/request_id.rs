//! Request ids: each response has one in `x-request-id`, and so have the log lines of its request. A trusted proxy may
//! have assigned it; otherwise the instance does.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};

use crate::config::IpNetwork;
use crate::domain::Services;
use crate::http::forwarded::is_from_trusted_proxy;

/// The header of requests from trusted proxies, and of all responses.
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The maximum length of a proxy's id, in characters.
const LONGEST: usize = 128;

tokio::task_local! {
    /// The id of the request that this task responds to.
    static CURRENT: RequestId;
}

/// Runs `response` within the id of the request, so that error pages show it.
pub(super) async fn within<F: Future>(id: RequestId, response: F) -> F::Output {
    CURRENT.scope(id, response).await
}

/// Returns the id of the current request; empty outside of a request.
pub(super) fn current() -> String {
    CURRENT
        .try_with(|id| id.as_str().to_owned())
        .unwrap_or_default()
}

/// An id: up to 128 letters, digits, `-`, `_`, `.`, `:` and `/`.
#[derive(Clone)]
pub(super) struct RequestId(HeaderValue);

impl RequestId {
    /// Returns `None` if the value has other characters, or too many.
    fn parse(value: &HeaderValue) -> Option<Self> {
        let bytes = value.as_bytes();
        let is_sane = (1..=LONGEST).contains(&bytes.len())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(byte));
        is_sane.then(|| Self(value.clone()))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub(super) fn into_value(self) -> HeaderValue {
        self.0
    }
}

/// Assigns ids to requests: a random number of this run of the instance, and a counter.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    run: u64,
    count: AtomicU64,
    proxies: Vec<IpNetwork>,
}

impl RequestIds {
    pub(super) fn new(services: &Services) -> Self {
        Self {
            run: u64::from_be_bytes(services.entropy.bytes()),
            count: AtomicU64::new(0),
            proxies: services.settings.http.trusted_proxies.clone(),
        }
    }

    /// Returns the id of the request: that of a trusted proxy, or a new one.
    pub(super) fn id_of(&self, request: &Request) -> RequestId {
        self.assigned_id(request).unwrap_or_else(|| {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let id = format!("{:016x}-{count:x}", self.run);
            RequestId(HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none")))
        })
    }

    fn assigned_id(&self, request: &Request) -> Option<RequestId> {
        let value = request.headers().get(X_REQUEST_ID)?;
        is_from_trusted_proxy(request, &self.proxies)
            .then(|| RequestId::parse(value))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use axum::body::Body;
    use axum::extract::ConnectInfo;

    use super::*;
    use crate::http::forwarded::HandshakeCredentials;

    const PROXY: [u8; 4] = [10, 0, 0, 1];

    fn id(ids: &RequestIds, peer: [u8; 4], header: &str, is_direct: bool) -> String {
        let mut request = Request::builder().header(X_REQUEST_ID, header);
        if is_direct {
            request = request.extension(HandshakeCredentials);
        }
        let peer = ConnectInfo(SocketAddr::from((peer, 443)));
        let request = request.extension(peer).body(Body::empty()).unwrap();
        ids.id_of(&request).as_str().to_owned()
    }

    #[test]
    fn only_a_trusted_proxy_may_assign_an_id() {
        let ids = RequestIds {
            run: 7,
            count: AtomicU64::new(0),
            proxies: vec![IpAddr::from(PROXY).into()],
        };
        assert_eq!(
            id(&ids, PROXY, "Root=1-67891233/abc:9", false),
            "0000000000000007-0"
        );
        assert_eq!(
            id(&ids, PROXY, "1-67891233/abc:9", false),
            "1-67891233/abc:9"
        );
        let long = "x".repeat(129);
        let others = [
            (PROXY, "a b", false),
            (PROXY, long.as_str(), false),
            (PROXY, "", false),
            (PROXY, "abc", true),
            ([10, 0, 0, 2], "abc", false),
        ];
        for (number, (peer, header, is_direct)) in others.into_iter().enumerate() {
            let assigned = format!("0000000000000007-{:x}", number + 1);
            assert_eq!(id(&ids, peer, header, is_direct), assigned, "{header}");
        }
    }
}
