//! Addresses of an application's pages, to which browsers go.

use url::Url;

/// The maximum length of an address, in bytes.
const LONGEST: usize = 2000;

/// Parses the address of a page of an application: https or a loopback address, without user name.
pub(super) fn browser_address(text: &str) -> Option<Url> {
    let url = (text.len() <= LONGEST)
        .then(|| Url::parse(text).ok())
        .flatten()?;
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let fits = (url.scheme() == "https" && url.has_host() || url.scheme() == "http" && loopback)
        && url.username().is_empty()
        && url.password().is_none();
    fits.then_some(url)
}
