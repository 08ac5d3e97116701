//! Values in responses of the admin API.

use assent_plugin_host as plugins;

/// Returns the text at a position of a response (RFC 6901), without control characters; empty if there is no text.
pub(super) fn text(answer: &serde_json::Value, pointer: &str) -> String {
    plugins::one_line(
        answer
            .pointer(pointer)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default(),
    )
}

/// Returns the number at a position of a response.
pub(super) fn number(answer: &serde_json::Value, pointer: &str) -> u64 {
    answer
        .pointer(pointer)
        .and_then(serde_json::Value::as_u64)
        .unwrap_or_default()
}
