//! Back-channel authentication requests (OpenID Client-Initiated Backchannel Authentication Core 1.0): an application
//! asks for the approval of a user without a browser.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::authorization_details::requested::AuthorizationDetails;
use crate::binding_text;
use crate::clock::Timestamp;
use crate::device_authorization::EnteredCode;
use crate::id::{BackchannelRequestId, Did, GroupId, UserId};
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
    /// Who must approve beside the user; `None` if the approval of the user is enough.
    pub second: Option<SecondApprovers>,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the request.
    pub expires_at: Timestamp,
    /// Whether the application has received its tokens, or withdrew the request. An `auth_req_id` is single use.
    pub is_claimed: bool,
}

/// The users of whom one must approve a back-channel request beside its user (four eyes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondApprovers {
    /// The group of these users. Who is no member any more does not count.
    pub group: GroupId,
    /// The user for whom the application asks, who is never one of them.
    pub first: FirstApprover,
}

/// The user for whom an application asks, as the device of the second approver names the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstApprover {
    /// The user.
    pub user: UserId,
    /// The name at the time of the request. The second approver sees and signs it.
    pub account: String,
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
/// It is one line of visible text without a link, and what looks like a digit is one of ASCII. So a text on the device
/// looks like the one in the application, and does not lead the user elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BindingMessage(String);

/// The reason why a text is not a binding message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingMessageError {
    /// It has no text, or more than fits on the device.
    #[error("binding_message must have 1 to {LONGEST} characters")]
    Length,
    /// It has a line end, a control character, an invisible character or a mark that changes the text direction. Or it
    /// has nothing else than punctuation.
    #[error("binding_message must be one line of visible characters, without a space at its ends")]
    Unprintable,
    /// It has marks that hide or change a character.
    #[error(
        "binding_message must have at most two marks on a letter, and none over a letter or on a digit"
    )]
    Marks,
    /// It has digits of another script, or characters that look like digits.
    #[error(
        "binding_message must have no digits except 0 to 9, and no characters that look like them"
    )]
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
        if text.trim() != text || !binding_text::is_visible(text) {
            return Err(BindingMessageError::Unprintable);
        }
        if binding_text::has_misleading_marks(text) {
            return Err(BindingMessageError::Marks);
        }
        if binding_text::has_misleading_digits(text) {
            return Err(BindingMessageError::Digit);
        }
        if binding_text::has_link(text) {
            return Err(BindingMessageError::Link);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the message of a stored request. Its text was accepted when it was stored: a later version may have
    /// other rules.
    pub fn of_stored(text: String) -> Self {
        Self(text)
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
mod tests;
