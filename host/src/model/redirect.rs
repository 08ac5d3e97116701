//! Redirect URIs: registered by an administrator, and proof that a request names one of them.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::id::Did;
use crate::model::application::ApplicationType;
use crate::model::trial::OpenTrial;

/// A redirect URI that an administrator registered. Two are the same only if their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedirectUri(String);

/// Why a text cannot be registered as a redirect URI. The message says what would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitRedirectUri {
    /// Not an absolute URI.
    #[error("a redirect URI is an absolute URI of at most 2,000 characters, such as https://app.example.org/callback")]
    NotAbsolute,
    /// It has a fragment.
    #[error("a redirect URI has no fragment (RFC 6749 section 3.1.2)")]
    Fragment,
    /// It has a user name or password.
    #[error("a redirect URI has no user name or password in it")]
    UserInfo,
    /// Its host is no name or address of the Internet.
    #[error(
        "the host of a redirect URI has letters, digits, hyphens and dots, or is an IP address; no sign stands for others, so each address is registered by itself"
    )]
    Host,
    /// Not https.
    #[error(
        "a redirect URI of a web application or SPA starts with https:// (http://localhost only where the configuration says `development = true`)"
    )]
    NotHttps,
    /// Neither a custom scheme nor a loopback address.
    #[error(
        "a redirect URI of a native application is a custom scheme with both slashes, such as com.example.app://callback, or http://127.0.0.1 or http://[::1] with a path"
    )]
    NotNative,
}

impl RedirectUri {
    /// Checks a redirect URI for an application of this type.
    pub fn register(text: &str, kind: ApplicationType, development: bool) -> Result<Self, UnfitRedirectUri> {
        let plain = text.len() <= 2000
            && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'\\' | b'"' | b'<' | b'>'));
        let url = plain.then(|| Url::parse(text).ok()).flatten().ok_or(UnfitRedirectUri::NotAbsolute)?;
        if url.fragment().is_some() {
            return Err(UnfitRedirectUri::Fragment);
        }
        let authority = authority(text, &url);
        // The text is asked as well, since a parsed URL forgets a user name that is empty.
        if !url.username().is_empty() || url.password().is_some() || authority.is_some_and(|text| text.contains('@')) {
            return Err(UnfitRedirectUri::UserInfo);
        }
        // An origin goes into headers: no mark of theirs, and no star, which would stand for many hosts.
        if matches!(url.host(), Some(Host::Domain(name)) if !name.bytes().all(is_host_letter)) {
            return Err(UnfitRedirectUri::Host);
        }
        let fits = match kind {
            // Without the slashes a browser takes the rest for a path below the page that it is on. In capitals the scheme
            // would be missed where texts are compared.
            _ if authority.is_none() => false,
            ApplicationType::Web | ApplicationType::Spa => {
                url.scheme() == "https" && url.host().is_some() || development && is_local_http(&url)
            }
            ApplicationType::Native => is_loopback_ip(&url) || is_custom_scheme(&url),
        };
        match (fits, kind) {
            (true, _) => Ok(Self(text.to_owned())),
            (false, ApplicationType::Native) => Err(UnfitRedirectUri::NotNative),
            (false, _) => Err(UnfitRedirectUri::NotHttps),
        }
    }

    /// The URI as it was registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The origin of a web address.
    pub fn origin(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.origin().ascii_serialization())
    }

    /// The host name of a web address.
    pub fn host(&self) -> Option<String> {
        Url::parse(&self.0).ok()?.host_str().map(str::to_owned)
    }

    /// The address itself, where it was not a request that named it.
    pub fn checked(&self) -> CheckedRedirect {
        CheckedRedirect(self.0.clone())
    }

    /// Whether a request's `redirect_uri` is this one: letter by letter, but for the port of a loopback address
    /// (RFC 8252 section 7.3), which a native application can't know beforehand.
    fn admits(&self, asked: &str) -> bool {
        if self.0 == asked {
            return true;
        }
        match (split_loopback(&self.0), split_loopback(asked)) {
            (Some((host, path)), Some((asked_host, asked_path))) => host == asked_host && path == asked_path,
            _ => false,
        }
    }
}

/// A redirect URI of a request that was found among the application's registered ones.
///
/// It can only be had from [`CheckedRedirect::find`], [`RedirectUri::checked`] and, for a sign-in that its administrator tries
/// out, [`CheckedRedirect::of_trial`]: before it exists an error can only be a page, after it an error
/// goes back to the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckedRedirect(String);

impl CheckedRedirect {
    /// Finds the asked URI among the registered ones.
    pub fn find(registered: &[RedirectUri], asked: &str) -> Option<Self> {
        registered.iter().any(|uri| uri.admits(asked)).then(|| Self(asked.to_owned()))
    }

    /// The address of a trial, if this is a trial of the application, and the asked URI is its address.
    pub fn of_trial(trial: &OpenTrial, application: &Did, asked: &str) -> Option<Self> {
        trial.address_for(application).filter(|address| *address == asked).map(|address| Self(address.to_owned()))
    }

    /// The URI as the request wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URI with these parameters added to its query.
    pub fn with_query(&self, parameters: &[(&str, &str)]) -> String {
        let mut serializer = form_urlencoded::Serializer::new(String::new());
        serializer.extend_pairs(parameters);
        let separator = if self.0.contains('?') { '&' } else { '?' };
        format!("{}{separator}{}", self.0, serializer.finish())
    }

    /// Whether a form can be posted to the URI: a native application's scheme takes none.
    pub fn takes_forms(&self) -> bool {
        self.0.starts_with("https://") || self.0.starts_with("http://")
    }

    /// What a Content-Security-Policy's `form-action` must name so that a form may end at this URI: its scheme.
    ///
    /// Browsers hold the whole chain of redirects against it, and an application may send the person on to another
    /// origin of its own, so the origin would be too narrow. From plain http it may be https.
    pub fn form_action_source(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        match url.scheme() {
            "http" => Some("http: https:".to_owned()),
            scheme => Some(format!("{scheme}:")),
        }
    }
}

/// What stands between `scheme://` and the path (RFC 3986 section 3.2), as it was written. `None` without the slashes,
/// or where the scheme is not in small letters.
fn authority<'a>(text: &'a str, url: &Url) -> Option<&'a str> {
    text.strip_prefix(url.scheme())?.strip_prefix("://")?.split(['/', '?', '#']).next()
}

const fn is_host_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_local_http(url: &Url) -> bool {
    url.scheme() == "http" && (matches!(url.host(), Some(Host::Domain("localhost"))) || is_loopback_ip(url))
}

fn is_loopback_ip(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
            Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
            _ => false,
        }
}

/// A scheme of an application's own; those that a browser acts upon itself are refused.
fn is_custom_scheme(url: &Url) -> bool {
    const TAKEN: [&str; 14] = [
        "http",
        "https",
        "ws",
        "wss",
        "ftp",
        "file",
        "javascript",
        "data",
        "blob",
        "about",
        "vbscript",
        "view-source",
        "filesystem",
        "intent",
    ];
    !TAKEN.contains(&url.scheme())
}

/// Splits `http://127.0.0.1:port/path?query` into its host and what follows the port. It reads the text itself, since
/// a parsed URL would forget differences (case, dots, encodings) that must count.
fn split_loopback(text: &str) -> Option<(&'static str, &str)> {
    let rest = text.strip_prefix("http://")?;
    let (host, rest) = if let Some(rest) = rest.strip_prefix("127.0.0.1") {
        ("127.0.0.1", rest)
    } else {
        ("[::1]", rest.strip_prefix("[::1]")?)
    };
    let path = match rest.strip_prefix(':') {
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (port, path) = rest.split_at_checked(digits)?;
            port.parse::<u16>().ok()?;
            path
        }
        None => rest,
    };
    // Anything but a path or nothing would be another host or user information.
    (path.is_empty() || path.starts_with('/')).then_some((host, path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn registered(uri: &str, kind: ApplicationType) -> [RedirectUri; 1] {
        [RedirectUri::register(uri, kind, false).expect("fit to register")]
    }

    #[test]
    fn a_redirect_uri_that_differs_in_anything_is_refused() {
        let uris = registered("https://rp.example/cb", ApplicationType::Web);
        assert!(CheckedRedirect::find(&uris, "https://rp.example/cb").is_some());
        for asked in [
            "https://rp.example/cb/",
            "https://rp.example/c",
            "https://rp.example/cb?x=1",
            "https://rp.example/cb#f",
            "https://rp.example/CB",
            "https://RP.example/cb",
            "https://rp.example:443/cb",
            "https://rp.example:8443/cb",
            "https://rp@evil.example/cb",
            "https://rp.example@evil.example/cb",
            "https://rp.example/x/../cb",
            "https://rp.example/%63b",
            "https://rp.example/%2563b",
            "http://rp.example/cb",
            "https://rp.example.evil/cb",
            "javascript:alert(1)",
            "",
            " https://rp.example/cb",
        ] {
            assert!(CheckedRedirect::find(&uris, asked).is_none(), "{asked}");
        }
    }

    #[test]
    fn the_port_of_a_loopback_address_is_free_and_nothing_else() {
        let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
        for asked in ["http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"] {
            assert!(CheckedRedirect::find(&uris, asked).is_some(), "{asked}");
        }
        for asked in [
            "http://127.0.0.1:51004/cb2",
            "http://127.0.0.1:51004@evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://127.0.0.1:99999/cb",
            "http://127.0.0.1:/cb",
            "http://localhost:51004/cb",
            "http://[::1]:51004/cb",
            "https://127.0.0.1:51004/cb",
            "http://127.0.0.1:1evil/cb",
        ] {
            assert!(CheckedRedirect::find(&uris, asked).is_none(), "{asked}");
        }
    }

    #[test]
    fn each_type_of_application_registers_its_own_form() {
        use ApplicationType::{Native, Spa, Web};
        let fit = |uri, kind, development| RedirectUri::register(uri, kind, development).is_ok();
        assert!(fit("https://a.example/cb", Web, false) && fit("https://a.example/cb", Spa, false));
        assert!(!fit("http://a.example/cb", Web, true) && !fit("http://localhost:3000/cb", Web, false));
        assert!(fit("http://localhost:3000/cb", Spa, true));
        assert!(fit("com.example.app://cb", Native, false) && fit("http://[::1]/cb", Native, false));
        assert!(!fit("https://a.example/cb", Native, false) && !fit("javascript://a/%0aalert(1)", Native, false));
        assert!(!fit("https://u:p@a.example/cb", Web, false) && !fit("https://a.example/cb#x", Web, false));
        assert!(!fit("/cb", Web, true) && !fit("com.example.app:cb", Native, false));
        assert!(!fit("https:a.example/cb", Web, false) && !fit("com.example.app:cb?x=://", Native, false));
        assert!(!fit("https://@a.example/cb", Web, false) && !fit("com.example.app://@", Native, false));
        assert!(!fit("https://a.example;script-src/cb", Web, false) && !fit("https://*.a.example/cb", Web, false));
        assert!(fit("com.example.app:///cb@1", Native, false) && !fit("HTTPS://a.example/cb", Web, false));
    }

    #[test]
    fn parameters_join_the_query_that_is_there() {
        let uri = CheckedRedirect("https://rp.example/cb?a=1".to_owned());
        assert_eq!(uri.with_query(&[("state", "x&y z")]), "https://rp.example/cb?a=1&state=x%26y+z");
    }

    proptest! {
        #[test]
        fn nothing_but_the_port_may_differ(asked in "http://(127\\.0\\.0\\.1|\\[::1\\]|localhost)(:[0-9]{0,6})?(/cb|/|@evil/cb)?.{0,3}") {
            let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
            if CheckedRedirect::find(&uris, &asked).is_some() {
                let url = Url::parse(&asked).expect("an admitted URI parses");
                prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
                prop_assert_eq!(url.path(), "/cb");
                prop_assert!(url.username().is_empty() && url.query().is_none() && url.fragment().is_none());
            }
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = RedirectUri::register(&text, ApplicationType::Native, true);
            let _ = split_loopback(&text);
        }
    }
}
