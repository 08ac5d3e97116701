//! Redirect URIs: registered ones, and proof that a request uses one of them.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::application_type::ApplicationType;
use crate::id::Did;
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::test_sign_in::OpenTestSignIn;

/// A redirect URI that an administrator registered. Two URIs are equal only if their texts are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedirectUri(String);

/// The reason to reject a text as a redirect URI. The message describes the expected text.
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
    /// The host is not a valid host name or IP address.
    #[error(
        "the host of a redirect URI has letters, digits, hyphens and dots, or is an IP address; there are no \
            wildcards, so register each redirect URI"
    )]
    Host,
    /// A single-page application uses another scheme than https.
    #[error(
        "a redirect URI of a single-page application starts with https:// (http://localhost only with the setting \
            `allow_insecure_redirect_uris = true`)"
    )]
    NotHttps,
    /// A web application uses neither https nor a loopback address.
    #[error(
        "a redirect URI of a web application starts with https://, or is a loopback address such as \
         http://localhost:8250/callback or http://127.0.0.1/callback"
    )]
    NotWeb,
    /// A native application uses none of the addresses of RFC 8252 section 7.
    #[error(
        "a redirect URI of a native application is a custom scheme with a slash, such as com.example.app:/callback or \
         com.example.app://callback, starts with https://, http://127.0.0.1 or http://[::1], or is http://localhost \
         with its port, such as http://localhost:8085/callback"
    )]
    NotNative,
}

/// A risk of a redirect URI, for the administrator who registers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectUriWarning {
    /// The name `localhost` of a native application (RFC 8252 section 8.3).
    #[error(
        "http://localhost may lead to another program or network interface, and only this port is accepted; prefer \
         http://127.0.0.1, where each port is accepted"
    )]
    Localhost,
    /// A loopback address of a web application.
    #[error(
        "this address is on the machine of the user, where each program can receive the answer; register it only for \
         a command-line tool of this application"
    )]
    LoopbackOfWeb,
    /// A custom scheme that is no domain name in reverse (RFC 8252 section 8.4).
    #[error(
        "another application may use the same scheme; prefer a domain name of yours in reverse, such as \
         com.example.app"
    )]
    SchemeWithoutDomain,
}

/// The kind of an address that an application may register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressKind {
    Https,
    /// `http://127.0.0.1` or `http://[::1]`.
    LoopbackIp,
    /// `http://localhost`.
    Localhost,
    CustomScheme,
    Other,
}

impl RedirectUri {
    /// Checks a redirect URI for an application of this type. `development` also permits http on this machine.
    ///
    /// # Errors
    /// [`RedirectUriError`] if an application of this type must not use the URI.
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
        // The text is checked as well, because a parsed URL drops an empty user name.
        if !url.username().is_empty()
            || url.password().is_some()
            || authority.is_some_and(|text| text.contains('@'))
        {
            return Err(RedirectUriError::UserInfo);
        }
        // Headers contain the origin, so the host must contain neither a delimiter nor a wildcard.
        if matches!(url.host(), Some(Host::Domain(name)) if !name.bytes().all(is_host_letter)) {
            return Err(RedirectUriError::Host);
        }
        let address = address_kind(text, &url);
        let has_port = authority.is_some_and(|text| text.contains(':'));
        let (fits, error) = match kind {
            ApplicationType::Web => (
                matches!(
                    address,
                    AddressKind::Https | AddressKind::LoopbackIp | AddressKind::Localhost
                ),
                RedirectUriError::NotWeb,
            ),
            ApplicationType::Spa => (
                address == AddressKind::Https
                    || development
                        && matches!(address, AddressKind::LoopbackIp | AddressKind::Localhost),
                RedirectUriError::NotHttps,
            ),
            ApplicationType::Native => (
                match address {
                    AddressKind::Https | AddressKind::LoopbackIp | AddressKind::CustomScheme => {
                        true
                    }
                    AddressKind::Localhost => has_port,
                    AddressKind::Other => false,
                },
                RedirectUriError::NotNative,
            ),
        };
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(error)
        }
    }

    /// Checks an address of a service provider, or another address that is never on the machine of the user.
    /// `development` also permits http on this machine.
    ///
    /// # Errors
    /// [`RedirectUriError`] if the text is no such address.
    pub fn register_https(text: &str, development: bool) -> Result<Self, RedirectUriError> {
        Self::register(text, ApplicationType::Spa, development)
    }

    /// Returns the risk of this redirect URI for an application of this type, if it has one.
    pub fn warning(&self, kind: ApplicationType) -> Option<RedirectUriWarning> {
        let url = Url::parse(&self.0).ok()?;
        match (address_kind(&self.0, &url), kind) {
            (AddressKind::Localhost, ApplicationType::Native) => {
                Some(RedirectUriWarning::Localhost)
            }
            (AddressKind::LoopbackIp | AddressKind::Localhost, ApplicationType::Web) => {
                Some(RedirectUriWarning::LoopbackOfWeb)
            }
            (AddressKind::CustomScheme, _) if !url.scheme().contains('.') => {
                Some(RedirectUriWarning::SchemeWithoutDomain)
            }
            _ => None,
        }
    }

    /// Returns the registered URI.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the origin of a web address.
    pub fn origin(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.origin().ascii_serialization())
    }

    /// Returns the host name of a web address.
    pub fn host(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https");
        url.host_str().filter(|_| is_web).map(str::to_owned)
    }

    /// Returns the address, for answers to requests that contain no address.
    pub fn to_checked(&self) -> CheckedRedirect {
        CheckedRedirect(self.0.clone())
    }

    /// Whether a request's `redirect_uri` equals this one exactly. Only the port of a loopback address may differ (RFC
    /// 8252 section 7.3), because a native application cannot know it beforehand.
    fn admits(&self, requested: &str) -> bool {
        if self.0 == requested {
            return true;
        }
        match (split_loopback(&self.0), split_loopback(requested)) {
            (Some((host, path)), Some((asked_host, asked_path))) => {
                host == asked_host && path == asked_path
            }
            _ => false,
        }
    }
}

/// The permitted addresses for the answer to a sign-in request.
#[derive(Clone, Copy, Debug)]
pub enum RedirectPolicy<'a> {
    /// Only the registered addresses of the application.
    Registered,
    /// Also the server's own address, for this open test sign-in of the application.
    RegisteredOrOwn(&'a OpenTestSignIn),
}

/// An address that a policy permits, and the purpose of sign-ins that are answered there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedRedirect {
    /// The address.
    pub uri: CheckedRedirect,
    /// The purpose of the sign-in.
    pub purpose: SignInPurpose,
}

/// A request that the server itself created instead of the application.
#[derive(Clone, Debug)]
pub struct OwnRequest<'a> {
    /// The address for the answer, and the purpose of the sign-in.
    pub redirect: AdmittedRedirect,
    /// The name of the user who may complete it.
    pub login_hint: &'a LoginName,
}

impl<'a> RedirectPolicy<'a> {
    /// Returns the policy for a browser with this open test sign-in, if it has one.
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

    /// Returns the server's own request, if the request has its id and its address for the answer.
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

/// Returns the server's own address, if the test sign-in belongs to this application, and the request contains that
/// address.
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

/// The address of a request, found among the permitted addresses of the application.
///
/// Only [`CheckedRedirect::find`], [`RedirectUri::checked`] and [`RedirectPolicy`] create it. Before the address is
/// checked, an error must be shown on a page; afterwards the application receives the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckedRedirect(String);

impl CheckedRedirect {
    /// Finds the requested URI among the registered ones.
    pub fn find(registered: &[RedirectUri], requested: &str) -> Option<Self> {
        registered
            .iter()
            .any(|uri| uri.admits(requested))
            .then(|| Self(requested.to_owned()))
    }

    /// Returns the URI as in the request.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the URI with these parameters added to its query.
    pub fn with_query(&self, parameters: &[(&str, &str)]) -> String {
        let mut serializer = form_urlencoded::Serializer::new(String::new());
        serializer.extend_pairs(parameters);
        let separator = if self.0.contains('?') { '&' } else { '?' };
        format!("{}{separator}{}", self.0, serializer.finish())
    }

    /// Whether a form can be posted to the URI. The custom scheme of a native application does not support this.
    pub fn takes_forms(&self) -> bool {
        self.0.starts_with("https://") || self.0.starts_with("http://")
    }

    /// Returns the source for `form-action` of a Content-Security-Policy that permits a form to end at this URI: its
    /// scheme.
    ///
    /// Browsers check the whole chain of redirects, and an application may redirect to another origin of its own, so
    /// the origin would be too narrow. An http address may redirect to https.
    pub fn form_action_source(&self) -> Option<String> {
        let url = Url::parse(&self.0).ok()?;
        match url.scheme() {
            "http" => Some("http: https:".to_owned()),
            scheme => Some(format!("{scheme}:")),
        }
    }
}

/// Returns the unchanged text between `scheme://` and the path (RFC 3986 section 3.2). Returns `None` without the
/// slashes, or if the scheme is not in lower case.
fn authority<'a>(text: &'a str, url: &Url) -> Option<&'a str> {
    text.strip_prefix(url.scheme())?
        .strip_prefix("://")?
        .split(['/', '?', '#'])
        .next()
}

/// Returns the kind of an address. A scheme in upper case would not match in text comparisons, so it is of no kind.
fn address_kind(text: &str, url: &Url) -> AddressKind {
    let has_authority = authority(text, url).is_some();
    match url.scheme() {
        "https" if has_authority && url.host().is_some() => AddressKind::Https,
        "http" if has_authority && is_loopback_ip(url) => AddressKind::LoopbackIp,
        "http" if has_authority && url.host() == Some(Host::Domain("localhost")) => {
            AddressKind::Localhost
        }
        scheme if is_custom_scheme(scheme) => {
            // One slash is the form of RFC 8252 section 7.1. Without a slash, a program may take the rest for a path
            // relative to the current page.
            let rest = text
                .strip_prefix(scheme)
                .and_then(|rest| rest.strip_prefix(':'));
            match rest {
                Some(rest) if rest.starts_with('/') => AddressKind::CustomScheme,
                _ => AddressKind::Other,
            }
        }
        _ => AddressKind::Other,
    }
}

const fn is_host_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_loopback_ip(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
            Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
            _ => false,
        }
}

/// Whether the scheme is a custom one. Schemes that browsers handle themselves are rejected.
fn is_custom_scheme(scheme: &str) -> bool {
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
    !TAKEN.contains(&scheme)
}

/// Splits `http://127.0.0.1:port/path?query` into its host and the text after the port. It uses the text, because a
/// parsed URL would hide significant differences (case, dots, encodings).
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
            // Port 0 names no port, and a leading zero is another spelling of a port.
            let is_port = !port.starts_with('0') && port.parse::<u16>().is_ok();
            is_port.then_some(path)?
        }
        None => rest,
    };
    // Any other text would be another host or user information.
    (path.is_empty() || path.starts_with('/')).then_some((host, path))
}

#[cfg(test)]
mod tests;
