//! What all exports share: the targets of spans, and the conversions of numbers.

/// The target of spans that are exported as parts of a trace. Log lines never contain these spans. Without an exporter,
/// or in a request without a trace, they cost almost nothing. They contain no name, address, token or claim.
pub const SPANS: &str = "assent::spans";
/// The target of root spans, with which a trace begins: a request, or a delivery in the background.
pub const ROOT_SPANS: &str = "assent::root_spans";

/// Converts a number for a field of an exported span, because the exporter supports only signed integers.
pub fn field(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Converts a number for samples and bounds. A measurement needs no more digits than a float has.
#[allow(
    clippy::cast_precision_loss,
    reason = "a measurement needs no more digits than a float has"
)]
pub fn number(count: impl TryInto<i64>) -> f64 {
    field(count) as f64
}
