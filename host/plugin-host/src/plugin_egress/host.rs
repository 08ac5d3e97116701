//! The permitted hosts and headers of a plugin's requests.

use url::{Host, Url};

/// The headers that belong to the connection (RFC 9110, section 7.6.1) or that the host sets.
pub(super) const HOST_HEADERS: [&str; 13] = [
    "host",
    "content-length",
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    // The host cannot search a compressed or partial response for secrets.
    "accept-encoding",
    "range",
];

/// A granted host, or all hosts below a granted name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostPattern {
    /// Whether the grant is for the names below `host`, instead of `host` itself.
    below: bool,
    host: String,
    /// `None` means the default port of the scheme.
    port: Option<u16>,
}

impl HostPattern {
    /// Parses `host` or `*.suffix`, both with an optional `:port`. The error is the end of a sentence about the plugin.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "the host `{text}` cannot be granted; specify a host name, not an address, such as `push.example.com`, \
                 `*.example.com` or `push.example.com:8443`"
            )
        };
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let (below, host) = match host.strip_prefix("*.") {
            Some(suffix) => (true, suffix),
            None => (false, host),
        };
        match Host::parse(host) {
            Ok(Host::Domain(name))
                if !name.is_empty() && !name.contains('*') && !name.ends_with('.') =>
            {
                Ok(Self {
                    below,
                    host: name,
                    port,
                })
            }
            _ => Err(wrong()),
        }
    }

    pub(super) fn matches(&self, host: &str, url: &Url) -> bool {
        let named = if self.below {
            host.strip_suffix(self.host.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.'))
        } else {
            host == self.host
        };
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        named && port
    }
}
