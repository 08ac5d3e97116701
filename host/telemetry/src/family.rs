//! Families of metrics.

use crate::histogram::Buckets;

/// A label of a sample: its name and its value. Values are from small fixed sets, or names that the operator chose.
pub type Label = (&'static str, String);

/// A sample's only label.
pub fn label(name: &'static str, value: &str) -> Vec<Label> {
    vec![(name, value.to_owned())]
}

/// A metric with all its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name; that of a counter without `_total`, which the text format appends.
    pub name: &'static str,
    /// The meaning, in one sentence without its full stop.
    pub help: &'static str,
    /// The samples.
    pub samples: Samples,
}

/// Samples of one kind, each with its labels.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Numbers that only grow while the process runs.
    Counter(Vec<(Vec<Label>, u64)>),
    /// Times in seconds that only grow while the process runs.
    Time(Vec<(Vec<Label>, f64)>),
    /// Numbers of this moment.
    Gauge(Vec<(Vec<Label>, f64)>),
    /// Distributions since the process started.
    Histogram(Vec<(Vec<Label>, Buckets)>),
}

impl Family {
    /// A counter with these samples.
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

    /// A counter with one sample and no label.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::counters(name, help, [(Vec::new(), value)])
    }

    /// A counter of seconds with one sample and no label.
    pub fn time(name: &'static str, help: &'static str, seconds: f64) -> Self {
        let samples = Samples::Time(vec![(Vec::new(), seconds)]);
        Self {
            name,
            help,
            samples,
        }
    }

    /// A gauge with these samples.
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

    /// A gauge with one sample and no label.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self::gauges(name, help, [(Vec::new(), value)])
    }

    /// A histogram with these samples.
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

    /// A histogram with one sample and no label.
    pub fn histogram(name: &'static str, help: &'static str, buckets: Buckets) -> Self {
        Self::histograms(name, help, [(Vec::new(), buckets)])
    }
}
