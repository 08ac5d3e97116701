//! The settings of back-channel authentication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;
use crate::config::rate_limits::{Rate, check_rate};

/// Back-channel authentication (OpenID CIBA Core 1.0): applications that ask for a user without a browser. Only an
/// application with the grant type `urn:openid:params:grant-type:ciba` may do so.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Backchannel {
    /// How long a request is valid if the application does not set `requested_expiry`: `10s` to `10m`.
    pub lifetime: HumanDuration,
    /// The shortest time between two polls of one request: `1s` to `1m`. A client that polls faster must wait five
    /// seconds longer each time.
    pub interval: HumanDuration,
    /// Lets applications receive the tokens at an address of theirs (delivery mode `push`). The security profile
    /// `fapi-ciba` never permits it.
    pub push: bool,
    /// The most token requests that wait for a decision at once on one instance (long polls): 0 to 100000. Above it a
    /// token request is answered at once. `0`: none waits.
    pub long_polls: u32,
    /// The most open requests of one application for one user.
    pub open_requests: u32,
    /// Requests of one application, for any user. Each instance counts separately.
    pub requests_per_client: Rate,
    /// Requests that reach the devices of one user, from all applications together. Each instance counts separately.
    /// Above the limit no device receives the request, and the application sees it expire.
    pub requests_per_user: Rate,
    /// After a denial or a report no device of this user receives a request of the same application for this time: `0s`
    /// to `1d`. Five requests without an answer within this time have the same effect. The application sees such a
    /// request expire.
    pub denial_pause: HumanDuration,
}

impl Default for Backchannel {
    fn default() -> Self {
        Self {
            lifetime: HumanDuration::minutes(2),
            interval: HumanDuration::seconds(5),
            push: false,
            long_polls: 10_000,
            open_requests: 3,
            requests_per_client: Rate {
                per_minute: 600,
                burst: 600,
            },
            requests_per_user: Rate {
                per_minute: 10,
                burst: 20,
            },
            denial_pause: HumanDuration::minutes(10),
        }
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(settings: &Backchannel, expect: &mut impl FnMut(bool, &str, &str)) {
    const SECOND: HumanDuration = HumanDuration::seconds(1);
    let Backchannel {
        lifetime,
        interval,
        push: _,
        long_polls,
        open_requests,
        requests_per_client,
        requests_per_user,
        denial_pause,
    } = *settings;
    lifetime.check(
        "oidc.backchannel.lifetime",
        HumanDuration::seconds(10)..=HumanDuration::minutes(10),
        expect,
    );
    interval.check(
        "oidc.backchannel.interval",
        SECOND..=HumanDuration::minutes(1),
        expect,
    );
    expect(
        long_polls <= 100_000,
        "oidc.backchannel.long_polls",
        "expected 0 to 100000 requests",
    );
    expect(
        (1..=100).contains(&open_requests),
        "oidc.backchannel.open_requests",
        "expected 1 to 100 requests",
    );
    check_rate(
        "oidc.backchannel.requests_per_client",
        requests_per_client,
        expect,
    );
    check_rate(
        "oidc.backchannel.requests_per_user",
        requests_per_user,
        expect,
    );
    denial_pause.check(
        "oidc.backchannel.denial_pause",
        HumanDuration::ZERO..=HumanDuration::days(1),
        expect,
    );
}
