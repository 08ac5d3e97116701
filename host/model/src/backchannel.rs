//! Back-channel authentication requests (OpenID Client-Initiated Backchannel Authentication Core 1.0): an application
//! asks for the approval of a user without a browser.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::authorization_details::requested::AuthorizationDetails;
use crate::clock::Timestamp;
use crate::device_authorization::EnteredCode;
use crate::id::{BackchannelRequestId, Did, UserId};
use crate::printable::is_printable;
use crate::scope::Scopes;
use crate::secret::Digest;

/// A back-channel authentication request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackchannelRequest {
    /// The row's id, a part of the `auth_req_id`.
    pub id: BackchannelRequestId,
    /// The digest of the `auth_req_id` or of the `device_code`.
    pub digest: Digest,
    /// The application that asks.
    pub application: Did,
    /// The user for whom it asks. The user has access to the application, but may have no device.
    pub user_id: UserId,
    /// The scopes to which an approval consents.
    pub scopes: Scopes,
    /// The authorization details to which an approval consents (RFC 9396).
    pub details: AuthorizationDetails,
    /// The message that the device shows.
    pub message: Option<BindingMessage>,
    /// The way in which the user connects the request with the application.
    pub binding: BackchannelBinding,
    /// The code with which the user began the request; `None` if the application asked for the user.
    pub entered_code: Option<EnteredCode>,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the request.
    pub expires_at: Timestamp,
    /// Whether the application has received its tokens. An `auth_req_id` is single use.
    pub is_claimed: bool,
}

/// The way in which a user connects a back-channel request on the device with the application that shows it. It is a
/// setting of the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BackchannelBinding {
    /// The user compares the binding message.
    #[default]
    Shown,
    /// The user types digits that the application shows. The device does not receive them.
    Typed,
    /// The user compares nothing, so only an approval with a passkey counts.
    #[serde(rename = "none")]
    #[strum(serialize = "none")]
    Unbound,
}
crate::enum_texts!(BackchannelBinding);

impl BackchannelBinding {
    /// Whether the value is the default.
    pub const fn is_default(&self) -> bool {
        matches!(self, Self::Shown)
    }
}

/// The longest `requested_expiry` of an application, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct LongestExpiry(u32);

/// A number that is not the longest expiry of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected {shortest} to {longest} seconds",
    shortest = LongestExpiry::SHORTEST, longest = LongestExpiry::LONGEST
)]
pub struct LongestExpiryError;

impl LongestExpiry {
    /// The shortest expiry of a request, in seconds.
    pub const SHORTEST: u32 = 10;
    /// The longest value: a day, in seconds.
    pub const LONGEST: u32 = 24 * 60 * 60;
    const DEFAULT: u32 = 10 * 60;

    /// Checks a number of seconds.
    ///
    /// # Errors
    /// [`LongestExpiryError`] if it is not between [`Self::SHORTEST`] and [`Self::LONGEST`].
    pub fn of_seconds(seconds: u32) -> Result<Self, LongestExpiryError> {
        match (Self::SHORTEST..=Self::LONGEST).contains(&seconds) {
            true => Ok(Self(seconds)),
            false => Err(LongestExpiryError),
        }
    }

    /// Returns the number of seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// Returns the expiry that a request asks for in seconds, if it is permitted.
    pub fn permitted(self, seconds: u32) -> Option<Duration> {
        let is_permitted = (Self::SHORTEST..=self.0).contains(&seconds);
        is_permitted.then(|| Duration::from_secs(seconds.into()))
    }

    /// Whether the value is the default.
    pub const fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT
    }
}

impl Default for LongestExpiry {
    fn default() -> Self {
        Self(Self::DEFAULT)
    }
}

impl TryFrom<u32> for LongestExpiry {
    type Error = LongestExpiryError;
    fn try_from(seconds: u32) -> Result<Self, LongestExpiryError> {
        Self::of_seconds(seconds)
    }
}

impl From<LongestExpiry> for u32 {
    fn from(longest: LongestExpiry) -> Self {
        longest.0
    }
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

    /// Whether the text has only digits.
    pub fn is_number(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_digit())
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
    fn an_expiry_is_between_ten_seconds_and_that_of_the_application() {
        let usual = LongestExpiry::default();
        assert_eq!(usual.permitted(10), Some(Duration::from_secs(10)));
        assert_eq!(usual.permitted(600), Some(Duration::from_secs(600)));
        assert_eq!((usual.permitted(9), usual.permitted(601)), (None, None));
        let day = LongestExpiry::of_seconds(86_400).unwrap();
        assert_eq!(day.permitted(86_400), Some(Duration::from_secs(86_400)));
        for seconds in [0, 9, 86_401, u32::MAX] {
            assert_eq!(LongestExpiry::of_seconds(seconds), Err(LongestExpiryError));
        }
        let stored: Result<LongestExpiry, _> = serde_json::from_str("86401");
        assert!(stored.is_err());
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
