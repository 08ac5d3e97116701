//! The networks that rate limits distinguish.

use std::net::{IpAddr, Ipv6Addr};

/// The largest prefixes of IPv6 that one client may control, each with the number of times by which its bound exceeds
/// that of a /64. A home connection usually has a /56, and a rented machine often a /48.
pub const WIDER_PREFIXES: [(u8, u32); 2] = [(56, 4), (48, 16)];

/// Returns the network of an address: an IPv4 address, or the first 64 bits of an IPv6 address, because a client
/// usually controls a whole /64.
pub fn network_of(address: IpAddr) -> IpAddr {
    prefix_of(address, 64).unwrap_or_else(|| address.to_canonical())
}

/// Returns an IPv6 address with only its first `bits` bits. `None` for an IPv4 address, which is a network of its own.
pub fn prefix_of(address: IpAddr, bits: u8) -> Option<IpAddr> {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128_u32.saturating_sub(bits.into()))
                .unwrap_or(0);
            Some(Ipv6Addr::from_bits(v6.to_bits() & mask).into())
        }
        IpAddr::V4(_) => None,
    }
}
