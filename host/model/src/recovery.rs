//! Recovery codes, with which users without a device authenticate.

use std::fmt;

use crate::entropy::Entropy;
use crate::id::UserId;
use crate::secret::Digest;
use crate::typed::plain_code;

/// The number of codes of a user.
pub const CODES: usize = 10;
/// The number of characters of a code: 80 random bits, so a digest needs neither a salt nor key stretching.
const LENGTH: usize = 16;
/// The maximum length of a typed code, in bytes. The form has at most 100 characters.
const LONGEST_INPUT: usize = 400;
/// The number of characters in a group.
const GROUP: usize = 4;
/// The 32 characters of Crockford's base 32, which omits ambiguous ones.
const ALPHABET: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J',
    'K', 'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z',
];

/// The effect of a device's revocation on the recovery codes that the device created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesOfDevice {
    /// The codes are revoked, because an attacker with the device may have created them.
    End,
    /// The codes stay valid, because the user states that only the user has them.
    Keep,
}

/// A single-use code that lets its user enrol an authenticator. Only the user sees it, and only once.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode(String);

impl RecoveryCode {
    /// Returns a new code.
    pub fn random(entropy: &dyn Entropy) -> Self {
        let draw = |_| {
            ALPHABET
                .get(entropy.below(32) as usize)
                .copied()
                .unwrap_or('0')
        };
        Self((0..LENGTH).map(draw).collect())
    }

    /// Returns the code of these bytes, which must be as secret as random ones.
    pub fn derived(bytes: &[u8; LENGTH]) -> Self {
        let draw = |byte: &u8| {
            let place = usize::from(byte % 32);
            ALPHABET.get(place).copied().unwrap_or('0')
        };
        Self(bytes.iter().map(draw).collect())
    }

    /// Parses a typed code. It accepts any width, any dash or space between the characters, digits of any script,
    /// either case, and letters that look like digits.
    pub fn parse(typed: &str) -> Option<Self> {
        // No valid input is longer, so it is rejected without parsing.
        if typed.len() > LONGEST_INPUT {
            return None;
        }
        let read = |typed: char| match typed.to_ascii_uppercase() {
            'O' => Some('0'),
            'I' | 'L' => Some('1'),
            upper => ALPHABET.contains(&upper).then_some(upper),
        };
        let code: Option<String> = plain_code(typed).chars().map(read).collect();
        code.filter(|code| code.len() == LENGTH).map(Self)
    }

    /// Returns the stored digest, which is valid only for this user.
    pub fn digest(&self, user: UserId) -> Digest {
        Digest::sha256(format!("recovery code {user} {}", self.0).as_bytes())
    }

    /// Returns the code for display, in groups.
    pub fn grouped(&self) -> String {
        let characters: Vec<char> = self.0.chars().collect();
        let groups: Vec<String> = characters
            .chunks(GROUP)
            .map(|group| group.iter().collect())
            .collect();
        groups.join("-")
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(***)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_code_is_parsed_in_each_notation_and_its_digest_depends_on_the_user() {
        let code = RecoveryCode::parse("0123-4567-89AB-CDEF").unwrap();
        assert_eq!(code.grouped(), "0123-4567-89AB-CDEF");
        for typed in [
            "0123456789abcdef",
            " o1 23 – 45.67 89Ab_cdef ",
            "oi23-4567-89ab-cdef",
            "OL23‑4567‑89AB‑CDEF",
            "０１２３－４５６７－８９ＡＢ－ＣＤＥＦ",
            "０１２３ー４５６７ー８９ａｂーｃｄｅｆ",
            "٠١٢٣−٤٥٦٧−٨٩AB−CDEF",
            "0123—4567\u{a0}89AB\u{3000}CDEF",
        ] {
            assert_eq!(RecoveryCode::parse(typed), Some(code.clone()), "{typed}");
        }
        for typed in [
            "",
            "0123",
            "0123-4567-89AB-CDEU",
            "0123-4567-89AB-CDEFG",
            "0123/4567/89AB/CDEF",
        ] {
            assert_eq!(RecoveryCode::parse(typed), None, "{typed}");
        }
        assert_eq!(RecoveryCode::parse(&"-".repeat(1000)), None);
        let (one, other) = (UserId::from_bytes([1; 16]), UserId::from_bytes([2; 16]));
        assert_ne!(code.digest(one).to_text(), code.digest(other).to_text());
        assert!(!format!("{code:?}").contains("0123"));
    }

    proptest! {
        #[test]
        fn a_displayed_code_is_parsed_again(_ in 0..1000) {
            let code = RecoveryCode::random(&SystemEntropy);
            prop_assert_eq!(RecoveryCode::parse(&code.grouped()), Some(code));
        }

        #[test]
        fn a_parsed_code_always_has_the_full_length(typed in "\\PC{0,40}") {
            if let Some(code) = RecoveryCode::parse(&typed) {
                prop_assert_eq!(code.grouped().len(), LENGTH + LENGTH / GROUP - 1);
            }
        }
    }
}
