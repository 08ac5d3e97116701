//! Back-channel authentication requests (OpenID Client-Initiated Backchannel Authentication Core 1.0): an application
//! asks for the approval of a user without a browser.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{BackchannelRequestId, Did, UserId};
use crate::printable::is_printable;
use crate::scope::Scopes;
use crate::secret::Digest;

/// A back-channel authentication request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackchannelRequest {
    /// The row's id, a part of the `auth_req_id`.
    pub id: BackchannelRequestId,
    /// The digest of the `auth_req_id`.
    pub digest: Digest,
    /// The application that asks.
    pub application: Did,
    /// The user for whom it asks. The user has access to the application, but may have no device.
    pub user_id: UserId,
    /// The scopes to which an approval consents.
    pub scopes: Scopes,
    /// The message that the device shows.
    pub message: Option<BindingMessage>,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the request.
    pub expires_at: Timestamp,
    /// Whether the application has received its tokens, or withdrew the request. An `auth_req_id` is single use.
    pub is_claimed: bool,
}

/// The text that the application and the device both show, so that the user recognises the request (`binding_message`,
/// OpenID CIBA Core 1.0 section 7.1).
///
/// It is one line of printable text without a link, and its digits are those of ASCII. So a text on the device looks
/// like the one in the application, and does not lead the user elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BindingMessage(String);

/// The reason why a text is not a binding message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingMessageError {
    /// It has no text, or more than fits on the device.
    #[error("binding_message must have 1 to {LONGEST} characters")]
    Length,
    /// It has a line end, a control character, an invisible character or a mark that changes the text direction.
    #[error("binding_message must be one line of visible characters, without a space at its ends")]
    Unprintable,
    /// It has digits of another script, which may look like other digits.
    #[error("binding_message must have no digits except 0 to 9")]
    Digit,
    /// It has a link.
    #[error("binding_message must have no link")]
    Link,
}

/// The largest number of characters of a binding message.
const LONGEST: usize = 100;

impl BindingMessage {
    /// Parses a binding message.
    ///
    /// # Errors
    /// [`BindingMessageError`] if the text is empty, too long, or has a character or a link that is not permitted.
    pub fn parse(text: &str) -> Result<Self, BindingMessageError> {
        if text.is_empty() || text.chars().count() > LONGEST {
            return Err(BindingMessageError::Length);
        }
        let is_visible = |character: char| {
            is_printable(character) && (character == ' ' || !character.is_whitespace())
        };
        if text.trim() != text || !text.chars().all(is_visible) {
            return Err(BindingMessageError::Unprintable);
        }
        let is_foreign = |character: char| character.is_numeric() && !character.is_ascii_digit();
        if text.chars().any(is_foreign) {
            return Err(BindingMessageError::Digit);
        }
        if has_link(text) {
            return Err(BindingMessageError::Link);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a part of the text is an address that a user may open or copy: one with a scheme, or a host name with a
/// path.
fn has_link(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_link = |word: &str| {
        let host = word.split_once('/').map(|(host, _)| host);
        let is_host = |host: &str| {
            let last = host.rsplit_once('.').map_or("", |(_, last)| last);
            last.len() >= 2 && last.chars().all(char::is_alphabetic)
        };
        word.contains("://")
            || word.contains("www.")
            || ["mailto:", "tel:", "javascript:", "data:"]
                .iter()
                .any(|scheme| word.starts_with(scheme))
            || host.is_some_and(is_host)
    };
    lower.split(' ').any(is_link)
}

impl fmt::Debug for BindingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BindingMessage(***)")
    }
}

impl TryFrom<String> for BindingMessage {
    type Error = BindingMessageError;
    fn try_from(text: String) -> Result<Self, BindingMessageError> {
        Self::parse(&text)
    }
}

impl From<BindingMessage> for String {
    fn from(message: BindingMessage) -> Self {
        message.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_message_is_one_line_of_ordinary_text() {
        for text in [
            "1234",
            "W4SCT",
            "Pay 12.50 EUR to Books & Co. for order 4/2",
            "Deploy 4.2 to production",
            "Überweisung an Jürgen",
            "支払いを承認",
            "Order 42 \u{1f4e6}\u{2728} \u{1f469}\u{200d}\u{1f4bb}",
            "Yes and/or no, e.g. this",
        ] {
            let message = BindingMessage::parse(text).expect(text);
            assert_eq!(message.as_str(), text);
        }
    }

    #[test]
    fn line_ends_bidi_marks_links_length_and_foreign_digits_are_rejected() {
        let long = "a".repeat(101);
        let huge = "a".repeat(10_000);
        for (text, error) in [
            ("", BindingMessageError::Length),
            (long.as_str(), BindingMessageError::Length),
            (huge.as_str(), BindingMessageError::Length),
            ("two\nlines", BindingMessageError::Unprintable),
            ("two\r\nlines", BindingMessageError::Unprintable),
            ("two\u{2028}lines", BindingMessageError::Unprintable),
            ("tab\there", BindingMessageError::Unprintable),
            (" 42", BindingMessageError::Unprintable),
            ("42 ", BindingMessageError::Unprintable),
            ("wide\u{3000}space", BindingMessageError::Unprintable),
            ("pay \u{202e}05 EUR", BindingMessageError::Unprintable),
            ("pay \u{2066}05 EUR", BindingMessageError::Unprintable),
            ("zero\u{200b}width", BindingMessageError::Unprintable),
            ("\u{660}\u{661}", BindingMessageError::Digit),
            ("\u{ff11}\u{ff12}", BindingMessageError::Digit),
            ("\u{1d7d9}2", BindingMessageError::Digit),
            ("see https://evil.example", BindingMessageError::Link),
            ("see WWW.evil.example", BindingMessageError::Link),
            ("see evil.example/login", BindingMessageError::Link),
            ("mailto:eve@evil.example", BindingMessageError::Link),
        ] {
            assert_eq!(BindingMessage::parse(text), Err(error), "{text:?}");
        }
    }
}
