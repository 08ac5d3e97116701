//! Dynamic client registration (RFC 7591, RFC 7592): initial access tokens with their limits, and the registrations of
//! applications that registered themselves.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::application::security_profile::SecurityProfile;
use crate::application::{OidcSettings, SubjectType};
use crate::application_type::ApplicationType;
use crate::clock::Timestamp;
use crate::id::{Did, RegistrationTokenId};
use crate::redirect::RedirectUri;
use crate::scope::{Scope, Scopes};
use crate::secret::Digest;

/// The length of a day of the daily quota, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The limits of the applications that register themselves with one initial access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistrationLimits {
    /// The scopes that they may have. A registration without `scope` has all of them.
    pub scopes: Scopes,
    /// The hosts of their redirect URIs; empty: all hosts.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redirect_hosts: BTreeSet<String>,
    /// The security profile that they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_profile: Option<SecurityProfile>,
    /// The application types that they may have.
    pub application_types: Vec<ApplicationType>,
}

impl Default for RegistrationLimits {
    fn default() -> Self {
        Self {
            scopes: Scope::DEFAULT.into_iter().collect(),
            redirect_hosts: BTreeSet::new(),
            security_profile: None,
            application_types: vec![
                ApplicationType::Web,
                ApplicationType::Spa,
                ApplicationType::Native,
            ],
        }
    }
}

/// A setting that a registration may not have: the member of the application, and the permitted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationViolation {
    /// The member, by its name in the admin API.
    pub member: &'static str,
    /// The permitted value.
    pub expected: String,
}

impl RegistrationViolation {
    fn new(member: &'static str, expected: impl Into<String>) -> Self {
        Self {
            member,
            expected: expected.into(),
        }
    }
}

impl RegistrationLimits {
    /// Returns the first setting that exceeds the limits.
    pub fn violation(&self, settings: &OidcSettings) -> Option<RegistrationViolation> {
        if !self.application_types.contains(&settings.application_type) {
            let expected = "the initial access token permits other application types";
            return Some(RegistrationViolation::new("application_type", expected));
        }
        if !settings.scopes.within(&self.scopes) {
            let expected = format!("the initial access token permits {}", self.scopes);
            return Some(RegistrationViolation::new("scopes", expected));
        }
        let uris = [
            ("redirect_uris", &settings.redirect_uris),
            (
                "post_logout_redirect_uris",
                &settings.post_logout_redirect_uris,
            ),
        ];
        let foreign = uris.into_iter().find(|(_, uris)| !self.has_hosts(uris));
        if let Some((member, _)) = foreign {
            let hosts: Vec<&str> = self.redirect_hosts.iter().map(String::as_str).collect();
            let expected = format!(
                "the initial access token permits the hosts {}",
                hosts.join(", ")
            );
            return Some(RegistrationViolation::new(member, expected));
        }
        let starts_elsewhere = settings.initiate_login_uri.as_ref().is_some_and(|uri| {
            let host = uri.host().map(str::to_owned);
            !self.redirect_hosts.is_empty()
                && host.is_none_or(|host| !self.redirect_hosts.contains(&host))
        });
        if starts_elsewhere {
            let expected = "the initial access token permits other hosts";
            return Some(RegistrationViolation::new("initiate_login_uri", expected));
        }
        // The server fetches it.
        let has_foreign_logo = settings.information.logo_uri.as_ref().is_some_and(|uri| {
            let host = uri.host_str().unwrap_or_default();
            !self.redirect_hosts.is_empty() && !self.redirect_hosts.contains(host)
        });
        if has_foreign_logo {
            let expected = "the initial access token permits other hosts";
            return Some(RegistrationViolation::new("logo_uri", expected));
        }
        if self.security_profile.is_some() && settings.security_profile != self.security_profile {
            let expected = "the initial access token requires its security profile";
            return Some(RegistrationViolation::new("security_profile", expected));
        }
        settings.is_service_account().then(|| {
            let expected = "only an owner grants admin scopes";
            RegistrationViolation::new("admin_scopes", expected)
        })
    }

    fn has_hosts(&self, uris: &[RedirectUri]) -> bool {
        let is_permitted = |uri: &RedirectUri| {
            uri.host()
                .is_some_and(|host| self.redirect_hosts.contains(&host))
        };
        self.redirect_hosts.is_empty() || uris.iter().all(is_permitted)
    }
}

/// Returns the first right that an update of an application by itself would raise. An administrator may have reduced
/// the rights since the registration.
pub fn raised_right(before: &OidcSettings, after: &OidcSettings) -> Option<RegistrationViolation> {
    if !after.scopes.within(&before.scopes) {
        let expected = format!(
            "the application has {}; it cannot add others",
            before.scopes
        );
        return Some(RegistrationViolation::new("scopes", expected));
    }
    if !after.grant_types.is_subset(&before.grant_types) {
        let expected = "the application cannot add grant types";
        return Some(RegistrationViolation::new("grant_types", expected));
    }
    // A public subject, or that of another sector, would identify users across applications.
    let sector = |settings: &OidcSettings| match &settings.subject_type {
        SubjectType::Public => None,
        SubjectType::Pairwise { sector } => Some(sector.clone()),
    };
    (sector(before) != sector(after)).then(|| {
        let expected = "the application cannot change its subject type or its sector";
        RegistrationViolation::new("subject_type", expected)
    })
}

/// A token with which applications register themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationToken {
    /// The id.
    pub id: RegistrationTokenId,
    /// The digest of the token.
    pub digest: Digest,
    /// The name that administrators see.
    pub name: String,
    /// The id of the administrator, operator token or service account that created it.
    pub created_by: Option<String>,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time after which it is not valid any more.
    pub expires_at: Timestamp,
    /// The number of applications that it may register in total.
    pub quota: u32,
    /// The number of applications that it may register on one day (UTC).
    pub daily_quota: u32,
    /// The number of applications that it has registered.
    pub used: u32,
    /// The number of applications that it has registered on [`Self::day`].
    pub used_on_day: u32,
    /// The day of the last registration, in days since the epoch.
    pub day: i64,
    /// The limits of the applications.
    pub limits: RegistrationLimits,
}

/// The reason why a valid token registers no application now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExhaustedQuota {
    /// It has registered all of its applications.
    Total,
    /// It has registered all of its applications of this day.
    Daily,
}

impl ExhaustedQuota {
    /// Returns the reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Total => {
                "the initial access token has registered its largest number of applications"
            }
            Self::Daily => {
                "the initial access token has registered its largest number of applications of this day; try again \
                 tomorrow (UTC)"
            }
        }
    }
}

impl RegistrationToken {
    /// Returns the quota that is exhausted at this time.
    pub const fn exhausted_quota(&self, now: Timestamp) -> Option<ExhaustedQuota> {
        if self.used >= self.quota {
            return Some(ExhaustedQuota::Total);
        }
        if self.day == day_of(now) && self.used_on_day >= self.daily_quota {
            return Some(ExhaustedQuota::Daily);
        }
        None
    }
}

/// Returns the day of a time (UTC), in days since the epoch.
pub const fn day_of(time: Timestamp) -> i64 {
    time.millis().div_euclid(DAY)
}

/// The initial access token with which an application registered itself, and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationSource {
    /// The id of the token, which may be deleted.
    pub token: RegistrationTokenId,
    /// The name of the token at that time.
    pub token_name: String,
    /// The time of the registration.
    pub registered_at: Timestamp,
}

/// The registration of an application that registered itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRegistration {
    /// The application.
    pub application: Did,
    /// The digest of the registration access token.
    pub digest: Digest,
    /// The initial access token.
    pub source: RegistrationSource,
    /// The limits of that token, which stay in force for updates.
    pub limits: RegistrationLimits,
    /// The accepted metadata without a setting of the application, such as `sector_identifier_uri`.
    pub metadata: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(used: u32, used_on_day: u32, day: i64) -> RegistrationToken {
        RegistrationToken {
            id: RegistrationTokenId::from_bytes([0; 16]),
            digest: Digest::sha256(b"token"),
            name: "Partners".to_owned(),
            created_by: None,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(10 * DAY),
            quota: 3,
            daily_quota: 2,
            used,
            used_on_day,
            day,
            limits: RegistrationLimits::default(),
        }
    }

    #[test]
    fn a_quota_ends_in_total_and_for_a_day() {
        let now = Timestamp::from_millis(5 * DAY + 1);
        assert_eq!(token(0, 0, 0).exhausted_quota(now), None);
        assert_eq!(token(2, 2, 4).exhausted_quota(now), None);
        assert_eq!(
            token(2, 2, 5).exhausted_quota(now),
            Some(ExhaustedQuota::Daily)
        );
        assert_eq!(
            token(3, 1, 4).exhausted_quota(now),
            Some(ExhaustedQuota::Total)
        );
    }

    #[test]
    fn limits_bound_hosts_scopes_and_types() {
        let mut settings = OidcSettings::new(ApplicationType::Web);
        let uri = RedirectUri::register("https://a.example/cb", ApplicationType::Web, false);
        settings.redirect_uris = vec![uri.expect("a redirect URI")];
        let limits = RegistrationLimits::default();
        assert_eq!(limits.violation(&settings), None);
        let member = |limits: RegistrationLimits| limits.violation(&settings).map(|it| it.member);
        let hosts = RegistrationLimits {
            redirect_hosts: BTreeSet::from(["b.example".to_owned()]),
            ..RegistrationLimits::default()
        };
        assert_eq!(member(hosts), Some("redirect_uris"));
        let scopes = RegistrationLimits {
            scopes: Scopes::parse_known("openid"),
            ..RegistrationLimits::default()
        };
        assert_eq!(member(scopes), Some("scopes"));
        let types = RegistrationLimits {
            application_types: vec![ApplicationType::Native],
            ..RegistrationLimits::default()
        };
        assert_eq!(member(types), Some("application_type"));
    }

    #[test]
    fn an_update_raises_no_right() {
        let before = OidcSettings {
            scopes: Scopes::parse_known("openid email"),
            ..OidcSettings::new(ApplicationType::Web)
        };
        let after = OidcSettings {
            scopes: Scopes::parse_known("openid profile"),
            ..before.clone()
        };
        let member = raised_right(&before, &after).map(|raised| raised.member);
        assert_eq!(member, Some("scopes"));
        let after = OidcSettings {
            subject_type: SubjectType::Pairwise {
                sector: "a.example".to_owned(),
            },
            ..before.clone()
        };
        let member = raised_right(&before, &after).map(|raised| raised.member);
        assert_eq!(member, Some("subject_type"));
        assert_eq!(raised_right(&before, &before), None);
    }
}
