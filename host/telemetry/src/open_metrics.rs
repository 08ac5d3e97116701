//! The text format of OpenMetrics 1.0, which Prometheus reads.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::family::{Family, Label, Samples};
use crate::histogram::Buckets;

/// Writes the families as OpenMetrics text.
///
/// # Errors
/// If a label or a number cannot be written.
pub fn open_metrics(families: Vec<Family>) -> Result<String, Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

/// Writes families in the text format of Prometheus, version 0.0.4, for programs that do not know OpenMetrics. There
/// the description of a counter has the name of its samples, with `_total`.
///
/// # Errors
/// As [`open_metrics`].
pub fn prometheus_text(families: Vec<Family>) -> Result<String, Error> {
    let text = open_metrics(families)?;
    let counters: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut converted = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(kind @ ("TYPE" | "HELP")), Some(name), Some(rest))
                if counters.contains(&name) =>
            {
                converted.push_str(&format!("# {kind} {name}_total {rest}"));
            }
            _ => converted.push_str(line),
        }
        converted.push('\n');
    }
    Ok(converted)
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for Family {
            name,
            help,
            samples,
        } in &self.0
        {
            let kind = match samples {
                Samples::Counter(_) | Samples::Time(_) => MetricType::Counter,
                Samples::Gauge(_) => MetricType::Gauge,
                Samples::Histogram(_) => MetricType::Histogram,
            };
            let encoder = encoder.encode_descriptor(name, help, None, kind)?;
            match samples {
                Samples::Counter(samples) => each(encoder, samples, |encoder, value| {
                    ConstCounter::new(*value).encode(encoder)
                })?,
                Samples::Time(samples) => each(encoder, samples, |encoder, value| {
                    ConstCounter::new(*value).encode(encoder)
                })?,
                Samples::Gauge(samples) => each(encoder, samples, |encoder, value| {
                    ConstGauge::new(*value).encode(encoder)
                })?,
                Samples::Histogram(samples) => each(encoder, samples, |mut encoder, buckets| {
                    let Buckets { counts, count, sum } = buckets;
                    encoder.encode_histogram::<NoLabelSet>(*sum, *count, counts, None)
                })?,
            }
        }
        Ok(())
    }
}

/// Encodes each sample with its labels. A single sample without labels has no braces.
fn each<T>(
    mut encoder: MetricEncoder<'_>,
    samples: &[(Vec<Label>, T)],
    encode: impl Fn(MetricEncoder<'_>, &T) -> Result<(), Error>,
) -> Result<(), Error> {
    if let [(labels, value)] = samples
        && labels.is_empty()
    {
        return encode(encoder, value);
    }
    for (labels, value) in samples {
        encode(encoder.encode_family(labels)?, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::histogram::{Histogram, Scale};

    #[test]
    fn families_are_written_in_the_text_format() -> Result<(), Error> {
        let times = Histogram::new(Scale::Decision);
        times.record_time(Duration::from_secs(2));
        let label = |value: &str| vec![("kind", value.to_owned())];
        let text = open_metrics(vec![
            Family::counters("a", "Calls", [(label("x"), 1), (label("\"\n"), 2)]),
            Family::gauge("b", "Places", 0.5),
            Family::time("d_seconds", "Time", 1.5),
            Family::histograms("c_seconds", "Times", [(label("x"), times.buckets())]),
        ])?;
        for line in [
            "# TYPE a counter",
            "a_total{kind=\"x\"} 1",
            "a_total{kind=\"\\\"\\n\"} 2",
            "# HELP b Places",
            "b 0.5",
            "# TYPE d_seconds counter",
            "d_seconds_total 1.5",
            "c_seconds_count{kind=\"x\"} 1",
            "c_seconds_bucket{le=\"1.0\",kind=\"x\"} 0",
            "c_seconds_bucket{le=\"2.0\",kind=\"x\"} 1",
            "c_seconds_bucket{le=\"+Inf\",kind=\"x\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        Ok(())
    }

    #[test]
    fn counters_have_the_names_of_their_samples_in_the_text_format_of_prometheus()
    -> Result<(), Error> {
        let text = prometheus_text(vec![
            Family::counters("a", "Calls of a", [(vec![("kind", "x y".to_owned())], 1)]),
            Family::gauge("b", "Places", 0.5),
        ])?;
        let expected = "# HELP a_total Calls of a\n# TYPE a_total counter\na_total{kind=\"x y\"} 1\n\
                        # HELP b Places\n# TYPE b gauge\nb 0.5\n";
        assert_eq!(text, expected);
        Ok(())
    }
}
