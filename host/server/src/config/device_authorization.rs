//! The settings of device authorization.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// Device authorization (RFC 8628): sign-in on a device without a browser, by a code that the user enters in the
/// authenticator. Only an application with the grant type `urn:ietf:params:oauth:grant-type:device_code` may do so.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceAuthorization {
    /// How long a code is valid, with the time to approve: `1m` to `30m`.
    pub lifetime: HumanDuration,
    /// The shortest time between two polls of one device: `1s` to `1m`. A device that polls faster must wait five
    /// seconds longer each time.
    pub interval: HumanDuration,
}

impl Default for DeviceAuthorization {
    fn default() -> Self {
        Self {
            lifetime: HumanDuration::minutes(10),
            interval: HumanDuration::seconds(5),
        }
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(settings: &DeviceAuthorization, expect: &mut impl FnMut(bool, &str, &str)) {
    let DeviceAuthorization { lifetime, interval } = *settings;
    lifetime.check(
        "oidc.device_authorization.lifetime",
        HumanDuration::minutes(1)..=HumanDuration::minutes(30),
        expect,
    );
    interval.check(
        "oidc.device_authorization.interval",
        HumanDuration::seconds(1)..=HumanDuration::minutes(1),
        expect,
    );
}
