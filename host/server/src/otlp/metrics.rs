//! Metrics in the data model of OTLP.

use assent_model::clock::Timestamp;
use assent_telemetry::{Buckets, Family, Label, Samples};
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1 as proto;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::transform::common::tonic::Attributes;

use super::collector::{Collector, scope};

/// The path of metrics below the collector's base URL.
pub const METRICS_PATH: &str = "/v1/metrics";

/// The period of a data point: the start of the count, and the current time.
#[derive(Clone, Copy)]
struct Period {
    start: u64,
    now: u64,
}

/// Returns the request that exports these metrics, which count since `start`.
pub fn export_request(
    collector: &Collector,
    families: Vec<Family>,
    start: Timestamp,
    now: Timestamp,
) -> ExportMetricsServiceRequest {
    let period = Period {
        start: nanoseconds(start),
        now: nanoseconds(now),
    };
    let metrics = families.into_iter().map(|family| metric(family, period));
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(collector.resource()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope()),
                metrics: metrics.collect(),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.millis())
        .unwrap_or_default()
        .saturating_mul(1_000_000)
}

/// Returns a metric with its Prometheus name. A counter has no `_total`, which a collector appends for Prometheus.
fn metric(family: Family, period: Period) -> Metric {
    let numbers = |samples: Vec<(Vec<Label>, Number)>| -> Vec<NumberDataPoint> {
        let points = samples.into_iter().map(|(labels, value)| NumberDataPoint {
            attributes: attributes_of(labels),
            start_time_unix_nano: period.start,
            time_unix_nano: period.now,
            value: Some(value),
            ..NumberDataPoint::default()
        });
        points.collect()
    };
    let sum = |samples| {
        Data::Sum(Sum {
            data_points: numbers(samples),
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
            is_monotonic: true,
        })
    };
    let floats = |samples: Vec<(Vec<Label>, f64)>| -> Vec<(Vec<Label>, Number)> {
        let floats = samples.into_iter();
        floats
            .map(|(labels, value)| (labels, Number::AsDouble(value)))
            .collect()
    };
    let data = match family.samples {
        Samples::Counter(samples) => {
            let whole = |count: u64| Number::AsInt(i64::try_from(count).unwrap_or(i64::MAX));
            let counts = samples.into_iter();
            sum(counts
                .map(|(labels, count)| (labels, whole(count)))
                .collect())
        }
        Samples::Time(samples) => sum(floats(samples)),
        Samples::Gauge(samples) => Data::Gauge(Gauge {
            data_points: numbers(floats(samples)),
        }),
        Samples::Histogram(samples) => {
            let points = samples.into_iter();
            Data::Histogram(Histogram {
                data_points: points
                    .map(|(labels, buckets)| histogram_point(labels, &buckets, period))
                    .collect(),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
            })
        }
    };
    Metric {
        name: family.name.to_owned(),
        description: family.help.to_owned(),
        unit: unit(family.name).to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn attributes_of(labels: Vec<Label>) -> Vec<proto::KeyValue> {
    let labels = labels.into_iter();
    Attributes::from(labels.map(|(name, value)| KeyValue::new(name, value))).0
}

/// Returns the unit at the end of the name (UCUM).
fn unit(name: &str) -> &'static str {
    if name.ends_with("_seconds") {
        "s"
    } else if name.ends_with("_bytes") {
        "By"
    } else {
        ""
    }
}

fn histogram_point(labels: Vec<Label>, buckets: &Buckets, period: Period) -> HistogramDataPoint {
    let bounds = buckets.counts.iter().map(|(bound, _)| *bound);
    HistogramDataPoint {
        attributes: attributes_of(labels),
        start_time_unix_nano: period.start,
        time_unix_nano: period.now,
        count: buckets.count,
        sum: Some(buckets.sum),
        // The last bucket has no upper bound.
        explicit_bounds: bounds.filter(|bound| bound.is_finite()).collect(),
        bucket_counts: buckets.counts.iter().map(|(_, count)| *count).collect(),
        ..HistogramDataPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use assent_telemetry::{Histogram as Recorded, Scale};

    use super::*;

    #[test]
    fn families_are_converted_to_metrics() {
        let times = Recorded::new(Scale::Request);
        times.record_time(Duration::from_millis(3));
        let label = vec![("kind", "x".to_owned())];
        let collector =
            Collector::new("http://127.0.0.1:4318".parse().unwrap(), "", "i".to_owned());
        let families = vec![
            Family::counters("a", "A", [(label, 7)]),
            Family::gauge("b_bytes", "B", 0.5),
            Family::histogram("c_seconds", "C", times.buckets()),
        ];
        let (start, now) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let request = export_request(&collector.unwrap(), families, start, now);
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let Some(Data::Sum(sum)) = &metrics[0].data else {
            panic!("{metrics:?}");
        };
        assert!(sum.is_monotonic);
        let point = &sum.data_points[0];
        assert_eq!(point.value, Some(Number::AsInt(7)));
        assert_eq!(point.attributes[0].key, "kind");
        assert_eq!(
            (point.start_time_unix_nano, point.time_unix_nano),
            (1_000_000, 2_000_000)
        );
        assert_eq!(metrics[1].unit, "By");
        let Some(Data::Histogram(histogram)) = &metrics[2].data else {
            panic!("{metrics:?}");
        };
        let point = &histogram.data_points[0];
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!(
            (point.count, point.bucket_counts.iter().sum::<u64>()),
            (1, 1)
        );
        assert_eq!(metrics[2].unit, "s");
    }
}
