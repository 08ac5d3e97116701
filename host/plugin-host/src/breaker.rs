//! A circuit breaker for each application of a plugin. It suspends code that exceeds its limits repeatedly.
//!
//! The breaker opens at the fifth exceeded limit within ten seconds. Calls then fail at once during a cooldown. The
//! cooldown doubles each time, from one second to one minute. After the cooldown the breaker admits one call as a
//! trial. If the trial stays within its limits, the breaker closes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault::Fault;
use assent_model::clock::{SharedClock, Timestamp};

/// The number of exceeded limits within [`WINDOW`] that opens the breaker.
const FAULTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(10);
/// The first and the longest cooldown. A cooldown that begins more than `LONGEST` after the end of the previous one is
/// `FIRST` again.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The breakers of one plugin.
pub(super) struct Breakers {
    plugin: Arc<str>,
    clock: SharedClock,
    by_asker: Mutex<HashMap<Arc<str>, Breaker>>,
}

#[derive(Debug, Default)]
struct Breaker {
    /// The times of the recent calls that exceeded a limit.
    faults: VecDeque<Timestamp>,
    /// The current or latest cooldown, and its end.
    cooldown: Option<(Duration, Timestamp)>,
    /// Whether the breaker rejects calls.
    is_open: bool,
    /// Whether a trial call is running.
    is_tried: bool,
}

/// A call that the breaker admitted.
pub(super) struct AdmittedCall<'a> {
    breakers: &'a Breakers,
    asker: Arc<str>,
    /// Whether this call is the trial that decides if the breaker closes.
    is_trial: bool,
}

impl Breakers {
    pub(super) fn new(plugin: Arc<str>, clock: SharedClock) -> Self {
        Self {
            plugin,
            clock,
            by_asker: Mutex::default(),
        }
    }

    /// Admits a call. The error is the remaining time of the cooldown.
    pub(super) fn admit(&self, asker: &Arc<str>) -> Result<AdmittedCall<'_>, Duration> {
        let admitted = |is_trial| AdmittedCall {
            breakers: self,
            asker: Arc::clone(asker),
            is_trial,
        };
        let mut breakers = self.breakers();
        let Some(breaker) = breakers.get_mut(asker).filter(|breaker| breaker.is_open) else {
            return Ok(admitted(false));
        };
        let left = breaker
            .cooldown
            .map(|(cooldown, until)| (cooldown, until.remaining(self.clock.now())));
        // The remaining time exceeds the cooldown only if the clock was set back.
        if let Some((cooldown, left)) = left
            && left > Duration::ZERO
            && left <= cooldown
        {
            return Err(left);
        }
        if breaker.is_tried {
            return Err(FIRST);
        }
        breaker.is_tried = true;
        Ok(admitted(true))
    }

    fn breakers(&self) -> MutexGuard<'_, HashMap<Arc<str>, Breaker>> {
        self.by_asker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, asker: &str, breaker: &mut Breaker, now: Timestamp) {
        let longer = |(cooldown, until): (Duration, Timestamp)| {
            (until + LONGEST > now).then(|| cooldown.saturating_mul(2).min(LONGEST))
        };
        let cooldown = breaker.cooldown.and_then(longer).unwrap_or(FIRST);
        breaker.cooldown = Some((cooldown, now + cooldown));
        breaker.is_open = true;
        breaker.faults.clear();
        let (plugin, seconds) = (&*self.plugin, cooldown.as_secs());
        tracing::error!(
            plugin,
            application = asker,
            seconds,
            "plugin suspended: limits exceeded repeatedly"
        );
    }
}

impl AdmittedCall<'_> {
    /// Records the result of the call. Returns whether the breaker opened.
    pub(super) fn record_end(self, fault: Option<&Fault>) -> bool {
        let breaks = fault.is_some_and(Fault::breaks_a_limit);
        let now = self.breakers.clock.now();
        let mut breakers = self.breakers.breakers();
        if self.is_trial {
            let Some(breaker) = breakers.get_mut(&self.asker) else {
                return false;
            };
            if breaks {
                self.breakers.open(&self.asker, breaker, now);
            } else {
                breaker.is_open = false;
                let (plugin, asker) = (&*self.breakers.plugin, &*self.asker);
                tracing::info!(plugin, application = asker, "plugin resumed");
            }
            return breaks;
        }
        if !breaks {
            return false;
        }
        let breaker = breakers.entry(Arc::clone(&self.asker)).or_default();
        if breaker.is_open {
            // The call began before the breaker opened.
            return false;
        }
        breaker.faults.retain(|at| *at + WINDOW > now);
        breaker.faults.push_back(now);
        let opens = breaker.faults.len() >= FAULTS;
        if opens {
            self.breakers.open(&self.asker, breaker, now);
        }
        opens
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        // An abandoned trial proves nothing, so the next call is a trial.
        if self.is_trial
            && let Some(breaker) = self.breakers.breakers().get_mut(&self.asker)
        {
            breaker.is_tried = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::clock::ManualClock;

    struct Fixture {
        clock: Arc<ManualClock>,
        breakers: Breakers,
        application: Arc<str>,
    }

    impl Fixture {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(1_800_000_000)));
            let breakers = Breakers::new("loops".into(), Arc::clone(&clock) as SharedClock);
            Self {
                clock,
                breakers,
                application: "application".into(),
            }
        }

        /// Runs a call that ends with this fault. `Err` holds the remaining seconds of the cooldown.
        fn call(&self, fault: Option<&Fault>) -> Result<bool, u64> {
            let admitted = self
                .breakers
                .admit(&self.application)
                .map_err(|left| left.as_secs());
            admitted.map(|admitted| admitted.record_end(fault))
        }

        /// Exceeds a limit until the breaker opens.
        fn breaks_its_limits(&self) {
            assert!((0..FAULTS).all(|_| self.call(Some(&LIMIT)).is_ok()));
        }

        fn later(&self, seconds: u64) {
            self.clock.advance(Duration::from_secs(seconds));
        }
    }

    const LIMIT: Fault = Fault::Fuel(1);

    #[test]
    fn five_limit_faults_in_ten_seconds_open_the_breaker_of_one_application() {
        let it = Fixture::new();
        for _ in 0..4 {
            assert_eq!(it.call(Some(&LIMIT)), Ok(false));
        }
        it.later(10);
        for _ in 0..4 {
            assert_eq!(
                it.call(Some(&LIMIT)),
                Ok(false),
                "older faults no longer count"
            );
        }
        assert_eq!(it.call(Some(&LIMIT)), Ok(true));
        assert_eq!(it.call(None), Err(1));
        assert!(
            it.breakers.admit(&"theirs".into()).is_ok(),
            "another application"
        );
    }

    #[test]
    fn the_cooldown_doubles_up_to_a_minute_and_ends_with_one_probe_call() {
        let it = Fixture::new();
        it.breaks_its_limits();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(it.call(None), Err(seconds));
            it.later(seconds);
            let trial = it.breakers.admit(&it.application).expect("one probe call");
            assert!(
                it.breakers.admit(&it.application).is_err(),
                "only one probe call at a time"
            );
            assert!(trial.record_end(Some(&LIMIT)));
        }
        it.later(60);
        drop(it.breakers.admit(&it.application).expect("one probe call"));
        assert_eq!(
            it.call(None),
            Ok(false),
            "the abandoned probe call has no effect, and this one closes the breaker"
        );
        assert_eq!(it.call(None), Ok(false));
        it.breaks_its_limits();
        assert_eq!(it.call(None), Err(60), "the breaker was open recently");
        it.later(60);
        assert_eq!(it.call(None), Ok(false));
        it.later(61);
        it.breaks_its_limits();
        assert_eq!(it.call(None), Err(1), "no fault occurred for a minute");
    }

    #[test]
    fn denials_and_other_faults_never_open_the_breaker() {
        let it = Fixture::new();
        let trap = Fault::Trap {
            trap: "unreachable".to_owned(),
            last_words: None,
        };
        for fault in [
            Some(&Fault::Busy),
            Some(&trap),
            Some(&Fault::Reported("no".to_owned())),
            None,
        ] {
            for _ in 0..20 {
                assert_eq!(it.call(fault), Ok(false), "{fault:?}");
            }
        }
    }
}
