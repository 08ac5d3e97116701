//! Numbers of samples and of fields.

/// Converts a number for samples and bounds. A measurement needs no more digits than a float has.
#[allow(
    clippy::cast_precision_loss,
    reason = "a measurement needs no more digits than a float has"
)]
pub fn number(count: impl TryInto<i64>) -> f64 {
    field(count) as f64
}

/// Converts a number for a field of an exported span, because the exporter supports only signed integers.
pub fn field(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
