//! The metrics, from the list with which a test compares those of a server.

use std::path::Path;

use anyhow::Context;

use crate::markdown::{code, heading, prose, table};

const LIST: &str = "packaging/monitoring/metrics.txt";

const INTRODUCTION: &str = "\
The listener of the table `[metrics]` serves these at `/metrics` in the format of OpenMetrics, and OTLP exports the
same. [Metrics, traces and alerts](../operators/monitoring.md) explains how to collect them. Times are in seconds,
sizes in bytes, and a time of the name `timestamp` in seconds since 1970. A counter has the suffix `_total`, and a
histogram `_bucket`, `_sum` and `_count`.

";

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let list = std::fs::read_to_string(root.join(LIST)).context(LIST)?;
    let mut rows = Vec::new();
    for line in list.lines() {
        let mut parts = line.splitn(4, ' ');
        let mut next = || parts.next().with_context(|| format!("{LIST}: {line}"));
        let (name, kind, labels, help) = (next()?, next()?, next()?, next()?);
        let labels: Vec<String> = match labels {
            "-" => Vec::new(),
            labels => labels.split(',').map(code).collect(),
        };
        rows.push([code(name), kind.to_owned(), labels.join(", "), prose(help)]);
    }
    Ok(heading("Metrics", LIST)
        + INTRODUCTION
        + table(["Metric", "Type", "Labels", "Meaning"], rows).trim_end()
        + "\n")
}
