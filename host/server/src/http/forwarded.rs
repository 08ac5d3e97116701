//! The address of a client behind trusted proxies.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::{Extensions, HeaderMap, HeaderName};

use crate::config::IpNetwork;
use crate::domain::Services;
use crate::http::header_text;

/// The address of the client that sent a request with these extensions and headers.
pub(crate) fn address_of(
    services: &Services,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Option<IpAddr> {
    let peer = extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0.ip());
    // No proxy terminates TLS for these connections, so the client itself sent such a header.
    if extensions.get::<HandshakeCredentials>().is_some() {
        return peer.map(|peer| peer.to_canonical());
    }
    let trusted = &services.settings.http.trusted_proxies;
    match extensions.get::<LocalProxy>() {
        Some(LocalProxy) => forwarded_address(headers, trusted),
        None => client_address(peer, headers, trusted),
    }
}

/// Marks the requests of a Unix socket. Its permissions admit only the proxy, so the peer is trusted.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalProxy;

/// Whether the peer of a connection is a trusted proxy.
pub(crate) fn has_trusted_peer(extensions: &Extensions, proxies: &[IpNetwork]) -> bool {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    extensions.get::<LocalProxy>().is_some()
        || peer.is_some_and(|info| is_trusted(info.0.ip().to_canonical(), proxies))
}

/// Whether an address is that of a trusted proxy.
pub(crate) fn is_trusted(address: IpAddr, proxies: &[IpNetwork]) -> bool {
    proxies.iter().any(|proxy| proxy.contains(address))
}

/// Whether a request comes from a trusted proxy, so that the client itself did not send the forwarding headers.
pub(crate) fn is_from_trusted_proxy(request: &Request, proxies: &[IpNetwork]) -> bool {
    // No proxy terminates TLS for these connections.
    let is_direct = request.extensions().get::<HandshakeCredentials>().is_some();
    !is_direct && has_trusted_peer(request.extensions(), proxies)
}

/// The address of the client: the peer's address, or the address in the header of a trusted proxy. Returns `None` if
/// the proxy sends no address.
fn client_address(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: &[IpNetwork],
) -> Option<IpAddr> {
    let peer = peer?.to_canonical();
    if !is_trusted(peer, trusted) {
        return Some(peer);
    }
    forwarded_address(headers, trusted)
}

/// The address of the client in the header of a trusted proxy.
fn forwarded_address(headers: &HeaderMap, trusted: &[IpNetwork]) -> Option<IpAddr> {
    // Each proxy adds to the end, so the client's address is the last address that is not a trusted proxy.
    hops(headers)
        .rev()
        .map_while(|hop| hop_address(&hop))
        .find(|hop| !is_trusted(*hop, trusted))
}

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The elements of `X-Forwarded-For` in their order. A client may send any octets there, and the proxy adds the address
/// to the same line.
fn hops(headers: &HeaderMap) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
    header_text::elements(headers, &FORWARDED_FOR)
}

/// The address that the last proxy added.
pub(crate) fn last_hop(headers: &HeaderMap) -> Option<IpAddr> {
    hops(headers).next_back().and_then(|hop| hop_address(&hop))
}

/// The address of a hop. Some proxies add a port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bare = hop.trim_start_matches('[').trim_end_matches(']');
    bare.parse()
        .ok()
        .or_else(with_port)
        .map(|address: IpAddr| address.to_canonical())
}

/// Marks the requests of connections on which the client authenticates in the TLS handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandshakeCredentials;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn address_of_client(peer: &str, forwarded: &[&[u8]], trusted: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
        }
        let trusted: Vec<IpNetwork> = serde_json::from_value(trusted.into()).unwrap();
        client_address(Some(peer.parse().unwrap()), &headers, &trusted)
            .map(|address| address.to_string())
    }

    #[test]
    fn only_a_trusted_proxy_may_name_the_client() {
        let is = |address: &str| Some(address.to_owned());
        assert_eq!(
            address_of_client("192.0.2.1", &[b"203.0.113.9"], &[]),
            is("192.0.2.1")
        );
        assert_eq!(
            address_of_client("10.0.0.1", &[b"198.51.100.7, 203.0.113.9"], &["10.0.0.1"]),
            is("203.0.113.9")
        );
        assert_eq!(
            address_of_client(
                "10.0.0.1",
                &[b"203.0.113.9, 10.0.0.2"],
                &["10.0.0.1", "10.0.0.2"]
            ),
            is("203.0.113.9")
        );
        assert_eq!(
            address_of_client("::ffff:10.0.0.1", &[b"203.0.113.9:51514"], &["10.0.0.1"]),
            is("203.0.113.9")
        );
        assert_eq!(
            address_of_client("10.0.0.1", &[b"[2001:db8::7]:443"], &["10.0.0.1"]),
            is("2001:db8::7")
        );
        assert_eq!(
            address_of_client("10.0.0.1", &[b"203.0.113.9, garbage"], &["10.0.0.1"]),
            None
        );
        // The client sent an octet above ASCII, and the proxy added the address to its line.
        assert_eq!(
            address_of_client("10.0.0.1", &[b"K\xf6ln, 203.0.113.9"], &["10.0.0.1"]),
            is("203.0.113.9")
        );
        assert_eq!(address_of_client("10.0.0.1", &[], &["10.0.0.1"]), None);
        assert_eq!(
            address_of_client("10.1.0.1", &[b"203.0.113.9, 10.2.0.7"], &["10.0.0.0/8"]),
            is("203.0.113.9")
        );
    }
}
