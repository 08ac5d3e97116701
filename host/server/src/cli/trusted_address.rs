//! The addresses to which a command sends secrets, and from which it accepts keys.

use url::{Host, Url};

/// Whether no other machine on the way can read or change the requests: the address has https, or is this machine.
pub(super) fn is_trusted(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_trusted() {
        for (text, trusted) in [
            ("https://id.example.org/oidc", true),
            ("http://localhost:8080/oidc", true),
            ("http://127.0.0.1/oidc", true),
            ("http://[::1]:8080/oidc", true),
            ("http://id.example.org/oidc", false),
            ("http://localhost.example.org/oidc", false),
            ("ftp://localhost/oidc", false),
        ] {
            let url = Url::parse(text).expect("a URL");
            assert_eq!(is_trusted(&url), trusted, "{text}");
        }
    }
}
