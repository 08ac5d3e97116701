//! The keys by which requests are counted.

use std::fmt::Display;
use std::hash::Hash;
use std::net::IpAddr;

use assent_model::audit::Actor;
use assent_model::id::{
    BackchannelRequestId, DeviceId, Did, FamilyId, RegistrationTokenId, SessionId, UserId,
};
use assent_model::name::LoginName;
use assent_model::network::{WIDER_PREFIXES, network_of, prefix_of};
use assent_model::secret::Digest;

/// A key by which a limit counts, with the wider keys that contain it.
pub trait LimitKey: Sized {
    /// Returns the wider keys, each with the number of times by which its bound exceeds that of this key. A request
    /// must be within the bounds of all.
    fn wider(&self) -> Vec<(Self, u32)> {
        Vec::new()
    }
}

impl LimitKey for () {}
impl LimitKey for UserId {}
impl LimitKey for Did {}
impl LimitKey for DeviceId {}
impl LimitKey for RegistrationTokenId {}
impl LimitKey for FamilyId {}
impl LimitKey for BackchannelRequestId {}
impl LimitKey for SessionId {}
impl LimitKey for TypedName {}
impl LimitKey for BrowserKey {}
impl LimitKey for CallerKey {}

impl LimitKey for Network {
    fn wider(&self) -> Vec<(Self, u32)> {
        let Some(address) = self.address else {
            return Vec::new();
        };
        let wider = |(bits, times)| {
            prefix_of(address, bits).map(|prefix| {
                let network = Self {
                    address: Some(prefix),
                    bits,
                };
                (network, times)
            })
        };
        WIDER_PREFIXES.into_iter().filter_map(wider).collect()
    }
}

/// A key with the network of its client, such as the client ID of an application.
impl<K: Clone> LimitKey for (K, Network) {
    fn wider(&self) -> Vec<(Self, u32)> {
        let (key, network) = self;
        let wider = network.wider().into_iter();
        wider
            .map(|(network, times)| ((key.clone(), network), times))
            .collect()
    }
}

/// The network of a client: an IPv4 address, or the first 64 bits of an IPv6 address. A client usually has all
/// addresses of that prefix. All unknown addresses count as one network.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: Option<IpAddr>,
    /// The length of the prefix of an IPv6 address.
    bits: u8,
}

impl From<Option<IpAddr>> for Network {
    fn from(address: Option<IpAddr>) -> Self {
        Self {
            address: address.map(network_of),
            bits: 64,
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            Some(address @ IpAddr::V6(_)) if self.bits != 64 => {
                write!(f, "{address}/{}", self.bits)
            }
            Some(address) => write!(f, "{address}"),
            None => f.write_str("unknown"),
        }
    }
}

/// A key by which requests are counted, as the log shows it: ids and networks, and nothing that a user typed.
pub trait LoggedKey {
    /// Returns the text for the log.
    fn log_text(&self) -> String;
}

impl LoggedKey for Network {
    fn log_text(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for UserId {
    fn log_text(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for Did {
    fn log_text(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for DeviceId {
    fn log_text(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for RegistrationTokenId {
    fn log_text(&self) -> String {
        self.to_string()
    }
}

impl LoggedKey for TypedName {
    fn log_text(&self) -> String {
        HIDDEN.to_owned()
    }
}

impl LoggedKey for BrowserKey {
    fn log_text(&self) -> String {
        HIDDEN.to_owned()
    }
}

impl LoggedKey for &str {
    fn log_text(&self) -> String {
        (*self).to_owned()
    }
}

impl LoggedKey for () {
    fn log_text(&self) -> String {
        "all".to_owned()
    }
}

/// A client or a channel, in a network.
impl<T: Display> LoggedKey for (T, Network) {
    fn log_text(&self) -> String {
        format!("{} {}", self.0, self.1)
    }
}

/// The text for a key that the log does not show.
const HIDDEN: &str = "***";

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

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
