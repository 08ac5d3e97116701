//! The settings of the rate limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rate limits. Above a limit the response is 429, with `Retry-After`. An IP address is the client's, as the
/// `http.trusted_proxies` report it. Of an IPv6 address the first 64 bits count, with four times the limit the first 56
/// bits, and with sixteen times the limit the first 48 bits. Each instance counts separately.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimits {
    /// Requests of one IP address to the authorization endpoint and the login pages. A sign-in needs about five;
    /// without JavaScript, twenty more for each minute of waiting. Pushed requests of single-page and native
    /// applications count too.
    pub login_pages_per_ip: Rate,
    /// The maximum number of open sign-ins without a typed name of one IP address. Above it the server removes the
    /// oldest ones, and those of known browsers last.
    pub open_sign_ins_per_ip: u32,
    /// The maximum number of open sign-ins without a typed name in total, on all instances. A sign-in needs up to 10 KB
    /// in the database.
    pub open_sign_ins_total: u32,
    /// Sign-ins with one user name, from any client, whether or not a user has the name. Each may notify a device.
    pub sign_ins_per_user_name: Rate,
    /// Sign-ins from one IP address, with any user name.
    pub sign_ins_per_ip: Rate,
    /// Sign-ins in one browser.
    pub sign_ins_per_browser: Rate,
    /// Approval requests that reach the devices of one user, by user name and email address together. Above the limit
    /// the browser receives the same page as for an unknown name, and no device receives the request.
    pub prompts_per_user: Rate,
    /// Actions that one device begins: QR sign-ins, which do not count towards the limits of sign-ins; enrolment links;
    /// recovery codes. Requests to approve protected actions count too.
    pub actions_per_device: Rate,
    /// Requests of one IP address to the token, introspection and revocation endpoints, and to those for pushed
    /// requests and registrations. The default permits a gateway 1,000 introspections a second, and as many other
    /// requests.
    pub token_requests_per_ip: Rate,
    /// Failed client authentications of one confidential application from one IP address. Successful ones always pass,
    /// do not count, and clear the count.
    pub client_auth_failures: Rate,
    /// Requests of one IP address with an invalid credential: to the admin API, to the authenticator API, and with
    /// recovery codes, each counted separately. Authenticated requests do not count.
    pub unauthenticated_requests: Rate,
    /// Wrong codes of devices that the authenticators of one IP address enter (RFC 8628 section 5.1). Right codes do
    /// not count. Above the limit no code is accepted.
    pub wrong_user_codes: Rate,
    /// Callbacks that one IP address sends to one approval channel.
    pub callbacks_per_ip: Rate,
}

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "RateTable")]
pub struct Rate {
    /// The average number per minute. 0 disables the limit.
    pub per_minute: u32,
    /// The number at once, after a quiet period.
    pub burst: u32,
}

/// The largest burst of a limit.
const LONGEST_BURST: u32 = 100_000;

/// A rate limit.
#[derive(Deserialize, JsonSchema)]
#[serde(
    rename = "Rate",
    deny_unknown_fields,
    expecting = "{ per_minute = ..., burst = ... }"
)]
struct RateTable {
    /// The average number per minute. 0 disables the limit.
    per_minute: u32,
    /// The maximum burst after a quiet period; 100,000 at most. By default the same as `per_minute`.
    #[serde(default)]
    burst: Option<u32>,
}

impl From<RateTable> for Rate {
    fn from(RateTable { per_minute, burst }: RateTable) -> Self {
        Self {
            per_minute,
            burst: burst.unwrap_or(per_minute.min(LONGEST_BURST)),
        }
    }
}

impl Default for RateLimits {
    fn default() -> Self {
        let rate = |per_minute, burst| Rate { per_minute, burst };
        Self {
            login_pages_per_ip: rate(1200, 600),
            open_sign_ins_per_ip: 5000,
            open_sign_ins_total: 50_000,
            sign_ins_per_user_name: rate(10, 20),
            sign_ins_per_ip: rate(300, 300),
            sign_ins_per_browser: rate(20, 40),
            prompts_per_user: rate(10, 20),
            actions_per_device: rate(10, 20),
            token_requests_per_ip: rate(120_000, 20_000),
            client_auth_failures: rate(10, 20),
            unauthenticated_requests: rate(60, 60),
            wrong_user_codes: rate(5, 5),
            callbacks_per_ip: rate(1200, 600),
        }
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(limits: &RateLimits, expect: &mut impl FnMut(bool, &str, &str)) {
    let RateLimits {
        login_pages_per_ip,
        open_sign_ins_per_ip,
        open_sign_ins_total,
        sign_ins_per_user_name,
        sign_ins_per_ip,
        sign_ins_per_browser,
        prompts_per_user,
        actions_per_device,
        token_requests_per_ip,
        client_auth_failures,
        unauthenticated_requests,
        wrong_user_codes,
        callbacks_per_ip,
    } = *limits;
    for (name, most) in [
        ("open_sign_ins_per_ip", open_sign_ins_per_ip),
        ("open_sign_ins_total", open_sign_ins_total),
    ] {
        expect(
            (1..=10_000_000).contains(&most),
            &format!("rate_limits.{name}"),
            "expected 1 to 10000000 sign-ins",
        );
    }
    for (name, rate) in [
        ("login_pages_per_ip", login_pages_per_ip),
        ("sign_ins_per_user_name", sign_ins_per_user_name),
        ("sign_ins_per_ip", sign_ins_per_ip),
        ("sign_ins_per_browser", sign_ins_per_browser),
        ("prompts_per_user", prompts_per_user),
        ("actions_per_device", actions_per_device),
        ("token_requests_per_ip", token_requests_per_ip),
        ("client_auth_failures", client_auth_failures),
        ("unauthenticated_requests", unauthenticated_requests),
        ("wrong_user_codes", wrong_user_codes),
        ("callbacks_per_ip", callbacks_per_ip),
    ] {
        check_rate(&format!("rate_limits.{name}"), rate, expect);
    }
}

/// Checks a rate limit.
pub(super) fn check_rate(key: &str, rate: Rate, expect: &mut impl FnMut(bool, &str, &str)) {
    expect(
        rate.per_minute == 0
            || ((1..=1_000_000).contains(&rate.per_minute)
                && (1..=LONGEST_BURST).contains(&rate.burst)),
        key,
        "expected per_minute up to 1000000 (0 disables the limit) and a burst of 1 to 100000",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each introspection of a gateway counts as a token request.
    #[test]
    fn a_gateway_may_introspect_a_thousand_times_a_second() {
        let limit = RateLimits::default().token_requests_per_ip;
        assert!(limit.per_minute >= 60_000);
    }
}
