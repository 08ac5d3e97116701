//! The addresses to which the server may connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether the server may connect to this address.
pub(super) fn reachable(address: IpAddr, allow_private: bool) -> bool {
    let inside = match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    };
    is_public(address) || (allow_private && inside)
}

/// Returns whether an address is globally reachable (IANA's special-purpose address registries, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        // "This network" (RFC 791), shared space of carriers (RFC 6598), protocol assignments (RFC 6890), 6to4 relays
        // (RFC 7526), benchmarks (RFC 2544), multicast (RFC 5771), reserved and broadcast (RFC 1112).
        || a == 0
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18)
        || a >= 224;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = address.segments();
    // Translated IPv4 (RFC 6052): public if the IPv4 address inside is public.
    if [s0, s1, s2, s3, s4, s5] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(Ipv4Addr::from((u32::from(s6) << 16) | u32::from(s7)));
    }
    // Global unicast (RFC 4291), without protocol assignments and Teredo (RFC 2928), documentation (RFC 3849, RFC 9637)
    // and 6to4 (RFC 3056), which can carry an IPv4 address inside.
    let global = s0 & 0xe000 == 0x2000;
    global
        && !(s0 == 0x2001 && s1 < 0x200)
        && !(s0 == 0x2001 && s1 == 0xdb8)
        && !(s0 == 0x3fff && s1 < 0x1000)
        && s0 != 0x2002
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_addresses_are_not_public() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "198.18.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(inside.parse().expect("address")), "{inside}");
        }
        for public in [
            "93.184.216.34",
            "1.1.1.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(public.parse().expect("address")), "{public}");
        }
    }

    #[test]
    fn permitted_private_addresses_exclude_metadata_and_multicast() {
        assert!(reachable("127.0.0.1".parse().expect("address"), true));
        assert!(reachable("fd00::1".parse().expect("address"), true));
        assert!(!reachable(
            "169.254.169.254".parse().expect("address"),
            true
        ));
        assert!(!reachable("224.0.0.1".parse().expect("address"), true));
    }
}
