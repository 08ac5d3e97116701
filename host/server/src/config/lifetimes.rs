//! The settings of lifetimes and sessions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// Checks the rules that the types cannot express.
pub(super) fn check(
    lifetimes: &Lifetimes,
    session: &Session,
    expect: &mut impl FnMut(bool, &str, &str),
) {
    const SECOND: HumanDuration = HumanDuration::seconds(1);
    let (minutes, days) = (HumanDuration::minutes, HumanDuration::days);
    for (name, lifetime, longest) in [
        ("access_token", lifetimes.access_token, days(1)),
        (
            "client_credentials_token",
            lifetimes.client_credentials_token,
            days(1),
        ),
        ("refresh_token", lifetimes.refresh_token, days(400)),
        ("consent", lifetimes.consent, days(400)),
        ("id_token", lifetimes.id_token, days(1)),
        (
            "authorization_code",
            lifetimes.authorization_code,
            minutes(10),
        ),
        ("approval", lifetimes.approval, minutes(10)),
        ("login", lifetimes.login, days(1)),
        ("enrolment", lifetimes.enrolment, days(30)),
        ("admin_token", lifetimes.admin_token, days(1)),
    ] {
        lifetime.check(&format!("lifetimes.{name}"), SECOND..=longest, expect);
    }
    lifetimes.refresh_token_grace.check(
        "lifetimes.refresh_token_grace",
        HumanDuration::ZERO..=minutes(5),
        expect,
    );
    session
        .absolute_timeout
        .check("session.absolute_timeout", SECOND..=days(30), expect);
    if let Some(idle_timeout) = session.idle_timeout {
        idle_timeout.check("session.idle_timeout", SECOND..=days(30), expect);
        expect(
            idle_timeout <= session.absolute_timeout,
            "session.idle_timeout",
            &format!(
                "expected at most {}, the value of session.absolute_timeout",
                session.absolute_timeout
            ),
        );
    }
}

/// How long tokens, codes and requests are valid. The defaults are the specification's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// An access token.
    pub access_token: HumanDuration,
    /// An access token that an application receives for itself (`client_credentials`).
    pub client_credentials_token: HumanDuration,
    /// A refresh token. Each use returns a new one with the full lifetime.
    pub refresh_token: HumanDuration,
    /// A consent: how long a user is not asked again, and how long an application can refresh its tokens.
    pub consent: HumanDuration,
    /// How long after its use a client may retry a refresh token, because the response was lost. Only while no token of
    /// that response was used. `0s`: never.
    pub refresh_token_grace: HumanDuration,
    /// An ID token.
    pub id_token: HumanDuration,
    /// An authorization code.
    pub authorization_code: HumanDuration,
    /// An approval request.
    pub approval: HumanDuration,
    /// A sign-in, from the application's request until the user must begin again.
    pub login: HumanDuration,
    /// An enrolment link.
    pub enrolment: HumanDuration,
    /// A token of `assent admin token`.
    pub admin_token: HumanDuration,
}

/// When sessions end (NIST SP 800-63B section 7.2).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// A session ends this long after the sign-in at the latest: `1s` to `30d`.
    pub absolute_timeout: HumanDuration,
    /// A session also ends when it is not used for this long: `1s` to `absolute_timeout`. Without this key only the
    /// absolute timeout applies.
    pub idle_timeout: Option<HumanDuration>,
}

impl Session {
    /// Returns the time for which a session lasts without further use.
    pub fn timeout(&self) -> Duration {
        self.idle_timeout.unwrap_or(self.absolute_timeout).get()
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            access_token: HumanDuration::hours(1),
            client_credentials_token: HumanDuration::minutes(10),
            refresh_token: HumanDuration::days(7),
            consent: HumanDuration::days(14),
            refresh_token_grace: HumanDuration::seconds(30),
            id_token: HumanDuration::hours(1),
            authorization_code: HumanDuration::minutes(10),
            approval: HumanDuration::minutes(2),
            login: HumanDuration::minutes(30),
            enrolment: HumanDuration::days(1),
            admin_token: HumanDuration::minutes(15),
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            absolute_timeout: HumanDuration::hours(1),
            idle_timeout: None,
        }
    }
}
