//! The metrics, from the list with which a test compares those of a server.

use std::path::Path;

use anyhow::Context;
use syn::Item;

use crate::markdown::{code, heading, prose, table};
use crate::sources::{doc_text, snake_case};

const LIST: &str = "packaging/monitoring/metrics.txt";
const GROUPS: &str = "host/server/src/domain/operations/traffic/request_metrics.rs";

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
    Ok([
        heading("Metrics", &format!("{LIST} and {GROUPS}")).as_str(),
        INTRODUCTION,
        &table(["Metric", "Type", "Labels", "Meaning"], rows),
        "## Values of the label `endpoint`\n\nEach value is a group of [endpoints](endpoints.md).\n\n",
        table(["`endpoint`", "Requests"], endpoint_groups(root)?).trim_end(),
        "\n",
    ]
    .concat())
}

/// The variants of `EndpointGroup`: the text of each, and its doc comment.
fn endpoint_groups(root: &Path) -> anyhow::Result<Vec<[String; 2]>> {
    let text = std::fs::read_to_string(root.join(GROUPS)).context(GROUPS)?;
    let parsed = syn::parse_file(&text).context(GROUPS)?;
    let group = parsed.items.iter().find_map(|item| match item {
        Item::Enum(found) if found.ident == "EndpointGroup" => Some(found),
        _ => None,
    });
    let group = group.with_context(|| format!("{GROUPS}: no EndpointGroup"))?;
    let mut rows = Vec::new();
    for variant in &group.variants {
        let text = serialized(&variant.attrs)?;
        let text = text.unwrap_or_else(|| snake_case(&variant.ident.to_string()));
        rows.push([code(&text), prose(&doc_text(&variant.attrs))]);
    }
    Ok(rows)
}

/// The text in `#[strum(serialize = "...")]`, if a variant has one.
fn serialized(attributes: &[syn::Attribute]) -> anyhow::Result<Option<String>> {
    let Some(strum) = attributes.iter().find(|one| one.path().is_ident("strum")) else {
        return Ok(None);
    };
    let mut text = None;
    strum.parse_nested_meta(|meta| {
        let value: syn::LitStr = meta.value()?.parse()?;
        if meta.path.is_ident("serialize") {
            text = Some(value.value());
        }
        Ok(())
    })?;
    Ok(text)
}
