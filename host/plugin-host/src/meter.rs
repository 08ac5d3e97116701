//! What a plugin's calls used, counted since the host started.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::usage::Usage;

/// Counts the calls of one plugin. It outlives a reload, so that what is counted goes on.
pub(super) struct Meter {
    calls: AtomicU64,
    faults: AtomicU64,
    denials: AtomicU64,
    rejected: AtomicU64,
    suspensions: AtomicU64,
    waiting: AtomicU64,
    used: Mutex<ResourceUse>,
}

/// What calls used: a call's time in microseconds, and its fuel.
struct ResourceUse {
    time: Histogram<u64>,
    fuel: Histogram<u64>,
    time_total: Duration,
    fuel_total: u64,
}

/// The metrics of a plugin's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PluginMetrics))]
pub struct PluginMetrics {
    /// Started calls.
    pub calls: u64,
    /// Calls that failed, or violated the contract or a limit.
    pub faults: u64,
    /// Calls that denied the user access to the application.
    pub denials: u64,
    /// Calls that the queue rejected, and calls during a suspension.
    pub rejected: u64,
    /// How often the plugin was suspended for an application, because it exceeded its limits repeatedly.
    pub suspensions: u64,
    /// Calls in the queue.
    pub queue_length: u64,
    /// The plugin's own time of a call, in microseconds.
    pub time_us: Quantiles,
    /// The fuel of a call.
    pub fuel: Quantiles,
}

/// Quantiles over the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Quantiles {
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The sum over all calls.
    pub total: u64,
}

impl Meter {
    /// A meter that has counted nothing.
    pub(super) fn new() -> Result<Self, String> {
        // Two digits are enough to compare by, and keep a histogram at a few kilobytes.
        let histogram =
            |most| Histogram::new_with_bounds(1, most, 2).map_err(|error| error.to_string());
        Ok(Self {
            calls: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            denials: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            suspensions: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            used: Mutex::new(ResourceUse {
                time: histogram(60_000_000)?,
                fuel: histogram(1 << 40)?,
                time_total: Duration::ZERO,
                fuel_total: 0,
            }),
        })
    }

    /// A call waits for a place, as long as the answer lives.
    pub(super) fn waits(&self) -> WaitingCall<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingCall(self)
    }

    /// A call found no place.
    pub(super) fn rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// It was suspended for an application.
    pub(super) fn suspended(&self) {
        self.suspensions.fetch_add(1, Ordering::Relaxed);
    }

    /// A plugin turned a person away.
    pub(super) fn denied(&self) {
        self.denials.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer of the plugin broke the contract.
    pub(super) fn broke_contract(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// A call ended.
    pub(super) fn count(&self, usage: &Usage, failed: bool) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if failed {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        let mut used = self.used();
        used.time
            .saturating_record(u64::try_from(usage.time.as_micros()).unwrap_or(u64::MAX));
        used.fuel.saturating_record(usage.fuel);
        used.time_total = used.time_total.saturating_add(usage.time);
        used.fuel_total = used.fuel_total.saturating_add(usage.fuel);
    }

    /// What was counted.
    pub(super) fn measured(&self) -> PluginMetrics {
        let used = self.used();
        let quantiles = |histogram: &Histogram<u64>, total| Quantiles {
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            total,
        };
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PluginMetrics {
            calls: read(&self.calls),
            faults: read(&self.faults),
            denials: read(&self.denials),
            rejected: read(&self.rejected),
            suspensions: read(&self.suspensions),
            queue_length: read(&self.waiting),
            time_us: quantiles(
                &used.time,
                u64::try_from(used.time_total.as_micros()).unwrap_or(u64::MAX),
            ),
            fuel: quantiles(&used.fuel, used.fuel_total),
        }
    }

    /// A thread that ended while it counted left numbers, and numbers are what is asked for.
    fn used(&self) -> MutexGuard<'_, ResourceUse> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for a place.
pub(super) struct WaitingCall<'a>(&'a Meter);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_and_spread() {
        let meter = Meter::new().expect("a meter");
        assert_eq!(meter.measured(), PluginMetrics::default());
        for micros in 1..=100 {
            let usage = Usage {
                fuel: micros * 1000,
                time: Duration::from_micros(micros),
                ..Usage::default()
            };
            meter.count(&usage, micros == 100);
        }
        meter.denied();
        meter.rejected();
        let waits = meter.waits();
        let measured = meter.measured();
        assert_eq!(
            (measured.calls, measured.faults, measured.denials),
            (100, 1, 1)
        );
        assert_eq!((measured.rejected, measured.queue_length), (1, 1));
        assert_eq!(
            (
                measured.time_us.p50,
                measured.time_us.p99,
                measured.time_us.total
            ),
            (50, 99, 5050)
        );
        assert!((49_000..=51_000).contains(&measured.fuel.p50) && measured.fuel.total == 5_050_000);
        drop(waits);
        assert_eq!(meter.measured().queue_length, 0);
    }

    #[test]
    fn what_is_beyond_the_scale_is_counted_at_its_end() {
        let meter = Meter::new().expect("a meter");
        meter.count(
            &Usage {
                fuel: u64::MAX,
                time: Duration::MAX,
                ..Usage::default()
            },
            false,
        );
        assert_eq!(meter.measured().calls, 1);
    }
}
