//! Rate limits, with the generic cell rate algorithm: a key that used up its burst continues at the rate of the limit.
//!
//! Each instance counts separately and keeps no counts after its end. The store enforces single use.

pub mod keys;
pub mod limit;
pub mod polls;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::{Oidc, Rate, RateLimits};
use assent_model::id::{
    BackchannelRequestId, DeviceId, Did, FamilyId, RegistrationTokenId, SessionId, UserId,
};
use assent_store::OpenSignIns;

use keys::{BrowserKey, CallerKey, LimitKey, Network, TypedName};
use limit::{ConcurrencyLimit, Limit};
use polls::PollIntervals;

/// The rate limit of tests of candidate plugins.
const CANDIDATES: Rate = Rate {
    per_minute: 20,
    burst: 20,
};
/// The rate limit of approval requests to one administrator by callers with a token.
const NAMED_APPROVALS: Rate = Rate {
    per_minute: 2,
    burst: 10,
};
/// The rate limit of checks whether one user is on the phone.
const CALLER_CHECKS: Rate = Rate {
    per_minute: 2,
    burst: 5,
};
/// The rate limit of requests of one network for logos of applications. A page may show fifty, and browsers cache them.
const LOGOS: Rate = Rate {
    per_minute: 12_000,
    burst: 6_000,
};
/// The number of times per hour that a device may rename devices of its user. Each renaming is an entry of the audit
/// log.
const RENAMES_PER_HOUR: u32 = 10;
/// The number of times per hour that an application may update its registration. Each update may be an entry of the
/// audit log.
const REGISTRATION_UPDATES_PER_HOUR: u32 = 60;
/// The number of registrations with one initial access token per hour that may fail. Each may fetch documents.
const FAILED_REGISTRATIONS_PER_HOUR: u32 = 60;
/// The largest number of calls of a session that wait for changes of a test sign-in.
const TEST_SIGN_IN_WAITS: usize = 2;
/// The largest number of concurrent calls of UserInfo and introspection about one token family that wait for plugins.
const CLAIM_LOOKUPS: usize = 16;
/// The largest number of concurrent attempts to receive the tokens of one back-channel request. One succeeds.
const BACKCHANNEL_CLAIMS: usize = 4;
/// The largest number of concurrent previews of claims of one caller.
const PREVIEWS: usize = 4;
/// The largest number of concurrent uploads of tables for an import. Each table is completely in memory.
const UPLOADS: usize = 4;
/// The largest number of concurrent plans of manifests.
const PLANS: usize = 4;
/// The largest number of pages in one network that receive server-sent events at the same time. Further pages poll.
const EVENT_STREAMS: usize = 500;

/// The limits in force.
#[derive(Debug)]
pub struct RateLimiters {
    /// Requests to the authorization endpoint and the login pages.
    pub login_pages_per_ip: Limit<Network>,
    /// Requests to the sign-out pages.
    pub sign_out_pages_per_ip: Limit<Network>,
    /// Requests to the sign-out pages from frames of other sites.
    pub framed_pages_per_ip: Limit<Network>,
    /// Requests for logos of applications.
    pub logos_per_ip: Limit<Network>,
    /// Open sign-ins without a user name.
    pub open_sign_ins: OpenSignInLimits,
    /// Sign-ins with one user name.
    pub sign_ins_per_user_name: Limit<TypedName>,
    /// Sign-ins from one IP address.
    pub sign_ins_per_ip: Limit<Network>,
    /// Sign-ins in one browser.
    pub sign_ins_per_browser: Limit<BrowserKey>,
    /// Requests that reach the devices of one user, by any of the user's names.
    pub prompts_per_user: Limit<UserId>,
    /// The same for requests from browsers in which the user signed in before. Other requests do not use up this limit.
    pub prompts_from_known_browsers: Limit<UserId>,
    /// QR sign-ins and other actions that one device begins.
    pub actions_per_device: Limit<DeviceId>,
    /// Approval requests to one administrator by callers with a token.
    pub named_approvals: Limit<UserId>,
    /// Checks whether one user is on the phone.
    pub caller_checks_per_user: Limit<UserId>,
    /// Renamings of a user's devices by one device.
    pub renames_per_device: Limit<DeviceId>,
    /// Updates of one application by its registration.
    pub registration_updates: Limit<Did>,
    /// Failed registrations with one initial access token. Its quotas bound the others.
    pub registrations_per_token: Limit<RegistrationTokenId>,
    /// Requests to the token, introspection and revocation endpoints, and to those for pushed requests and
    /// registrations.
    pub token_requests_per_ip: Limit<Network>,
    /// Failed client authentications.
    pub client_auth_failures: Limit<(Did, Network)>,
    /// Back-channel requests of one application.
    pub backchannel_per_client: Limit<Did>,
    /// Back-channel requests that reach the devices of one user.
    pub backchannel_per_user: Limit<UserId>,
    /// The polls of back-channel requests.
    pub backchannel_polls: PollIntervals,
    /// The polls of devices whose code a user enters.
    pub device_polls: PollIntervals,
    /// Wrong codes of devices.
    pub wrong_user_codes: Limit<Network>,
    /// Calls of the authenticator API with an invalid credential.
    pub authenticator_failures: Limit<Network>,
    /// Calls of the admin API with an invalid credential.
    pub admin_failures: Limit<Network>,
    /// Wrong recovery codes.
    pub recovery_failures: Limit<Network>,
    /// Callbacks of approval channels, by the name of the channel.
    pub callbacks_per_ip: Limit<(String, Network)>,
    /// Pages that receive server-sent events. Each causes a read of the database every second.
    pub event_streams: Arc<ConcurrencyLimit<Network>>,
    /// Views of the claims that an application receives about a user. They call the same plugins as sign-ins.
    pub claims_views: Arc<ConcurrencyLimit<UserId>>,
    /// Calls of UserInfo and introspection with tokens of one family that wait for plugins.
    pub claim_lookups: Arc<ConcurrencyLimit<FamilyId>>,
    /// Polls of one approved back-channel request that wait for plugins.
    pub backchannel_claims: Arc<ConcurrencyLimit<BackchannelRequestId>>,
    /// Previews of one caller. They call the same plugins as sign-ins.
    pub previews: Arc<ConcurrencyLimit<CallerKey>>,
    /// The current test of a candidate plugin.
    pub candidate: Arc<ConcurrencyLimit<()>>,
    /// Tests of candidate plugins. Each candidate is compiled.
    pub candidates: Limit<()>,
    /// The current uploads of tables, of all callers.
    pub uploads: Arc<ConcurrencyLimit<()>>,
    /// The upload of one caller, so that a slow upload does not delay other callers.
    pub uploads_of: Arc<ConcurrencyLimit<CallerKey>>,
    /// Manifests that are currently planned or applied, of all callers.
    pub plans: Arc<ConcurrencyLimit<()>>,
    /// The manifest of one caller.
    pub plans_of: Arc<ConcurrencyLimit<CallerKey>>,
    /// The current import of an uploaded table.
    pub import: Arc<ConcurrencyLimit<()>>,
    /// The test sign-in that a session of the console is starting.
    pub test_sign_in: Arc<ConcurrencyLimit<SessionId>>,
    /// Calls of a session of the console that wait for changes of a test sign-in. Each reads the database after each
    /// possible change.
    pub test_sign_in_waits: Arc<ConcurrencyLimit<SessionId>>,
}

impl RateLimiters {
    /// Returns the limiters with the limits of the settings.
    pub fn new(settings: RateLimits, oidc: &Oidc) -> Self {
        let backchannel = oidc.backchannel;
        Self {
            login_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
            sign_out_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
            framed_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
            logos_per_ip: Limit::new("logos_per_ip", LOGOS),
            open_sign_ins: OpenSignInLimits::new(&settings),
            sign_ins_per_user_name: Limit::new(
                "sign_ins_per_user_name",
                settings.sign_ins_per_user_name,
            ),
            sign_ins_per_ip: Limit::new("sign_ins_per_ip", settings.sign_ins_per_ip),
            sign_ins_per_browser: Limit::new("sign_ins_per_browser", settings.sign_ins_per_browser),
            prompts_per_user: Limit::new("prompts_per_user", settings.prompts_per_user),
            prompts_from_known_browsers: Limit::new("prompts_per_user", settings.prompts_per_user),
            actions_per_device: Limit::new("actions_per_device", settings.actions_per_device),
            named_approvals: Limit::new("named_approvals", NAMED_APPROVALS),
            caller_checks_per_user: Limit::new("caller_checks_per_user", CALLER_CHECKS),
            renames_per_device: Limit::per_hour("renames_per_device", RENAMES_PER_HOUR),
            registration_updates: Limit::per_hour(
                "registration_updates",
                REGISTRATION_UPDATES_PER_HOUR,
            ),
            registrations_per_token: Limit::per_hour(
                "registrations_per_token",
                FAILED_REGISTRATIONS_PER_HOUR,
            ),
            token_requests_per_ip: Limit::new(
                "token_requests_per_ip",
                settings.token_requests_per_ip,
            ),
            client_auth_failures: Limit::new("client_auth_failures", settings.client_auth_failures),
            backchannel_per_client: Limit::new(
                "backchannel_requests_per_client",
                backchannel.requests_per_client,
            ),
            backchannel_per_user: Limit::new(
                "backchannel_requests_per_user",
                backchannel.requests_per_user,
            ),
            backchannel_polls: PollIntervals::new(backchannel.interval.get()),
            device_polls: PollIntervals::new(oidc.device_authorization.interval.get()),
            wrong_user_codes: Limit::new("wrong_user_codes", settings.wrong_user_codes),
            authenticator_failures: Limit::new(
                "unauthenticated_requests",
                settings.unauthenticated_requests,
            ),
            admin_failures: Limit::new(
                "unauthenticated_requests",
                settings.unauthenticated_requests,
            ),
            recovery_failures: Limit::new(
                "unauthenticated_requests",
                settings.unauthenticated_requests,
            ),
            callbacks_per_ip: Limit::new("callbacks_per_ip", settings.callbacks_per_ip),
            event_streams: Arc::new(ConcurrencyLimit::new(EVENT_STREAMS)),
            claims_views: Arc::new(ConcurrencyLimit::new(1)),
            claim_lookups: Arc::new(ConcurrencyLimit::new(CLAIM_LOOKUPS)),
            backchannel_claims: Arc::new(ConcurrencyLimit::new(BACKCHANNEL_CLAIMS)),
            previews: Arc::new(ConcurrencyLimit::new(PREVIEWS)),
            candidate: Arc::new(ConcurrencyLimit::new(1)),
            candidates: Limit::new("candidates", CANDIDATES),
            uploads: Arc::new(ConcurrencyLimit::new(UPLOADS)),
            uploads_of: Arc::new(ConcurrencyLimit::new(1)),
            plans: Arc::new(ConcurrencyLimit::new(PLANS)),
            plans_of: Arc::new(ConcurrencyLimit::new(1)),
            import: Arc::new(ConcurrencyLimit::new(1)),
            test_sign_in: Arc::new(ConcurrencyLimit::new(1)),
            test_sign_in_waits: Arc::new(ConcurrencyLimit::new(TEST_SIGN_IN_WAITS)),
        }
    }
}

impl RateLimiters {
    /// Returns the number of rejected requests by limit. Limits with the name of one setting are counted together.
    pub fn rejections(&self) -> BTreeMap<&'static str, u64> {
        let mut rejections = BTreeMap::new();
        for (name, count) in [
            self.login_pages_per_ip.rejections(),
            self.sign_out_pages_per_ip.rejections(),
            self.framed_pages_per_ip.rejections(),
            self.logos_per_ip.rejections(),
            self.sign_ins_per_user_name.rejections(),
            self.sign_ins_per_ip.rejections(),
            self.sign_ins_per_browser.rejections(),
            self.prompts_per_user.rejections(),
            self.prompts_from_known_browsers.rejections(),
            self.actions_per_device.rejections(),
            self.named_approvals.rejections(),
            self.caller_checks_per_user.rejections(),
            self.renames_per_device.rejections(),
            self.registration_updates.rejections(),
            self.registrations_per_token.rejections(),
            self.token_requests_per_ip.rejections(),
            self.client_auth_failures.rejections(),
            self.backchannel_per_client.rejections(),
            self.backchannel_per_user.rejections(),
            self.wrong_user_codes.rejections(),
            self.authenticator_failures.rejections(),
            self.admin_failures.rejections(),
            self.recovery_failures.rejections(),
            self.callbacks_per_ip.rejections(),
            self.candidates.rejections(),
        ] {
            *rejections.entry(name).or_default() += count;
        }
        rejections
    }
}

/// The limits of open sign-ins without a user name.
#[derive(Debug)]
pub struct OpenSignInLimits {
    of_network: u32,
    in_all: u32,
    begun: AtomicU32,
}

impl OpenSignInLimits {
    fn new(settings: &RateLimits) -> Self {
        let RateLimits {
            open_sign_ins_per_ip,
            open_sign_ins_total,
            ..
        } = *settings;
        Self {
            of_network: open_sign_ins_per_ip,
            in_all: open_sign_ins_total,
            begun: AtomicU32::new(0),
        }
    }

    /// Returns the limits for a sign-in that begins in this network. `is_known`: in a browser in which a user signed in
    /// before.
    pub fn bounds_for(&self, network: &Network, is_known: bool) -> OpenSignIns {
        let wider = network.wider().into_iter();
        let wider: Vec<(String, u32)> = wider
            .map(|(network, times)| {
                let most = self.of_network.saturating_mul(times);
                (network.to_string(), most)
            })
            .collect();
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let looks_at_all = begun.is_multiple_of(OpenSignIns::check_interval(self.in_all));
        OpenSignIns {
            network: network.to_string(),
            of_network: self.of_network,
            wider,
            is_known,
            in_all: looks_at_all.then_some(self.in_all),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::limit::RateLimitError;
    use super::*;
    use assent_model::clock::Timestamp;

    impl LimitKey for &str {}
    impl LimitKey for char {}

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + millis)
    }

    #[test]
    fn after_a_burst_requests_pass_at_the_rate_of_the_limit() {
        let limit = Limit::new(
            "test",
            Rate {
                per_minute: 6,
                burst: 3,
            },
        );
        for _ in 0..3 {
            assert_eq!(limit.count_call(&"a", at(0)), Ok(()));
        }
        let exhausted = limit.count_call(&"a", at(1)).unwrap_err();
        assert_eq!(exhausted.seconds(), 10);
        assert_eq!(
            limit.count_call(&"b", at(1)),
            Ok(()),
            "another key has its own limit"
        );
        assert!(limit.count_call(&"a", at(9_999)).is_err());
        assert_eq!(limit.count_call(&"a", at(10_000)), Ok(()));
        assert!(limit.count_call(&"a", at(10_000)).is_err());
        // After an idle period, the whole burst is available again, and no more.
        assert_eq!(
            (0..9)
                .filter(|_| limit.count_call(&"a", at(3_600_000)).is_ok())
                .count(),
            3
        );
    }

    #[test]
    fn a_gateway_may_introspect_a_thousand_tokens_a_second() {
        let limits = RateLimiters::new(RateLimits::default(), &Oidc::default());
        let gateway = Network::from(Some("192.0.2.1".parse::<IpAddr>().unwrap()));
        for millis in 0..60_000 {
            assert_eq!(
                limits
                    .token_requests_per_ip
                    .count_call(&gateway, at(millis)),
                Ok(()),
                "after {millis} ms"
            );
        }
    }

    #[test]
    fn a_check_counts_nothing_and_a_disabled_limit_rejects_nothing() {
        let limit = Limit::new(
            "test",
            Rate {
                per_minute: 1,
                burst: 1,
            },
        );
        for _ in 0..5 {
            assert_eq!(limit.check(&(), at(0)), Ok(()));
        }
        assert_eq!(limit.count_call(&(), at(0)), Ok(()));
        assert_eq!(limit.check(&(), at(0)).unwrap_err().seconds(), 60);
        let off = Limit::new(
            "test",
            Rate {
                per_minute: 0,
                burst: 0,
            },
        );
        assert!((0..1000).all(|_| off.count_call(&(), at(0)).is_ok()));
    }

    #[test]
    fn concurrency_is_limited_per_key_and_unused_keys_are_removed() {
        let held = Arc::new(ConcurrencyLimit::new(2));
        let (one, two) = (held.hold('a').unwrap(), held.hold('a').unwrap());
        assert!(held.hold('a').is_none());
        let other = held.hold('b').unwrap();
        drop(one);
        let three = held.hold('a').unwrap();
        assert!(held.hold('a').is_none());
        drop((two, three, other));
        assert!(held.held.lock().unwrap().is_empty());
    }

    #[test]
    fn a_clock_set_back_does_not_extend_the_wait() {
        let limit = Limit::new(
            "test",
            Rate {
                per_minute: 60,
                burst: 1,
            },
        );
        assert_eq!(limit.count_call(&(), at(3_600_000)), Ok(()));
        assert_eq!(limit.count_call(&(), at(0)).unwrap_err().seconds(), 1);
    }

    #[test]
    fn addresses_are_grouped_by_network() {
        let network = |text: &str| Network::from(Some(text.parse::<IpAddr>().unwrap()));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }

    fn network(text: &str) -> Network {
        Network::from(Some(text.parse::<IpAddr>().unwrap()))
    }

    #[test]
    fn a_home_has_four_times_and_a_rented_machine_sixteen_times_the_rate_of_one_network() {
        let rate = Rate {
            per_minute: 60,
            burst: 10,
        };
        let passed = |limit: &Limit<Network>, networks: &[String], at: Timestamp| {
            let calls = networks.iter().cycle().take(20 * networks.len());
            calls
                .filter(|text| limit.count_call(&network(text), at).is_ok())
                .count()
        };
        let home: Vec<String> = (0..256).map(|n| format!("2001:db8:0:{n:x}::1")).collect();
        let machine: Vec<String> = (0..4096)
            .map(|n| format!("2001:db8:1:{:x}::1", n * 16))
            .collect();
        for (networks, times) in [(&home[..1], 1), (&home[..], 4), (&machine[..], 16)] {
            let limit = Limit::new("test", rate);
            assert_eq!(passed(&limit, networks, at(0)), 10 * times);
            // A second later, the rate of one request a second has the same factor.
            assert_eq!(passed(&limit, networks, at(1000)), times);
        }
        // IPv4 addresses are independent.
        let limit = Limit::new("test", rate);
        let addresses: Vec<String> = (0..200).map(|n| format!("192.0.2.{n}")).collect();
        assert_eq!(passed(&limit, &addresses, at(0)), 2000);
    }

    #[test]
    fn concurrent_operations_of_a_home_and_a_rented_machine_are_bounded() {
        for (networks, step, times) in [(1, 1, 1), (256, 1, 4), (4096, 16, 16)] {
            let limit = Arc::new(ConcurrencyLimit::new(3));
            let permits: Vec<_> = (0..networks)
                .flat_map(|n| [n; 4])
                .filter_map(|n| limit.hold(network(&format!("2001:db8:0:{:x}::1", n * step))))
                .collect();
            assert_eq!(permits.len(), 3 * times);
            assert!(limit.hold(network("2001:db8:1::1")).is_some());
            drop(permits);
            assert!(limit.held.lock().unwrap().is_empty());
        }
    }

    #[test]
    fn the_largest_bound_applies_to_each_network() {
        // A /64 has 3 permits, and of its /56 and /48, which would have 12 and 48, each has only 5.
        for (networks, step, permitted) in [(1, 1, 3), (256, 1, 5), (4096, 16, 5)] {
            let limit = Arc::new(ConcurrencyLimit::with_largest(3, 5));
            let permits: Vec<_> = (0..networks)
                .flat_map(|n| [n; 4])
                .filter_map(|n| limit.hold(network(&format!("2001:db8:0:{:x}::1", n * step))))
                .collect();
            assert_eq!(permits.len(), permitted);
            assert!(limit.hold(network("2001:db8:1::1")).is_some());
        }
        let limit = Arc::new(ConcurrencyLimit::with_largest(3, 2));
        let permits = [(); 3].map(|()| limit.hold(network("192.0.2.1")));
        assert_eq!(permits.iter().flatten().count(), 2, "one address");
    }

    #[test]
    fn one_rented_machine_cannot_push_out_the_keys_of_others() {
        let rate = Rate {
            per_minute: 10,
            burst: 20,
        };
        let limit = Limit::new("test", rate);
        let guesser = network("192.0.2.1");
        while limit.count_call(&guesser, at(0)).is_ok() {}
        for n in 0..100_000 {
            let from = format!("2001:db8:1:{:x}::1", n % 65_536);
            let _ = limit.count_call(&network(&from), at(1));
        }
        assert!(limit.check(&guesser, at(1)).is_err());
    }

    #[test]
    fn a_cleared_key_has_its_whole_burst_again() {
        let rate = Rate {
            per_minute: 1,
            burst: 2,
        };
        let limit = Limit::new("test", rate);
        while limit.count_call(&"a", at(0)).is_ok() {}
        limit.clear(&"a", at(0));
        assert_eq!(
            (0..3)
                .filter(|_| limit.count_call(&"a", at(0)).is_ok())
                .count(),
            2
        );
    }

    proptest! {
        #[test]
        fn requests_never_exceed_burst_and_rate(
            per_minute in 1_u32..=100_000, burst in 1_u32..50, steps in prop::collection::vec(0_i64..500, 1..200),
        ) {
            let limit = Limit::new("test", Rate { per_minute, burst });
            let (mut now, mut passed) = (0, 0_i64);
            for step in steps {
                now += step;
                match limit.count_call(&(), at(now)) {
                    Ok(()) => passed += 1,
                    // A request after the stated time succeeds.
                    Err(RateLimitError(wait)) => {
                        let then = now + i64::try_from(wait.as_micros().div_ceil(1000)).unwrap();
                        prop_assert_eq!(limit.check(&(), at(then)), Ok(()));
                    }
                }
            }
            let pace = now * 1000 / (60_000_000 / i64::from(per_minute));
            prop_assert!(passed <= i64::from(burst) + pace);
        }
    }
}
