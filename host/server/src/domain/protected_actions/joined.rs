//! The concatenation of messages.

use crate::messages::Message;

pub(super) fn sentences(messages: impl IntoIterator<Item = Message>) -> Message {
    let joined = in_pairs(messages, |first, next| {
        Message::new("action-sentences")
            .message("first", first)
            .message("next", next)
    });
    joined.unwrap_or_else(|| Message::new("action-nothing"))
}

/// Joins messages with commas.
pub(super) fn in_a_row(messages: impl IntoIterator<Item = Message>) -> Message {
    let joined = in_pairs(messages, |first, next| {
        Message::new("action-comma")
            .message("first", first)
            .message("next", next)
    });
    joined.unwrap_or_else(|| Message::new("action-nothing"))
}

/// Joins messages with "and". Returns `None` for an empty list.
pub(super) fn joined_by_and(messages: impl IntoIterator<Item = Message>) -> Option<Message> {
    in_pairs(messages, |first, next| {
        Message::new("action-and")
            .message("first", first)
            .message("next", next)
    })
}

/// Joins neighbours until one message remains, in the same order. So the depth of the result, which is formatted
/// recursively, is the logarithm of the number of messages.
fn in_pairs(
    messages: impl IntoIterator<Item = Message>,
    pair: impl Fn(Message, Message) -> Message,
) -> Option<Message> {
    let mut level: Vec<Message> = messages.into_iter().collect();
    while level.len() > 1 {
        let mut rest = level.into_iter();
        level = std::iter::from_fn(|| {
            let first = rest.next()?;
            Some(match rest.next() {
                Some(next) => pair(first, next),
                None => first,
            })
        })
        .collect();
    }
    level.pop()
}
