//! Numbers of samples and of fields.

/// A number as samples and bounds have it. A measurement needs no more digits than a float has.
#[allow(
    clippy::cast_precision_loss,
    reason = "a measurement needs no more digits than a float has"
)]
pub fn number(count: impl TryInto<i64>) -> f64 {
    field(count) as f64
}

/// A number for a field of an exported span: the export knows signed numbers only.
pub fn field(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
