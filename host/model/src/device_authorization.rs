//! Device authorization requests (RFC 8628): a device without a browser or a keyboard shows a code, and the user who
//! enters it signs in on that device.
//!
//! The device of this grant is not an enrolled device. It is the television, the terminal or the command line on which
//! the user signs in.

use std::fmt;
use std::fmt::Write as _;

use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{BackchannelRequestId, Did};
use crate::login::BrowserContext;
use crate::scope::Scopes;
use crate::secret::Digest;
use crate::typed::plain_code;

/// A device authorization request. The entry of its code creates a back-channel request with the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAuthorization {
    /// The row's id, a part of the `device_code`.
    pub id: BackchannelRequestId,
    /// The digest of the `device_code`.
    pub digest: Digest,
    /// The keyed digest of the `user_code`.
    pub user_code: Digest,
    /// The application on the device.
    pub application: Did,
    /// The scopes to which an approval consents.
    pub scopes: Scopes,
    /// The location from which the device asked.
    pub origin: BrowserContext,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of both codes.
    pub expires_at: Timestamp,
    /// Whether a user has entered the code. It can be entered once.
    pub is_entered: bool,
}

/// The code that a user entered, and the time at which the device began to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnteredCode {
    /// The code, which is used up.
    pub code: UserCode,
    /// The time of the device authorization request.
    pub asked_at: Timestamp,
}

/// The number of letters.
const LENGTH: usize = 8;
/// The letters: no vowels, so that no code is a word (RFC 8628 section 6.1). A code has 34.5 bits.
const LETTERS: [u8; 20] = *b"BCDFGHJKLMNPQRSTVWXZ";
/// The longest typed text that is read, in bytes.
const LONGEST: usize = 200;

/// The code that the device shows and the user enters (`user_code`, RFC 8628 section 6.1): eight letters without
/// vowels, written as `XXXX-XXXX`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserCode([u8; LENGTH]);

impl UserCode {
    /// Returns a random code.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self([(); LENGTH].map(|()| {
            let drawn = usize::try_from(entropy.below(20)).unwrap_or_default();
            LETTERS.get(drawn).copied().unwrap_or(b'Z')
        }))
    }

    /// Parses a typed code. Case, spaces, hyphens and other separators do not matter (RFC 8628 section 6.1).
    pub fn parse_typed(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let plain = plain_code(text).to_ascii_uppercase();
        let letters: [u8; LENGTH] = plain.as_bytes().try_into().ok()?;
        let is_code = letters.iter().all(|letter| LETTERS.contains(letter));
        is_code.then_some(Self(letters))
    }

    /// The eight letters in capitals.
    pub const fn as_bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, letter) in self.0.iter().enumerate() {
            if place == LENGTH / 2 {
                f.write_char('-')?;
            }
            f.write_char(char::from(*letter))?;
        }
        Ok(())
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_code_has_eight_letters_without_vowels() {
        for _ in 0..200 {
            let code = UserCode::random(&SystemEntropy);
            let text = code.to_string();
            assert_eq!((text.len(), text.find('-')), (9, Some(4)), "{text}");
            let letters = text.replace('-', "");
            assert!(
                letters
                    .bytes()
                    .all(|one| one.is_ascii_uppercase() && !b"AEIOUY".contains(&one)),
                "{text}"
            );
            assert_eq!(UserCode::parse_typed(&text), Some(code));
        }
    }

    #[test]
    fn case_spaces_and_hyphens_do_not_matter() {
        let code = UserCode::parse_typed("WDJB-MJHT");
        assert!(code.is_some());
        for text in [
            "wdjb-mjht",
            "WDJBMJHT",
            " wDjB mJhT ",
            "W-D-J-B-M-J-H-T",
            "wdjb\u{2013}mjht",
            "ＷＤＪＢ－ＭＪＨＴ",
            "wdjb\u{200b}mjht\n",
        ] {
            assert_eq!(UserCode::parse_typed(text), code, "{text:?}");
        }
        let long = "WDJB-MJHT".repeat(50);
        for text in [
            "",
            "WDJB",
            "WDJB-MJH",
            "WDJB-MJHTT",
            "WDJB-MJHA",
            "WDJB-MJH1",
            &long,
        ] {
            assert_eq!(UserCode::parse_typed(text), None, "{text:?}");
        }
    }
}
