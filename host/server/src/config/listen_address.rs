//! The addresses of listeners: an IP address with a port, or a Unix socket.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The prefix of the path of a Unix socket.
const UNIX: &str = "unix:";
/// The largest length of the path, in bytes. The system permits 107, and a new socket has a longer name at first.
const LONGEST_PATH: usize = 100;

/// The address of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address with a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// Parses `127.0.0.1:8080` or `unix:/run/assent/assent.sock`. Returns `None` for other texts.
    fn parse(text: &str) -> Option<Self> {
        let Some(path) = text.strip_prefix(UNIX) else {
            return text.parse().ok().map(Self::Tcp);
        };
        let is_path = path.starts_with('/') && !path.ends_with('/') && !path.contains('\0');
        (is_path && path.len() <= LONGEST_PATH).then(|| Self::Unix(PathBuf::from(path)))
    }

    /// Returns the port; 0 for a Unix socket.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Tcp(address) => address.port(),
            Self::Unix(_) => 0,
        }
    }

    /// Returns the path of a Unix socket.
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(path) => Some(path),
        }
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl Serialize for ListenAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AddressVisitor;

        impl Visitor<'_> for AddressVisitor {
            type Value = ListenAddress;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address and port such as 127.0.0.1:8080, or unix:PATH")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                ListenAddress::parse(text)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(AddressVisitor)
    }
}

impl JsonSchema for ListenAddress {
    fn schema_name() -> Cow<'static, str> {
        "ListenAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An address and port, or `unix:` and the path of a socket.",
            "type": "string",
            "examples": ["127.0.0.1:8080", "unix:/run/assent/assent.sock"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_sockets_are_parsed_and_written() {
        for text in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "unix:/run/assent/assent.sock",
        ] {
            let address = ListenAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), text);
        }
        let long = format!("unix:/{}", "x".repeat(LONGEST_PATH));
        for text in [
            "8080",
            "localhost:8080",
            "unix:",
            "unix:assent.sock",
            "unix:/run/",
            "unix:/a\0b",
            &long,
        ] {
            assert_eq!(ListenAddress::parse(text), None, "{text}");
        }
    }
}
