//! Known browsers: those in which a user signed in before.
//!
//! A cookie identifies them, sealed with a sealing key and bound to the cookie that identifies the browser. Requests
//! for a name typed in a known browser have separate rate limits and a separate limit of pending requests. Therefore an
//! attacker who types the user's name elsewhere does not lock the user out. A browser without the cookie shows no
//! difference.
//!
//! A report of a request from a known browser revokes the trust in all known browsers of the user. An attacker who uses
//! such a browser must not notice the report. So the limits that reject a request still count it as one from a known
//! browser. However, it is sent to a device only within the number of pending requests for unknown browsers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::secret::Digest;

/// The largest number of users that a browser's cookie contains.
const MOST_USERS: usize = 5;
/// The time after the last sign-in for which a browser is known, in seconds: a year.
pub const LIFE: u32 = 365 * 24 * 60 * 60;

/// A user who signed in with the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownUser {
    user: UserId,
    /// The time of the last sign-in there, in milliseconds since the epoch.
    at: i64,
}

/// The relation of a browser to the user of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserStatus {
    /// The user signed in there, and has reported no request from a known browser since.
    Known,
    /// The user signed in there before such a report. The limits that reject a request count it as one from a known
    /// browser. It is sent to a device only within the number of pending requests for unknown browsers. The browser is
    /// known again after a sign-in.
    Stale,
    /// The user never signed in there, according to the browser's cookies.
    Unknown,
}

/// The users who signed in with a browser, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownUsers(Vec<KnownUser>);

impl KnownUsers {
    /// Opens the cookie of a browser. A cookie of another browser or an invalid one contains no users.
    pub fn open(services: &Services, browser: Digest, cookie: &str) -> Self {
        let opened = services.sealing_keys.open(&purpose(browser), cookie).ok();
        let known: Vec<KnownUser> = opened
            .and_then(|plain| serde_json::from_slice(&plain).ok())
            .unwrap_or_default();
        let since = services.now() - Duration::from_secs(LIFE.into());
        Self(
            known
                .into_iter()
                .filter(|known| known.at > since.millis())
                .take(MOST_USERS)
                .collect(),
        )
    }

    /// Whether no user signed in with the browser, according to its cookies.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of the cookie after a sign-in of this user.
    pub fn seal_with(
        mut self,
        services: &Services,
        browser: Digest,
        user: UserId,
    ) -> Result<String, InternalError> {
        self.0.retain(|known| known.user != user);
        self.0.insert(
            0,
            KnownUser {
                user,
                at: services.now().millis(),
            },
        );
        self.0.truncate(MOST_USERS);
        let plain = serde_json::to_vec(&self.0).unwrap_or_default();
        Ok(services.seal(&purpose(browser), &plain)?)
    }

    /// Returns the relation of this browser to the user with this name.
    pub async fn status_for(
        &self,
        services: &Services,
        name: &LoginName,
    ) -> Result<BrowserStatus, InternalError> {
        // A browser without known users makes no query, for any name.
        if self.0.is_empty() {
            return Ok(BrowserStatus::Unknown);
        }
        let Some(user) = services.store.user_by_login(name).await? else {
            return Ok(BrowserStatus::Unknown);
        };
        let Some(known) = self.0.iter().find(|known| known.user == user.id) else {
            return Ok(BrowserStatus::Unknown);
        };
        let from: Option<Timestamp> = services.store.browsers_known_from(user.id).await?;
        Ok(match from {
            Some(from) if known.at >= from.millis() => BrowserStatus::Known,
            Some(_) => BrowserStatus::Stale,
            None => BrowserStatus::Unknown,
        })
    }
}

fn purpose(browser: Digest) -> String {
    format!("known browser {}", browser.to_text())
}
