//! The keys by which requests are counted.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::net::IpAddr;

use assent_model::audit::Actor;
use assent_model::id::{DeviceId, UserId};
use assent_model::name::LoginName;
use assent_model::network::network_of;
use assent_model::secret::Digest;

/// The network of a client: an IPv4 address, or the first 64 bits of an IPv6 address. A client usually has all
/// addresses of that prefix. All unknown addresses count as one network.
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

/// A key by which requests are counted, as the log shows it: ids and networks, and nothing that a user typed.
pub trait LoggedKey {
    /// Returns the text for the log.
    fn logged(&self) -> String;
}

impl LoggedKey for Network {
    fn logged(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for UserId {
    fn logged(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for DeviceId {
    fn logged(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for TypedName {
    fn logged(&self) -> String {
        HIDDEN.to_owned()
    }
}

impl LoggedKey for BrowserKey {
    fn logged(&self) -> String {
        HIDDEN.to_owned()
    }
}

impl LoggedKey for &str {
    fn logged(&self) -> String {
        (*self).to_owned()
    }
}

impl LoggedKey for () {
    fn logged(&self) -> String {
        "all".to_owned()
    }
}

/// A client or a channel, in a network.
impl<T: Display> LoggedKey for (T, Network) {
    fn logged(&self) -> String {
        format!("{} {}", self.0, self.1)
    }
}

/// The text for a key that the log does not show.
const HIDDEN: &str = "***";

/// The digest of a typed name. Typed names that belong to no user must not be stored.
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

/// A browser, by the digest of the cookie that identifies it.
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

/// A caller of the admin API, by the digest of its identity.
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
