//! Cookies: one identifies the browser, one holds the session, one remembers a name, and one lists the users who signed
//! in in the browser before.
//!
//! All are `HttpOnly` and `SameSite=Lax`. With HTTPS they are `Secure` and have the prefix `__Host-`, so that no other
//! host can set them. With HTTP, which is only for localhost, they have plain names, so that every client accepts them.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::domain::Services;
use crate::domain::sign_in::known_browsers;
use assent_model::secret::Secret;

/// A cookie of this server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cookie {
    /// Identifies the browser: a login continues only in the browser that began it.
    Browser,
    /// Holds the session.
    Session,
    /// The name that was typed last, if the user wants the browser to remember it; base64url.
    Name,
    /// The users who signed in in this browser; see [`crate::domain::sign_in::known_browsers`].
    Known,
}

impl Cookie {
    const fn name(self, https: bool) -> &'static str {
        match (self, https) {
            (Self::Browser, true) => "__Host-assent-browser",
            (Self::Browser, false) => "assent-browser",
            (Self::Session, true) => "__Host-assent-session",
            (Self::Session, false) => "assent-session",
            (Self::Name, true) => "__Host-assent-name",
            (Self::Name, false) => "assent-name",
            (Self::Known, true) => "__Host-assent-known",
            (Self::Known, false) => "assent-known",
        }
    }

    /// The maximum length of its value, in bytes.
    const fn longest(self) -> usize {
        match self {
            Self::Browser | Self::Session => 128,
            Self::Name => 2048,
            Self::Known => 1024,
        }
    }

    /// The cookie's value in a request.
    pub(super) fn read(self, services: &Services, headers: &HeaderMap) -> Option<Secret> {
        let name = self.name(services.settings.is_https());
        // Other programs of the same site set cookies as well, with any octets (RFC 6265 section 5.4). So the lines are
        // split as octets, and only the server's own pair must be text.
        let lines = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
        let mut values = lines
            .flat_map(|line| line.split(|octet| *octet == b';'))
            .filter_map(|pair| {
                pair.trim_ascii()
                    .strip_prefix(name.as_bytes())?
                    .strip_prefix(b"=")
            });
        values
            .find(|value| value.len() <= self.longest() && value.is_ascii())
            .and_then(|value| std::str::from_utf8(value).ok())
            .map(Secret::new)
    }

    /// The `Set-Cookie` header that sets the cookie.
    pub(super) fn set(self, services: &Services, value: &str) -> String {
        let lifetime = match self {
            // The first identifies no user, and lets a user continue after closing the window. The second is bound to
            // the first.
            Self::Browser | Self::Known => known_browsers::LIFE,
            // With an idle timeout the cookie may outlive its session. It is useless then.
            Self::Session => services.settings.session.absolute_timeout.whole_seconds(),
            Self::Name => 180 * 24 * 60 * 60,
        };
        self.header(services, value, lifetime)
    }

    /// The `Set-Cookie` header that removes the cookie.
    pub(super) fn remove(self, services: &Services) -> String {
        self.header(services, "", 0)
    }

    fn header(self, services: &Services, value: &str, max_age: u32) -> String {
        let https = services.settings.is_https();
        let secure = if https { "; Secure" } else { "" };
        format!(
            "{}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{secure}",
            self.name(https)
        )
    }
}
