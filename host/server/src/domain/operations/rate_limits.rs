//! Rate limits, by the generic cell rate algorithm: a key that uses up its burst gets on at the limit's pace.
//!
//! Each host counts for itself and forgets at its end: what may happen once is the store's to say.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Rate, RateLimits};
use crate::domain::operations::bounded_cache::BoundedCache;
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::id::{CodeId, DeviceId, Did, SessionId, UserId};
use assent_model::name::LoginName;
use assent_model::network::network_of;
use assent_model::secret::Digest;
use assent_store::OpenSignIns;

/// How many keys a limit knows at least. Whoever has more addresses than this is not held up by a limit for each.
const KEYS: usize = 50_000;
/// How often candidate plugins are tried.
const CANDIDATES: Rate = Rate {
    per_minute: 20,
    burst: 20,
};
/// How many calls of a session wait for news of a test sign-in.
const TEST_SIGN_IN_WAITS: usize = 2;
/// How many calls of UserInfo and introspection about one token family wait for plugins at the same moment.
const CLAIM_LOOKUPS: usize = 16;
/// How many previews of claims one caller makes at the same moment.
const PREVIEWS: usize = 4;
/// How many tables are read at the same moment that are to be imported. All of each is in memory.
const UPLOADS: usize = 4;
/// How many pages of one network are told of news at the same moment. Further ones ask again by themselves.
const TOLD_PAGES: usize = 500;
/// How long the log is quiet about a limit after it said that it is reached, in milliseconds.
const BETWEEN_WARNINGS: i64 = 60_000;

/// The limits in force.
#[derive(Debug)]
pub struct Limits {
    /// Requests to the authorization endpoint and the login pages.
    pub login_pages_per_ip: Limit<Network>,
    /// Requests to the pages of a sign-out.
    pub sign_out_pages_per_ip: Limit<Network>,
    /// The same requests where a frame of another site's page causes them.
    pub framed_pages_per_ip: Limit<Network>,
    /// Open sign-ins before a user is named.
    pub open_sign_ins: OpenSignInLimits,
    /// Sign-ins with one name.
    pub sign_ins_per_user_name: Limit<TypedName>,
    /// Sign-ins that are asked for from one address.
    pub sign_ins_per_ip: Limit<Network>,
    /// Sign-ins that are asked for in one browser.
    pub sign_ins_per_browser: Limit<BrowserKey>,
    /// Requests that reach the phones of one person, by whichever name.
    pub prompts_per_user: Limit<UserId>,
    /// The same for requests from browsers in which the user signed in before. Others do not use it up.
    pub prompts_from_known_browsers: Limit<UserId>,
    /// Sign-ins that one device begins by scanning the code of a login page.
    pub actions_per_device: Limit<DeviceId>,
    /// Requests to the token, introspection and revocation endpoints.
    pub token_requests_per_ip: Limit<Network>,
    /// Failed client authentications.
    pub client_auth_failures: Limit<(Did, Network)>,
    /// Calls of the authenticator's interface with a bad proof.
    pub authenticator_failures: Limit<Network>,
    /// Calls of the admin API with a bad proof.
    pub admin_failures: Limit<Network>,
    /// Recovery codes that were wrong.
    pub recovery_failures: Limit<Network>,
    /// Callbacks of approval channels, for each channel by its name.
    pub callbacks_per_ip: Limit<(String, Network)>,
    /// Pages that are told when they have something new to show. Each costs a look into the database every second.
    pub told_pages: Arc<Held<Network>>,
    /// Looks at what an application sees of a person: they call the plugins that sign-ins call.
    pub looks: Arc<Held<UserId>>,
    /// Calls of UserInfo and introspection with tokens of one family that wait for plugins.
    pub claim_lookups: Arc<Held<CodeId>>,
    /// Previews of one caller: they call the plugins that sign-ins call, too.
    pub previews: Arc<Held<CallerKey>>,
    /// The candidate plugin that is tried.
    pub candidate: Arc<Held<()>>,
    /// Candidate plugins that are tried: each is compiled.
    pub candidates: Limit<()>,
    /// Tables on their way here, of all callers together.
    pub uploads: Arc<Held<()>>,
    /// The table that one caller sends. Whoever sends slowly holds up nobody else.
    pub uploads_of: Arc<Held<CallerKey>>,
    /// The table that is imported, which has arrived by then.
    pub import: Arc<Held<()>>,
    /// The test sign-in that a session of the console begins at this moment.
    pub test_sign_in: Arc<Held<SessionId>>,
    /// Calls of a session of the console that wait for news of a test sign-in. Each looks into the database whenever there may be some.
    pub test_sign_in_waits: Arc<Held<SessionId>>,
}

impl Limits {
    /// The limits that the settings name.
    pub fn new(settings: RateLimits) -> Self {
        Self {
            login_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
            sign_out_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
            framed_pages_per_ip: Limit::new("login_pages_per_ip", settings.login_pages_per_ip),
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
            token_requests_per_ip: Limit::new(
                "token_requests_per_ip",
                settings.token_requests_per_ip,
            ),
            client_auth_failures: Limit::new("client_auth_failures", settings.client_auth_failures),
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
            told_pages: Arc::new(Held::new(TOLD_PAGES)),
            looks: Arc::new(Held::new(1)),
            claim_lookups: Arc::new(Held::new(CLAIM_LOOKUPS)),
            previews: Arc::new(Held::new(PREVIEWS)),
            candidate: Arc::new(Held::new(1)),
            candidates: Limit::new("candidates", CANDIDATES),
            uploads: Arc::new(Held::new(UPLOADS)),
            uploads_of: Arc::new(Held::new(1)),
            import: Arc::new(Held::new(1)),
            test_sign_in: Arc::new(Held::new(1)),
            test_sign_in_waits: Arc::new(Held::new(TEST_SIGN_IN_WAITS)),
        }
    }
}

/// The bounds of open sign-ins before a user is named.
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

    /// The bounds of a sign-in that begins in this network.
    pub fn of(&self, network: &Network) -> OpenSignIns {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let looks_at_all = begun.is_multiple_of(OpenSignIns::between_looks(self.in_all));
        OpenSignIns {
            network: network.to_string(),
            of_network: self.of_network,
            in_all: looks_at_all.then_some(self.in_all),
        }
    }
}

/// Where a request comes from, as far as limits tell places apart: an IPv4 address, or the first 64 bits of an IPv6
/// address, since whoever has one has the rest. A place that is not known is one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(Option<IpAddr>);

impl From<Option<IpAddr>> for Network {
    fn from(address: Option<IpAddr>) -> Self {
        Self(address.map(network_of))
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("unknown"),
        }
    }
}

/// A name that somebody typed, as its digest: of names that nobody has, nothing shall be kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypedName([u8; 32]);

impl From<&LoginName> for TypedName {
    fn from(name: &LoginName) -> Self {
        Self(*Digest::of(name.as_str().as_bytes()).as_bytes())
    }
}

impl std::fmt::Debug for TypedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TypedName(***)")
    }
}

/// A browser, by the digest of the cookie that tells browsers apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrowserKey([u8; 32]);

impl From<Digest> for BrowserKey {
    fn from(digest: Digest) -> Self {
        Self(*digest.as_bytes())
    }
}

impl std::fmt::Debug for BrowserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserKey(***)")
    }
}

/// Who calls the admin API, by the digest of who that is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallerKey([u8; 32]);

impl From<&Actor> for CallerKey {
    fn from(actor: &Actor) -> Self {
        let named = format!("{} {}", actor.kind(), actor.id().unwrap_or_default());
        Self(*Digest::of(named.as_bytes()).as_bytes())
    }
}

impl std::fmt::Debug for CallerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallerKey(***)")
    }
}

/// A limit is reached: how long until it would not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted(Duration);

impl Exhausted {
    /// What holds it up is over in a moment.
    pub const SOON: Self = Self(Duration::from_secs(1));

    /// Free again within this time.
    pub const fn within(time: Duration) -> Self {
        Self(time)
    }

    /// In seconds, rounded up: the value of `Retry-After` (RFC 9110 section 10.2.3).
    pub const fn seconds(self) -> u64 {
        self.0.as_millis().div_ceil(1000) as u64
    }
}

/// A limit for each key of one kind.
#[derive(Debug)]
pub struct Limit<K> {
    /// What the settings call it.
    name: &'static str,
    /// Microseconds between two at the limit's pace; 0 where there is no limit.
    interval: i64,
    /// How many microseconds a key may be ahead of that pace.
    tolerance: i64,
    /// When each key would be as if it had never come, in microseconds.
    free_at: Mutex<BoundedCache<K, i64>>,
    /// Until when the log says nothing of it, in milliseconds.
    quiet_until: AtomicI64,
}

impl<K: Clone + Debug + Eq + Hash> Limit<K> {
    /// A limit of this rate.
    pub fn new(name: &'static str, rate: Rate) -> Self {
        let interval = if rate.per_minute == 0 {
            0
        } else {
            60_000_000 / i64::from(rate.per_minute)
        };
        let tolerance = interval.saturating_mul(i64::from(rate.burst).saturating_sub(1));
        let free_at = Mutex::new(BoundedCache::new(KEYS));
        Self {
            name,
            interval,
            tolerance,
            free_at,
            quiet_until: AtomicI64::new(i64::MIN),
        }
    }

    /// Counts one more of this key, unless its limit is reached.
    pub fn take(&self, key: &K, now: Timestamp) -> Result<(), Exhausted> {
        self.at(key, now, true)
    }

    /// Whether one more of this key would be within the limit, without counting it: for what counts only if it fails.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), Exhausted> {
        self.at(key, now, false)
    }

    fn at(&self, key: &K, now: Timestamp, count: bool) -> Result<(), Exhausted> {
        if self.interval == 0 {
            return Ok(());
        }
        let (millis, now) = (now.millis(), now.millis().saturating_mul(1000));
        // A map of moments has no state between two that a panic could leave it in.
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        // No key is ever further ahead than this, unless the clock was set back, for which nobody shall wait.
        let furthest = now
            .saturating_add(self.tolerance)
            .saturating_add(self.interval);
        let free = free_at.get(key).unwrap_or(now).clamp(now, furthest);
        let early = free.saturating_sub(now).saturating_sub(self.tolerance);
        if early > 0 {
            drop(free_at);
            self.tell(key, millis);
            return Err(Exhausted(Duration::from_micros(early.unsigned_abs())));
        }
        if count {
            free_at.put(key.clone(), free.saturating_add(self.interval));
        }
        Ok(())
    }
}

impl<K: Debug> Limit<K> {
    /// Tells the operator that the limit is reached, and not more often than they would read it.
    fn tell(&self, key: &K, now: i64) {
        // A clock that was set back keeps it quiet no longer than that.
        let due = |until: i64| {
            (now >= until || until - now > BETWEEN_WARNINGS).then_some(now + BETWEEN_WARNINGS)
        };
        if self
            .quiet_until
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, due)
            .is_ok()
        {
            tracing::warn!(
                limit = %format_args!("rate_limits.{}", self.name),
                ?key,
                "a rate limit is reached; if everybody seems to come from one address, look at http.trusted_proxies"
            );
        }
    }
}

/// How many there are of each key at the same moment, and may be.
#[derive(Debug)]
pub struct Held<K: Eq + Hash> {
    most: usize,
    held: Mutex<HashMap<K, usize>>,
}

/// One that there is, until it is dropped.
#[derive(Debug)]
pub struct Holding<K: Eq + Hash> {
    among: Arc<Held<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> Held<K> {
    /// So many of each key.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            held: Mutex::new(HashMap::new()),
        }
    }

    /// One more of this key, if there may be.
    pub fn hold(self: &Arc<Self>, key: K) -> Option<Holding<K>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(key).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Holding {
            among: Arc::clone(self),
            key,
        })
    }
}

impl<K: Eq + Hash> Drop for Holding<K> {
    fn drop(&mut self) {
        let mut held = self
            .among
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + millis)
    }

    #[test]
    fn a_burst_passes_and_then_the_limits_pace() {
        let limit = Limit::new(
            "test",
            Rate {
                per_minute: 6,
                burst: 3,
            },
        );
        for _ in 0..3 {
            assert_eq!(limit.take(&"a", at(0)), Ok(()));
        }
        let exhausted = limit.take(&"a", at(1)).unwrap_err();
        assert_eq!(exhausted.seconds(), 10);
        assert_eq!(limit.take(&"b", at(1)), Ok(()), "another key has its own");
        assert!(limit.take(&"a", at(9_999)).is_err());
        assert_eq!(limit.take(&"a", at(10_000)), Ok(()));
        assert!(limit.take(&"a", at(10_000)).is_err());
        // After a while of quiet there is a burst again, and no more than that.
        assert_eq!(
            (0..9)
                .filter(|_| limit.take(&"a", at(3_600_000)).is_ok())
                .count(),
            3
        );
    }

    #[test]
    fn to_look_counts_nothing_and_no_limit_holds_nobody() {
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
        assert_eq!(limit.take(&(), at(0)), Ok(()));
        assert_eq!(limit.check(&(), at(0)).unwrap_err().seconds(), 60);
        let off = Limit::new(
            "test",
            Rate {
                per_minute: 0,
                burst: 0,
            },
        );
        assert!((0..1000).all(|_| off.take(&(), at(0)).is_ok()));
    }

    #[test]
    fn so_many_are_held_of_each_key_and_no_key_is_kept_that_holds_none() {
        let held = Arc::new(Held::new(2));
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
    fn a_clock_that_is_set_back_holds_nobody_up() {
        let limit = Limit::new(
            "test",
            Rate {
                per_minute: 60,
                burst: 1,
            },
        );
        assert_eq!(limit.take(&(), at(3_600_000)), Ok(()));
        assert_eq!(limit.take(&(), at(0)).unwrap_err().seconds(), 1);
    }

    #[test]
    fn networks_are_told_apart_as_their_owners_are() {
        let network = |text: &str| Network::from(Some(text.parse::<IpAddr>().unwrap()));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }

    proptest! {
        #[test]
        fn no_more_pass_than_burst_and_pace_allow(
            per_minute in 1_u32..=100_000, burst in 1_u32..50, steps in prop::collection::vec(0_i64..500, 1..200),
        ) {
            let limit = Limit::new("test", Rate { per_minute, burst });
            let (mut now, mut passed) = (0, 0_i64);
            for step in steps {
                now += step;
                match limit.take(&(), at(now)) {
                    Ok(()) => passed += 1,
                    // It says truly when to come again.
                    Err(Exhausted(wait)) => {
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
