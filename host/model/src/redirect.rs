//! Redirect URIs: registered by an administrator, and proof that a request names one of them.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::application::ApplicationType;
use crate::id::Did;
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::test_sign_in::OpenTestSignIn;

/// A redirect URI that an administrator registered. Two are the same only if their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedirectUri(String);

/// Why a text cannot be registered as a redirect URI. The message says what would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectUriError {
    /// Not an absolute URI.
    #[error(
        "a redirect URI is an absolute URI of at most 2,000 characters, such as https://app.example.org/callback"
    )]
    NotAbsolute,
    /// It has a fragment.
    #[error("a redirect URI has no fragment (RFC 6749 section 3.1.2)")]
    Fragment,
    /// It has a user name or password.
    #[error("a redirect URI has no user name or password")]
    UserInfo,
    /// Its host is no name or address of the Internet.
    #[error(
        "the host of a redirect URI has letters, digits, hyphens and dots, or is an IP address; there are no \
            wildcards, so register each redirect URI"
    )]
    Host,
    /// Not https.
    #[error(
        "a redirect URI of a web application or SPA starts with https:// (http://localhost only with the setting \
            `allow_insecure_redirect_uris = true`)"
    )]
    NotHttps,
    /// Neither a custom scheme nor a loopback address.
    #[error(
        "a redirect URI of a native application is a custom scheme with both slashes, such as \
         com.example.app://callback, or begins with http://127.0.0.1 or http://[::1]"
    )]
    NotNative,
}

impl RedirectUri {
    /// Checks a redirect URI for an application of this type.
    pub fn register(
        text: &str,
        kind: ApplicationType,
        development: bool,
    ) -> Result<Self, RedirectUriError> {
        let plain = text.len() <= 2000
            && text
                .bytes()
                .all(|b| b.is_ascii_graphic() && !matches!(b, b'\\' | b'"' | b'<' | b'>'));
        let url = plain
            .then(|| Url::parse(text).ok())
            .flatten()
            .ok_or(RedirectUriError::NotAbsolute)?;
        if url.fragment().is_some() {
            return Err(RedirectUriError::Fragment);
        }
        let authority = authority(text, &url);
        // The text is asked as well, since a parsed URL forgets a user name that is empty.
        if !url.username().is_empty()
            || url.password().is_some()
            || authority.is_some_and(|text| text.contains('@'))
        {
            return Err(RedirectUriError::UserInfo);
        }
        // An origin goes into headers: no mark of theirs, and no star, which would stand for many hosts.
        if matches!(url.host(), Some(Host::Domain(name)) if !name.bytes().all(is_host_letter)) {
            return Err(RedirectUriError::Host);
        }
        let fits = match kind {
            // Without the slashes a browser takes the rest for a path below the page that it is on. In capitals the
            // scheme would be missed where texts are compared.
            _ if authority.is_none() => false,
            ApplicationType::Web | ApplicationType::Spa => {
                url.scheme() == "https" && url.host().is_some()
                    || development && is_local_http(&url)
            }
            ApplicationType::Native => is_loopback_ip(&url) || is_custom_scheme(&url),
        };
        match (fits, kind) {
            (true, _) => Ok(Self(text.to_owned())),
            (false, ApplicationType::Native) => Err(RedirectUriError::NotNative),
            (false, _) => Err(RedirectUriError::NotHttps),
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
            (Some((host, path)), Some((asked_host, asked_path))) => {
                host == asked_host && path == asked_path
            }
            _ => false,
        }
    }
}

/// Where the answer to a sign-in request may go.
#[derive(Clone, Copy, Debug)]
pub enum RedirectPolicy<'a> {
    /// Only to an address that is registered for the application.
    Registered,
    /// Also to the server's own address, for this open test sign-in of the application.
    RegisteredOrOwn(&'a OpenTestSignIn),
}

/// An address that a policy admits, and what a sign-in that is answered there is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedRedirect {
    /// The address.
    pub uri: CheckedRedirect,
    /// What the sign-in is for.
    pub purpose: SignInPurpose,
}

/// A request that the server itself made in the application's place.
#[derive(Clone, Debug)]
pub struct OwnRequest<'a> {
    /// Where the answer goes, and what the sign-in is for.
    pub redirect: AdmittedRedirect,
    /// The name of the user who may complete it.
    pub login_hint: &'a LoginName,
}

impl<'a> RedirectPolicy<'a> {
    /// The policy for a browser with this open test sign-in, if it has one.
    pub fn for_browser(open: Option<&'a OpenTestSignIn>) -> Self {
        open.map_or(Self::Registered, Self::RegisteredOrOwn)
    }

    /// Whether a request may be the server's own.
    pub const fn admits_own_requests(self) -> bool {
        matches!(self, Self::RegisteredOrOwn(_))
    }

    /// Finds the requested address among the registered ones, then among those that the policy adds.
    pub fn find(
        self,
        application: &Did,
        registered: &[RedirectUri],
        requested: &str,
    ) -> Option<AdmittedRedirect> {
        let found = CheckedRedirect::find(registered, requested).map(|uri| AdmittedRedirect {
            uri,
            purpose: SignInPurpose::Application,
        });
        found.or_else(|| match self {
            Self::Registered => None,
            Self::RegisteredOrOwn(open) => own_redirect(open, application, requested),
        })
    }

    /// The server's own request, if a request has its id and its address for the answer.
    pub fn own_request(
        self,
        application: &Did,
        request_id: &str,
        address: Option<&str>,
    ) -> Option<OwnRequest<'a>> {
        match self {
            Self::Registered => None,
            Self::RegisteredOrOwn(open) if open.request_id() == request_id => Some(OwnRequest {
                redirect: own_redirect(open, application, address?)?,
                login_hint: open.login_hint(),
            }),
            Self::RegisteredOrOwn(_) => None,
        }
    }
}

/// The server's own address, if the test sign-in is of this application, and the request names that address.
fn own_redirect(
    open: &OpenTestSignIn,
    application: &Did,
    requested: &str,
) -> Option<AdmittedRedirect> {
    open.address_for(application)
        .filter(|address| *address == requested)
        .map(|address| AdmittedRedirect {
            uri: CheckedRedirect(address.to_owned()),
            purpose: SignInPurpose::TestSignIn(open.test_sign_in().id),
        })
}

/// The address of a request, found among those that the application may be answered at.
///
/// Only [`CheckedRedirect::find`], [`RedirectUri::checked`] and [`RedirectPolicy`] create one. Before it exists, an
/// error can only be a page; after it an error goes back to the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckedRedirect(String);

impl CheckedRedirect {
    /// Finds the asked URI among the registered ones.
    pub fn find(registered: &[RedirectUri], asked: &str) -> Option<Self> {
        registered
            .iter()
            .any(|uri| uri.admits(asked))
            .then(|| Self(asked.to_owned()))
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
    text.strip_prefix(url.scheme())?
        .strip_prefix("://")?
        .split(['/', '?', '#'])
        .next()
}

const fn is_host_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_local_http(url: &Url) -> bool {
    url.scheme() == "http"
        && (matches!(url.host(), Some(Host::Domain("localhost"))) || is_loopback_ip(url))
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
mod tests;
