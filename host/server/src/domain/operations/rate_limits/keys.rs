//! What requests are counted by.

use std::fmt::Debug;
use std::hash::Hash;
use std::net::IpAddr;

use assent_model::audit::Actor;
use assent_model::name::LoginName;
use assent_model::network::network_of;
use assent_model::secret::Digest;

/// Where a request comes from, as far as limits tell places apart: an IPv4 address, or the first 64 bits of an IPv6
/// address, since whoever has one has the rest. A place that is not known is one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(Option<IpAddr>);

impl From<Option<IpAddr>> for Network {
    fn from(address: Option<IpAddr>) -> Self {
        Self(address.map(network_of))
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("unknown"),
        }
    }
}

/// A name that somebody typed, as its digest: of names that nobody has, nothing shall be kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypedName([u8; 32]);

impl From<&LoginName> for TypedName {
    fn from(name: &LoginName) -> Self {
        Self(*Digest::sha256(name.as_str().as_bytes()).as_bytes())
    }
}

impl std::fmt::Debug for TypedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TypedName(***)")
    }
}

/// A browser, by the digest of the cookie that tells browsers apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrowserKey([u8; 32]);

impl From<Digest> for BrowserKey {
    fn from(digest: Digest) -> Self {
        Self(*digest.as_bytes())
    }
}

impl std::fmt::Debug for BrowserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserKey(***)")
    }
}

/// Who calls the admin API, by the digest of who that is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallerKey([u8; 32]);

impl From<&Actor> for CallerKey {
    fn from(actor: &Actor) -> Self {
        let named = format!("{} {}", actor.kind(), actor.id().unwrap_or_default());
        Self(*Digest::sha256(named.as_bytes()).as_bytes())
    }
}

impl std::fmt::Debug for CallerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallerKey(***)")
    }
}
