//! Cookies: one identifies the browser, one holds the session, one remembers a name, and one lists the users who signed
//! in in the browser before.
//!
//! All are `HttpOnly` and `SameSite=Lax`. By https they are `Secure` and have the prefix `__Host-`, so that no other
//! host can set them; by http, which is for localhost alone, plain names let every client follow.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use crate::domain::Services;
use crate::domain::sign_in::known_browsers;
use assent_model::secret::Secret;

/// A cookie of ours.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cookie {
    /// Tells browsers apart: a login goes on only in the browser that began it.
    Browser,
    /// Holds the session.
    Session,
    /// The name that was typed last, if the person wants it remembered; base64url.
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

    /// How long its value may be.
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
        let lines = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let mut pairs = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(key, value)| *key == name && value.len() <= self.longest())
            .map(|(_, value)| Secret::new(value))
    }

    /// The `Set-Cookie` header that sets it.
    pub(super) fn set(self, services: &Services, value: &str) -> String {
        let lifetime = match self {
            // The first identifies no user, and lets a user continue after closing the window. The other is bound to
            // it.
            Self::Browser | Self::Known => known_browsers::LIFE,
            // With an idle timeout the cookie may outlive its session, and is useless then.
            Self::Session => services.settings.session.absolute_timeout.whole_seconds(),
            Self::Name => 180 * 24 * 60 * 60,
        };
        self.header(services, value, lifetime)
    }

    /// The `Set-Cookie` header that removes it.
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
