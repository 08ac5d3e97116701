//! The settings of the rate limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// How often things may be done. Over a limit the answer is 429, with `Retry-After`. An address is the client's as
/// `http.trusted_proxies` tell it; of IPv6 the first 64 bits count. Each host counts for itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimits {
    /// Requests of one address to the authorization endpoint and the login pages. A sign-in takes about five; one
    /// without JavaScript twenty a minute more while the page waits.
    pub sign_in: Rate,
    /// How many sign-ins without a typed name one address may have open. Over the bound the oldest of them are removed.
    pub open_sign_ins_of_network: u32,
    /// How many there may be in all, on all hosts. A sign-in takes up to 10 KB in the database.
    pub open_sign_ins: u32,
    /// Sign-ins with one name, whoever asks and whether or not somebody has it: each may wake a phone.
    pub login_name: Rate,
    /// Sign-ins that are asked for from one address, by whichever names.
    pub address: Rate,
    /// Sign-ins that are asked for in one browser.
    pub browser: Rate,
    /// Requests that reach the phones of one person, by name and e-mail address together. Over it the page is the same as
    /// for a name that nobody has, and no phone is asked.
    pub person: Rate,
    /// Sign-ins that one device begins by scanning the code of a login page, which do not count to the limits above; and links
    /// and recovery codes that it makes.
    pub device: Rate,
    /// Requests of one address to the token, introspection and revocation endpoints.
    pub token: Rate,
    /// Failed client authentications of one confidential application from one address. Others are not counted.
    pub client_failures: Rate,
    /// Calls of one address with a bad proof: of the admin API, of the authenticator, and with recovery codes, each
    /// counted apart. Others are not counted.
    pub failures: Rate,
    /// Callbacks that one address sends to one approval channel.
    pub callbacks: Rate,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Given")]
pub struct Rate {
    /// How many a minute in the long run. 0 turns the limit off.
    pub per_minute: u32,
    /// How many at once, after a while of quiet.
    pub burst: u32,
}

/// The longest burst that there may be.
const LONGEST_BURST: u32 = 100_000;

/// A limit.
#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Rate", deny_unknown_fields, expecting = "{ per_minute = ..., burst = ... }")]
struct Given {
    /// How many a minute in the long run. 0 turns the limit off.
    per_minute: u32,
    /// How many at once, after a while of quiet. Without it as many as a minute, 100,000 at most.
    #[serde(default)]
    burst: Option<u32>,
}

impl From<Given> for Rate {
    fn from(Given { per_minute, burst }: Given) -> Self {
        Self { per_minute, burst: burst.unwrap_or(per_minute.min(LONGEST_BURST)) }
    }
}

impl Default for RateLimits {
    fn default() -> Self {
        let rate = |per_minute, burst| Rate { per_minute, burst };
        Self {
            sign_in: rate(1200, 600),
            open_sign_ins_of_network: 5000,
            open_sign_ins: 50_000,
            login_name: rate(10, 20),
            address: rate(300, 300),
            browser: rate(20, 40),
            person: rate(10, 20),
            device: rate(10, 20),
            token: rate(12_000, 2000),
            client_failures: rate(10, 20),
            failures: rate(60, 60),
            callbacks: rate(1200, 600),
        }
    }
}

/// What the types can't say.
pub(super) fn check(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    let RateLimits {
        sign_in,
        open_sign_ins_of_network,
        open_sign_ins,
        login_name,
        address,
        browser,
        person,
        device,
        token,
        client_failures,
        failures,
        callbacks,
    } = settings.limits;
    for (name, most) in [("open_sign_ins_of_network", open_sign_ins_of_network), ("open_sign_ins", open_sign_ins)] {
        expect((1..=10_000_000).contains(&most), &format!("limits.{name}"), "expected 1 to 10000000 sign-ins");
    }
    for (name, rate) in [
        ("sign_in", sign_in),
        ("login_name", login_name),
        ("address", address),
        ("browser", browser),
        ("person", person),
        ("device", device),
        ("token", token),
        ("client_failures", client_failures),
        ("failures", failures),
        ("callbacks", callbacks),
    ] {
        expect(
            rate.per_minute == 0
                || ((1..=1_000_000).contains(&rate.per_minute) && (1..=LONGEST_BURST).contains(&rate.burst)),
            &format!("limits.{name}"),
            "expected per_minute up to 1000000 (0 turns the limit off) and a burst of 1 to 100000",
        );
    }
}
