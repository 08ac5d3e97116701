//! The networks that rate limits distinguish.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network of an address: an IPv4 address, or the first 64 bits of an IPv6 address, because a client
/// usually controls a whole /64.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}
