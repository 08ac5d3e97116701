//! Histograms.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram as Recorded;

use crate::export::number;

/// The unit of a histogram, and the upper bounds of its buckets. Values are recorded with a precision of 1%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The duration of a request, in seconds.
    Request,
    /// The duration of a statement or a commit, in seconds.
    Statement,
    /// The time until a user decides, in seconds.
    Decision,
    /// The size of a batch.
    Batch,
    /// Units of fuel.
    Fuel,
}

impl Scale {
    /// The upper bounds of the buckets, in the unit of the metric.
    const fn bounds(self) -> &'static [f64] {
        match self {
            Self::Request => &[
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
            ],
            Self::Statement => &[
                0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05,
                0.1, 0.25, 1.0, 5.0,
            ],
            Self::Decision => &[
                1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 300.0, 600.0,
            ],
            Self::Batch => &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
            Self::Fuel => &[
                10_000.0,
                100_000.0,
                1_000_000.0,
                10_000_000.0,
                100_000_000.0,
                1_000_000_000.0,
                10_000_000_000.0,
            ],
        }
    }

    /// The number of recorded units in one unit of the metric. Times are recorded in microseconds.
    const fn units(self) -> f64 {
        match self {
            Self::Request | Self::Statement | Self::Decision => 1_000_000.0,
            Self::Batch | Self::Fuel => 1.0,
        }
    }

    /// The largest recorded value. Larger values count as this one.
    const fn largest(self) -> u64 {
        match self {
            Self::Request | Self::Statement => 60_000_000,
            Self::Decision => 3_600_000_000,
            Self::Batch => 4096,
            Self::Fuel => 1 << 40,
        }
    }
}

/// A histogram for several recording threads. It allocates memory with its first value.
#[derive(Debug)]
pub struct Histogram {
    scale: Scale,
    recorded: Mutex<Option<State>>,
}

#[derive(Debug)]
struct State {
    values: Recorded<u64>,
    sum: u64,
}

/// A snapshot of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets {
    /// The upper bounds, each with the number of values in its bucket (not cumulative). The last bucket has no bound
    /// (infinity).
    pub counts: Vec<(f64, u64)>,
    /// The number of values.
    pub count: u64,
    /// The sum of the values.
    pub sum: f64,
}

impl Histogram {
    /// Returns a histogram without values.
    pub const fn new(scale: Scale) -> Self {
        Self {
            scale,
            recorded: Mutex::new(None),
        }
    }

    /// Records a duration. Only for scales in seconds.
    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Records a value in recorded units: microseconds, or the unit that the scale counts.
    pub fn record(&self, value: u64) {
        let mut recorded = self.lock();
        if recorded.is_none() {
            // Two significant digits are precise enough for comparisons, and keep a histogram at a few kilobytes.
            // Construction cannot fail with the bounds of a scale.
            *recorded = Recorded::new_with_bounds(1, self.scale.largest(), 2)
                .ok()
                .map(|values| State { values, sum: 0 });
        }
        if let Some(State { values, sum }) = &mut *recorded {
            values.saturating_record(value);
            *sum = sum.saturating_add(value);
        }
    }

    /// Returns a snapshot of the recorded values.
    pub fn buckets(&self) -> Buckets {
        let (bounds, units) = (self.scale.bounds(), self.scale.units());
        let mut counts: Vec<(f64, u64)> = bounds.iter().map(|bound| (*bound, 0)).collect();
        counts.push((f64::INFINITY, 0));
        let recorded = self.lock();
        let Some(State { values, sum }) = &*recorded else {
            return Buckets {
                counts,
                count: 0,
                sum: 0.0,
            };
        };
        for step in values.iter_recorded() {
            // A value that equals a bound belongs to the bucket below the bound, even if other values share its
            // recorded interval.
            let value = number(values.lowest_equivalent(step.value_iterated_to())) / units;
            let place = bounds.partition_point(|bound| *bound < value);
            if let Some((_, count)) = counts.get_mut(place) {
                *count += step.count_since_last_iteration();
            }
        }
        Buckets {
            counts,
            count: values.len(),
            sum: number(*sum) / units,
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.lock().as_ref().map_or(0, |state| state.values.len())
    }

    /// Returns the sum of the values, in recorded units.
    pub fn sum(&self) -> u64 {
        self.lock().as_ref().map_or(0, |state| state.sum)
    }

    /// Returns the quantile for this share (0 to 1), in recorded units.
    pub fn quantile(&self, share: f64) -> u64 {
        let recorded = self.lock();
        recorded
            .as_ref()
            .map_or(0, |state| state.values.value_at_quantile(share))
    }

    /// Locks the state. A poisoned lock is usable, because an aborted recording leaves valid numbers.
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_in_the_bucket_of_their_bound() {
        let histogram = Histogram::new(Scale::Request);
        assert_eq!(histogram.buckets().count, 0);
        // 1 ms is a bound, and 1.1 ms is above it. The last value exceeds the scale.
        for time in [
            Duration::from_millis(1),
            Duration::from_micros(1100),
            Duration::from_secs(3),
            Duration::MAX,
        ] {
            histogram.record_time(time);
        }
        let buckets = histogram.buckets();
        let filled: Vec<(f64, u64)> = buckets
            .counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(
            filled,
            [(0.001, 1), (0.0025, 1), (5.0, 1), (f64::INFINITY, 1)]
        );
        assert_eq!(buckets.count, 4);
    }

    #[test]
    fn every_bound_of_every_scale_holds_its_own_value() {
        for scale in [
            Scale::Request,
            Scale::Statement,
            Scale::Decision,
            Scale::Batch,
            Scale::Fuel,
        ] {
            for bound in scale.bounds() {
                let histogram = Histogram::new(scale);
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "bounds are small whole numbers of recorded units"
                )]
                histogram.record((bound * scale.units()).round() as u64);
                let buckets = histogram.buckets();
                let filled = buckets.counts.iter().find(|(_, count)| *count == 1);
                assert_eq!(filled.map(|(bound, _)| *bound), Some(*bound), "{scale:?}");
            }
        }
    }

    #[test]
    fn quantiles_and_sums_match_the_values() {
        let histogram = Histogram::new(Scale::Fuel);
        assert_eq!((histogram.quantile(0.5), histogram.sum()), (0, 0));
        (1..=100).for_each(|value| histogram.record(value));
        assert_eq!((histogram.count(), histogram.sum()), (100, 5050));
        assert_eq!(
            (histogram.quantile(0.5), histogram.quantile(0.99)),
            (50, 99)
        );
    }
}
