//! `GET /connection`: the path of a request to the server, for `assent doctor`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::domain::Services;
use crate::http::forwarded::{address_of, has_trusted_peer, is_trusted, last_hop};

/// The response. It reveals only the client's own address, and whether the proxy before this server works.
#[derive(Serialize)]
struct Connection {
    /// The address of the client; `null` if the proxy does not name it.
    client_address: Option<String>,
    forwarded_for: ForwardedFor,
}

/// The use of the header `X-Forwarded-For`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ForwardedFor {
    /// The header is missing.
    Absent,
    /// The header comes from an address outside `http.trusted_proxies`.
    Ignored,
    /// The header names the client.
    Used,
    /// The header comes from a trusted proxy, and ends with another trusted address: the client is in a trusted
    /// network.
    Internal,
    /// The header comes from a trusted proxy, and does not end with an address.
    Unreadable,
}

/// `GET /connection`
pub(crate) async fn show(State(services): State<Arc<Services>>, request: Request) -> Response {
    let address = address_of(&services, request.extensions(), request.headers());
    let proxies = &services.settings.http.trusted_proxies;
    let is_proxy = has_trusted_peer(request.extensions(), proxies);
    let is_present = request.headers().contains_key("x-forwarded-for");
    let forwarded_for = match (is_present, is_proxy, last_hop(request.headers())) {
        (false, _, _) => ForwardedFor::Absent,
        (true, false, _) => ForwardedFor::Ignored,
        (true, true, None) => ForwardedFor::Unreadable,
        (true, true, Some(hop)) if is_trusted(hop, proxies) => ForwardedFor::Internal,
        (true, true, Some(_)) => ForwardedFor::Used,
    };
    let connection = Connection {
        client_address: address.map(|address| address.to_string()),
        forwarded_for,
    };
    ([(CACHE_CONTROL, "no-store")], Json(connection)).into_response()
}
