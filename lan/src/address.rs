//! The name or address at which other machines of the network reach this one.

use std::fmt;
use std::net::{IpAddr, UdpSocket};
use std::str::FromStr;

use anyhow::{Context, bail};
use url::Host;

/// A name or an address of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Host);

impl Address {
    /// Returns the form for a URL: an IPv6 address has brackets.
    pub fn in_url(&self) -> String {
        self.0.to_string()
    }

    /// Returns the IP address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.0 {
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(ip.into()),
            Host::Domain(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip() {
            Some(ip) => ip.fmt(f),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Address {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let address = match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(ip)) => Host::Ipv4(ip),
            Ok(IpAddr::V6(ip)) => Host::Ipv6(ip),
            Err(_) => Host::parse(text).ok().filter(is_name).with_context(|| {
                format!("`{text}` is not a name or address of this machine; LAN=1 finds the address by itself")
            })?,
        };
        Ok(Self(address))
    }
}

/// Returns whether the name is safe in a file name and in a certificate.
fn is_name(host: &Host) -> bool {
    let Host::Domain(name) = host else {
        return false;
    };
    name.split('.').all(|label| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// Returns the address from which this machine would send to others. It sends nothing.
///
/// # Errors
/// The machine has no address in a network.
pub fn own() -> anyhow::Result<Address> {
    for (any, other) in [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
        let found = UdpSocket::bind(any).and_then(|socket| {
            socket.connect(other)?;
            socket.local_addr()
        });
        if let Ok(found) = found
            && !found.ip().is_loopback()
            && !found.ip().is_unspecified()
        {
            return found.ip().to_string().parse();
        }
    }
    bail!(
        "this machine has no address in a network; connect it, or name the address: make run LAN=192.168.1.5"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_are_accepted() {
        for (text, in_url) in [
            ("192.168.1.5", "192.168.1.5"),
            ("fd00::2", "[fd00::2]"),
            ("Ada-Laptop.local", "ada-laptop.local"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.in_url(), in_url);
            assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
        }
        for wrong in [
            "",
            "..",
            "a/b",
            "a b",
            "-\n",
            "http://a",
            "a:80",
            "[fd00::2]",
            "a_b",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong:?}");
        }
    }
}
