//! The delivery of the results of back-channel requests (OpenID CIBA Core 1.0 sections 5, 10.2 and 10.3).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::clock::Timestamp;
use crate::id::{BackchannelRequestId, Did, FamilyId};
use crate::outbox;

/// The way in which an application receives the results of its back-channel requests (OpenID CIBA Core 1.0 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeliveryMode {
    /// The application polls the token endpoint.
    #[default]
    Poll,
    /// The server notifies the application, which then fetches the result at the token endpoint.
    Ping,
    /// The server sends the tokens or the error to the application.
    Push,
}
crate::enum_texts!(DeliveryMode);

/// The delivery to an application: the mode, with the address that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackchannelDelivery {
    /// The application polls.
    #[default]
    Poll,
    /// The application receives a notification at this address.
    Ping(Url),
    /// The application receives the tokens or the error at this address.
    Push(Url),
}

impl BackchannelDelivery {
    /// Whether the application polls.
    pub const fn is_poll(&self) -> bool {
        matches!(self, Self::Poll)
    }

    /// Returns the mode.
    pub const fn mode(&self) -> DeliveryMode {
        match self {
            Self::Poll => DeliveryMode::Poll,
            Self::Ping(_) => DeliveryMode::Ping,
            Self::Push(_) => DeliveryMode::Push,
        }
    }

    /// Returns the address of the application; `None` if it polls.
    pub const fn endpoint(&self) -> Option<&Url> {
        match self {
            Self::Poll => None,
            Self::Ping(endpoint) | Self::Push(endpoint) => Some(endpoint),
        }
    }
}

/// The token with which the server authenticates itself at the application (`client_notification_token`, OpenID CIBA
/// Core 1.0 section 7.1): a bearer token (RFC 6750 section 2.1) of 22 to 1,024 characters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NotificationToken(String);

/// A text that is not a notification token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "client_notification_token must have {SHORTEST} to {LONGEST} characters, of A-Z, a-z, 0-9, - . _ ~ + / and = at \
     its end"
)]
pub struct NotificationTokenError;

/// The number of characters of 128 random bits in base64, the smallest permitted entropy.
const SHORTEST: usize = 22;
const LONGEST: usize = 1024;

impl NotificationToken {
    /// Parses a token.
    ///
    /// # Errors
    /// [`NotificationTokenError`] if the text is too short or too long, or has another character.
    pub fn parse(text: &str) -> Result<Self, NotificationTokenError> {
        let is_permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
        let body = text.trim_end_matches('=');
        let is_token = (SHORTEST..=LONGEST).contains(&text.len())
            && !body.is_empty()
            && body.bytes().all(is_permitted);
        match is_token {
            true => Ok(Self(text.to_owned())),
            false => Err(NotificationTokenError),
        }
    }

    /// Returns the text, for the `Authorization` header of a notification.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NotificationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotificationToken(***)")
    }
}

impl TryFrom<String> for NotificationToken {
    type Error = NotificationTokenError;
    fn try_from(text: String) -> Result<Self, NotificationTokenError> {
        Self::parse(&text)
    }
}

impl From<NotificationToken> for String {
    fn from(token: NotificationToken) -> Self {
        token.0
    }
}

/// The delays after the first attempts, in seconds. A request is valid for minutes.
const PAUSES: [u64; 5] = [2, 5, 15, 30, 60];

/// A result that waits for its delivery, claimed for one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultDelivery {
    /// The back-channel request.
    pub request: BackchannelRequestId,
    /// The application.
    pub application: Did,
    /// The `auth_req_id` and the notification token, sealed.
    pub sealed: String,
    /// The grant for which the request was claimed, if an earlier attempt created tokens.
    pub family: Option<FamilyId>,
    /// The number of started attempts, including this one.
    pub attempts: u32,
    /// The time after which the result is useless.
    pub give_up_at: Timestamp,
}

impl ResultDelivery {
    /// Returns the time of the next attempt if this one fails at `now`, or `None` if this is the last one.
    pub fn again_after(&self, now: Timestamp) -> Option<Timestamp> {
        outbox::again_after(&PAUSES, self.attempts, self.give_up_at, now)
    }
}

/// The row of a new request of an application with the mode ping or push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewResultDelivery {
    /// The `auth_req_id` and the notification token, sealed.
    pub sealed: String,
    /// The time after which the result is useless.
    pub give_up_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_token_is_a_bearer_token_of_limited_length() {
        let long = "a".repeat(1024);
        for text in [
            "8d67dc78-7faa-4d41-aabd-67707b374255",
            "AbC0123456789+/._~-ab==",
            &long,
        ] {
            let token = NotificationToken::parse(text).expect(text);
            assert_eq!(token.expose(), text);
            assert_eq!(format!("{token:?}"), "NotificationToken(***)");
        }
        let too_long = "a".repeat(1025);
        let of_equals_signs = "=".repeat(30);
        for text in [
            "",
            "short",
            &too_long,
            &of_equals_signs,
            "a=b45678901234567890123456",
            "with a space 345678901234567890",
            "a\r\nX-Header: 1234567890123456",
            "umlaut-\u{e4}-345678901234567890",
        ] {
            assert_eq!(
                NotificationToken::parse(text),
                Err(NotificationTokenError),
                "{text:?}"
            );
        }
    }

    #[test]
    fn attempts_end_when_the_result_is_useless() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let entropy = crate::entropy::SystemEntropy;
        let mut delivery = ResultDelivery {
            request: BackchannelRequestId::new(now, &entropy),
            application: Did::from_ed25519(&[1; 32]),
            sealed: String::new(),
            family: None,
            attempts: 1,
            give_up_at: now + std::time::Duration::from_secs(60),
        };
        let mut at = now;
        let mut pauses = Vec::new();
        while let Some(again) = delivery.again_after(at) {
            pauses.push(again.seconds() - at.seconds());
            at = again;
            delivery.attempts += 1;
        }
        assert_eq!(pauses, [2, 5, 15, 30]);
    }
}
