//! Values of the answers of the admin API.

use assent_plugin_host as plugins;

/// The text at a place of an answer (RFC 6901), fit for a line of the terminal; none where there is no text.
pub(super) fn text(answer: &serde_json::Value, pointer: &str) -> String {
    plugins::one_line(
        answer
            .pointer(pointer)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default(),
    )
}

/// The number at a place of an answer.
pub(super) fn number(answer: &serde_json::Value, pointer: &str) -> u64 {
    answer
        .pointer(pointer)
        .and_then(serde_json::Value::as_u64)
        .unwrap_or_default()
}
