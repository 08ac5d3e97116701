//! The metrics of a plugin's calls since the start of the instance.

use std::sync::atomic::{AtomicU64, Ordering};

use assent_telemetry::{Histogram, Scale};

use super::usage::Usage;

/// Counts the calls of one plugin. It survives a reload of the plugin.
pub(super) struct Meter {
    calls: AtomicU64,
    faults: AtomicU64,
    denials: AtomicU64,
    rejected: AtomicU64,
    suspensions: AtomicU64,
    waiting: AtomicU64,
    /// The time of the plugin's own code, by call.
    pub(super) time: Histogram,
    /// The fuel, by call.
    pub(super) fuel: Histogram,
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
    /// Creates a meter with all counts at zero.
    pub(super) const fn new() -> Self {
        Self {
            calls: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            denials: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            suspensions: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            time: Histogram::new(Scale::Request),
            fuel: Histogram::new(Scale::Fuel),
        }
    }

    /// Counts a call that waits for a place, until the returned value is dropped.
    pub(super) fn waits(&self) -> WaitingCall<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingCall(self)
    }

    /// Counts a call that the queue or the breaker rejected.
    pub(super) fn count_rejection(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a suspension for an application.
    pub(super) fn count_suspension(&self) {
        self.suspensions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a denial of a user's access.
    pub(super) fn count_denial(&self) {
        self.denials.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a result that broke the contract.
    pub(super) fn broke_contract(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a completed call.
    pub(super) fn count(&self, usage: &Usage, failed: bool) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if failed {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        self.time.record_time(usage.time);
        self.fuel.record(usage.fuel);
    }

    pub(super) fn metrics(&self) -> PluginMetrics {
        let quantiles = |histogram: &Histogram| Quantiles {
            p50: histogram.quantile(0.5),
            p99: histogram.quantile(0.99),
            total: histogram.sum(),
        };
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PluginMetrics {
            calls: read(&self.calls),
            faults: read(&self.faults),
            denials: read(&self.denials),
            rejected: read(&self.rejected),
            suspensions: read(&self.suspensions),
            queue_length: read(&self.waiting),
            time_us: quantiles(&self.time),
            fuel: quantiles(&self.fuel),
        }
    }
}

/// A call that waits for a place. Dropping it ends the wait.
pub(super) struct WaitingCall<'a>(&'a Meter);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_are_counted_with_quantiles() {
        let meter = Meter::new();
        assert_eq!(meter.metrics(), PluginMetrics::default());
        for micros in 1..=100 {
            let usage = Usage {
                fuel: micros * 1000,
                time: Duration::from_micros(micros),
                ..Usage::default()
            };
            meter.count(&usage, micros == 100);
        }
        meter.count_denial();
        meter.count_rejection();
        let waits = meter.waits();
        let measured = meter.metrics();
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
        assert_eq!(meter.metrics().queue_length, 0);
    }

    #[test]
    fn values_beyond_the_scale_are_counted() {
        let meter = Meter::new();
        meter.count(
            &Usage {
                fuel: u64::MAX,
                time: Duration::MAX,
                ..Usage::default()
            },
            false,
        );
        assert_eq!(meter.metrics().calls, 1);
    }
}
