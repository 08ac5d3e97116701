//! IP addresses and networks in the settings, such as `10.0.0.5` and `10.0.0.0/8`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One IP address, or the addresses of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork(IpNet);

impl IpNetwork {
    /// Returns whether the address is in the network. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Returns whether the network contains every address.
    pub fn is_everything(&self) -> bool {
        self.0.prefix_len() == 0
    }

    /// Parses an address or a network in CIDR notation. Returns `None` for other texts, and if bits after the prefix
    /// are set.
    fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(address.into());
        }
        let network: IpNet = text.parse().ok()?;
        // Mapped addresses are compared as IPv4 addresses, so such a network would contain none.
        let is_mapped = matches!(network, IpNet::V6(v6) if v6.network().to_ipv4_mapped().is_some());
        (network == network.trunc() && !is_mapped).then_some(Self(network))
    }
}

impl From<IpAddr> for IpNetwork {
    fn from(address: IpAddr) -> Self {
        Self(address.to_canonical().into())
    }
}

/// Writes a single address without a prefix.
impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

impl Serialize for IpNetwork {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NetworkVisitor;

        impl Visitor<'_> for NetworkVisitor {
            type Value = IpNetwork;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an IP address such as \"10.0.0.5\", or a network such as \"10.0.0.0/8\"",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                IpNetwork::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(NetworkVisitor)
    }
}

impl JsonSchema for IpNetwork {
    fn schema_name() -> Cow<'static, str> {
        "IpNetwork".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An IP address, or a network in CIDR notation.",
            "type": "string",
            "examples": ["10.0.0.5", "10.0.0.0/8", "2001:db8::/32"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses() {
        for (network, inside, outside) in [
            ("10.0.0.5", "10.0.0.5", "10.0.0.6"),
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::a00:1"),
            ("::ffff:10.0.0.5", "10.0.0.5", "10.0.0.4"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
        ] {
            let read: IpNetwork = serde_json::from_value(network.into()).unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(
                !read.contains(outside.parse().unwrap()),
                "{network} {outside}"
            );
        }
    }

    #[test]
    fn networks_round_trip_and_malformed_networks_are_rejected() {
        for text in [
            "10.0.0.5",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "2001:db8::/32",
            "::1",
        ] {
            let read: IpNetwork = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), text);
        }
        for text in [
            "",
            "10.0.0",
            "10.0.0.5/33",
            "10.0.0.5/8",
            "proxy.example",
            "10.0.0.0/08x",
            "::ffff:10.0.0.0/104",
        ] {
            let error = serde_json::from_value::<IpNetwork>(text.into()).unwrap_err();
            assert!(
                error.to_string().contains("such as \"10.0.0.5\""),
                "{text}: {error}"
            );
        }
    }
}
