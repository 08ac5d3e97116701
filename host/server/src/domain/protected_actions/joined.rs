//! The concatenation of messages.

use crate::messages::Message;

/// Joins sentences.
pub(super) fn sentences(messages: impl IntoIterator<Item = Message>) -> Message {
    let joined = messages.into_iter().reduce(|first, next| {
        Message::new("action-sentences")
            .message("first", first)
            .message("next", next)
    });
    joined.unwrap_or_else(|| Message::new("action-nothing"))
}

/// Joins messages with commas.
pub(super) fn in_a_row(messages: impl IntoIterator<Item = Message>) -> Message {
    let joined = messages.into_iter().reduce(|first, next| {
        Message::new("action-comma")
            .message("first", first)
            .message("next", next)
    });
    joined.unwrap_or_else(|| Message::new("action-nothing"))
}

/// Joins messages with "and". Returns `None` for an empty list.
pub(super) fn joined_by_and(messages: impl IntoIterator<Item = Message>) -> Option<Message> {
    messages.into_iter().reduce(|first, next| {
        Message::new("action-and")
            .message("first", first)
            .message("next", next)
    })
}
