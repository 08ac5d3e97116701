//! Families of metrics.

use crate::histogram::Buckets;

/// A label of a sample: its name and its value. Values come from small fixed sets, or are names that the operator
/// chose.
pub type Label = (&'static str, String);

/// Returns the only label of a sample.
pub fn label(name: &'static str, value: &str) -> Vec<Label> {
    vec![(name, value.to_owned())]
}

/// A metric with all its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name. The name of a counter omits `_total`, which the text format appends.
    pub name: &'static str,
    /// The description of the metric: one sentence without its full stop.
    pub help: &'static str,
    /// The samples.
    pub samples: Samples,
}

/// The samples of one kind, each with its labels.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Counts that only increase while the process runs.
    Counter(Vec<(Vec<Label>, u64)>),
    /// Times in seconds that only increase while the process runs.
    Time(Vec<(Vec<Label>, f64)>),
    /// Current values.
    Gauge(Vec<(Vec<Label>, f64)>),
    /// Distributions since the process started.
    Histogram(Vec<(Vec<Label>, Buckets)>),
}

impl Family {
    /// Returns a counter with these samples.
    pub fn counters(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, u64)>,
    ) -> Self {
        let samples = Samples::Counter(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// Returns a counter with one sample and no label.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::counters(name, help, [(Vec::new(), value)])
    }

    /// Returns a counter of seconds with one sample and no label.
    pub fn time(name: &'static str, help: &'static str, seconds: f64) -> Self {
        let samples = Samples::Time(vec![(Vec::new(), seconds)]);
        Self {
            name,
            help,
            samples,
        }
    }

    /// Returns a gauge with these samples.
    pub fn gauges(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> Self {
        let samples = Samples::Gauge(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// Returns a gauge with one sample and no label.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self::gauges(name, help, [(Vec::new(), value)])
    }

    /// Returns a histogram with these samples.
    pub fn histograms(
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = (Vec<Label>, Buckets)>,
    ) -> Self {
        let samples = Samples::Histogram(samples.into_iter().collect());
        Self {
            name,
            help,
            samples,
        }
    }

    /// Returns a histogram with one sample and no label.
    pub fn histogram(name: &'static str, help: &'static str, buckets: Buckets) -> Self {
        Self::histograms(name, help, [(Vec::new(), buckets)])
    }
}
