//! The settings of SAML 2.0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// Checks the rules that the types cannot express.
pub(super) fn check(saml: &Saml, expect: &mut impl FnMut(bool, &str, &str)) {
    let Saml {
        certificate_validity,
        certificate_publish_ahead,
        metadata_validity,
        logout_timeout,
        assertion_validity,
    } = *saml;
    let (seconds, days) = (HumanDuration::seconds, HumanDuration::days);
    for (name, value, range) in [
        (
            "certificate_validity",
            certificate_validity,
            days(30)..=days(10_000),
        ),
        (
            "certificate_publish_ahead",
            certificate_publish_ahead,
            HumanDuration::ZERO..=days(3650),
        ),
        ("metadata_validity", metadata_validity, days(1)..=days(3650)),
        (
            "logout_timeout",
            logout_timeout,
            seconds(1)..=HumanDuration::minutes(1),
        ),
        (
            "assertion_validity",
            assertion_validity,
            seconds(30)..=HumanDuration::hours(1),
        ),
    ] {
        value.check(&format!("saml.{name}"), range, expect);
    }
    expect(
        certificate_publish_ahead.get() < certificate_validity.get() / 3,
        "saml.certificate_publish_ahead",
        "expected less than a third of saml.certificate_validity",
    );
}

/// SAML 2.0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Saml {
    /// How long a new signing certificate is valid: `30d` to `10000d`. In many service providers an administrator
    /// installs it by hand, so it should not expire often.
    pub certificate_validity: HumanDuration,
    /// How long a certificate is published in the metadata before it signs. The successor of an expiring certificate is
    /// published twice that time before the expiry.
    pub certificate_publish_ahead: HumanDuration,
    /// How long metadata is valid, as its `validUntil` states: `1d` to `3650d`. Service providers that hold a copy
    /// reject it after that time, and sign-ins there fail.
    pub metadata_validity: HumanDuration,
    /// How long a sign-out waits for each service provider, and for the sign-out pages of OpenID Connect clients.
    pub logout_timeout: HumanDuration,
    /// How long an assertion is valid: `30s` to `1h`. The service provider must receive it in that time; its own
    /// session may last longer.
    pub assertion_validity: HumanDuration,
}

impl Default for Saml {
    fn default() -> Self {
        Self {
            certificate_validity: HumanDuration::days(3650),
            certificate_publish_ahead: HumanDuration::days(30),
            metadata_validity: HumanDuration::days(365),
            logout_timeout: HumanDuration::seconds(5),
            assertion_validity: HumanDuration::minutes(5),
        }
    }
}
