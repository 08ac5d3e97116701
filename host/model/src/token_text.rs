//! The text of tokens for users to open, copy and scan: those of enrolment links, of login pages' codes, and of
//! operators.
//!
//! The text is `{prefix}_`, the value in Base58, and a check: the CRC-32 of the text before it, in six digits of
//! Base58. Mail and chat programs end a link before a final `-` or `_`, and read others as formatting, so there are
//! only letters and digits. Base58 has none that look alike. The check shows that a part is missing or was changed,
//! without a look-up of the token. It protects from no forgery: the value itself is the secret.

use zeroize::Zeroizing;

/// The digits of Base58, in their order.
const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The number of digits of the check.
const CHECK: usize = 6;
/// The bits of a digit, in thousandths, rounded down.
const DIGIT_BITS: usize = 5_857;

/// The reason why a text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenTextError {
    /// The text does not begin like a token of this kind.
    #[error("this is not such a token")]
    OtherKind,
    /// The text begins like a token of this kind, but a part is missing or was changed.
    #[error(
        "the token is damaged: a part of it is missing or was changed; copy the whole text again"
    )]
    Damaged,
}

const fn digits(bytes: usize) -> usize {
    (bytes * 8 * 1_000).div_ceil(DIGIT_BITS)
}

/// Returns the text of a value. Its length depends only on that of the value.
pub fn write(prefix: &str, value: &[u8]) -> Zeroizing<String> {
    let encoded = Zeroizing::new(bs58::encode(value).into_string());
    let missing = digits(value.len()).saturating_sub(encoded.len());
    let body = format!("{prefix}_{}{}", "1".repeat(missing), *encoded);
    let check = check(&body);
    Zeroizing::new(body + &check)
}

/// Parses the text of a value with this number of bytes.
///
/// # Errors
/// [`TokenTextError`] if the text is not exactly such a token.
pub fn read<const BYTES: usize>(
    prefix: &str,
    text: &str,
) -> Result<Zeroizing<[u8; BYTES]>, TokenTextError> {
    let body = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'))
        .ok_or(TokenTextError::OtherKind)?;
    let is_whole = body.len() == digits(BYTES) + CHECK && body.is_ascii();
    let (encoded, shown) = body
        .split_at_checked(digits(BYTES))
        .filter(|_| is_whole)
        .ok_or(TokenTextError::Damaged)?;
    let checked = text.len() - CHECK;
    if text.get(..checked).map(check).as_deref() != Some(shown) {
        return Err(TokenTextError::Damaged);
    }
    let decoded = bs58::decode(encoded).into_vec().map(Zeroizing::new);
    let decoded = decoded.map_err(|_| TokenTextError::Damaged)?;
    // The zeros in front of the value only fill the text.
    let (filling, value) = decoded
        .split_at_checked(decoded.len().saturating_sub(BYTES))
        .ok_or(TokenTextError::Damaged)?;
    let value: [u8; BYTES] = value.try_into().map_err(|_| TokenTextError::Damaged)?;
    match filling.iter().all(|byte| *byte == 0) {
        true => Ok(Zeroizing::new(value)),
        false => Err(TokenTextError::Damaged),
    }
}

/// Finds a token in a text that was copied: in a link, with signs around it, or with line breaks in it. Returns the
/// text of the token.
///
/// # Errors
/// [`TokenTextError::Damaged`] if a token begins in the text and none is whole.
pub fn find<const BYTES: usize>(prefix: &str, text: &str) -> Result<String, TokenTextError> {
    let start = format!("{prefix}_");
    let mut found = Err(TokenTextError::OtherKind);
    for candidate in [text.to_owned(), without_inserted(text)] {
        for (at, _) in candidate.match_indices(&start) {
            let before = candidate.get(..at).and_then(|before| before.chars().last());
            if before.is_some_and(char::is_alphanumeric) {
                continue;
            }
            let length = start.len() + digits(BYTES) + CHECK;
            match candidate.get(at..at + length) {
                Some(token) if read::<BYTES>(prefix, token).is_ok() => return Ok(token.to_owned()),
                _ => found = Err(TokenTextError::Damaged),
            }
        }
    }
    found
}

/// Returns a text without the characters that programs insert into long words: white space, the marks of quoted and
/// encoded lines, and invisible characters. Its equals signs may be encoded as quoted-printable (RFC 2045 section 6.7).
fn without_inserted(text: &str) -> String {
    let is_inserted = |character: char| {
        character.is_whitespace()
            || matches!(
                character,
                '>' | '|' | '\\' | '\u{ad}' | '\u{180e}' | '\u{feff}'
            )
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}')
    };
    let lines = text.replace("=\r\n", "").replace("=\n", "");
    let joined: String = lines
        .chars()
        .filter(|character| !is_inserted(*character))
        .collect();
    joined.replace("=3D", "=").replace("=3d", "=")
}

fn check(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'1'; CHECK];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS.get((rest % 58) as usize).copied().unwrap_or(b'1');
        rest /= 58;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KIND: &str = "en";

    #[test]
    fn a_text_is_the_same_in_every_implementation() {
        // `tests/js/link_token.test.mjs` has the same text.
        let text = write(KIND, &[0x5a; 48]);
        assert_eq!(text.len(), "en_".len() + 66 + 6);
        assert_eq!(
            *text,
            "en_4KEYVtSqL8WuVRhDKT8mAzF1nhVs4Q1dhQa3vH9xoPujcADWm8cgsNaSD4Wy4ZYrFK4rgUgW"
        );
    }

    #[test]
    fn the_length_depends_on_the_kind_only() {
        for value in [[0; 48], [1; 48], [255; 48]] {
            assert_eq!(write(KIND, &value).len(), 75);
        }
        assert_eq!(write("lc", &[0; 32]).len(), 53);
    }

    #[test]
    fn another_prefix_is_another_kind_or_damage() {
        let text = write(KIND, &[7; 48]);
        assert_eq!(read::<48>("am", &text), Err(TokenTextError::OtherKind));
        let renamed = text.replacen("en_", "am_", 1);
        assert_eq!(read::<48>("am", &renamed), Err(TokenTextError::Damaged));
    }

    #[test]
    fn a_token_is_found_in_what_people_copy() {
        let token = write(KIND, &[9; 48]);
        let link = format!("https://id.example.org/authenticator#enrol={}", *token);
        let broken = format!("{}\r\n> {}", &link[..70], &link[70..]);
        let soft = format!("{}\u{ad}{}", &link[..80], &link[80..]);
        for text in [
            format!("{link}."),
            format!("({link})"),
            format!("\u{201c}{link}\u{201d}"),
            format!("<{link}> and more words"),
            format!("{}\n{}", &link[..60], &link[60..]),
            format!("{}=\r\n{}", &link[..60], &link[60..]),
            link.replace('=', "=3D"),
            link.replace('=', "=3d"),
            format!("{}=\r\n{}", &link[..60], &link[60..]).replace("enrol=", "enrol=3D"),
            format!("\"{}\"\n", *token),
            broken,
            soft,
        ] {
            assert_eq!(find::<48>(KIND, &text).as_ref(), Ok(&*token), "{text}");
        }
        for text in [&link[..link.len() - 1], &link.to_lowercase()] {
            assert_eq!(
                find::<48>(KIND, text),
                Err(TokenTextError::Damaged),
                "{text}"
            );
        }
        let other = "https://id.example.org/authenticator";
        assert_eq!(find::<48>(KIND, other), Err(TokenTextError::OtherKind));
    }

    proptest! {
        #[test]
        fn a_value_round_trips_through_text(value in any::<[u8; 48]>()) {
            let text = write(KIND, &value);
            prop_assert!(text.bytes().skip(3).all(|byte| byte.is_ascii_alphanumeric()));
            prop_assert_eq!(read::<48>(KIND, &text).map(|value| *value), Ok(value));
        }

        #[test]
        fn one_changed_missing_or_added_character_is_damage(
            value in any::<[u8; 48]>(), at in 3_usize..75, other in "[0-9A-Za-z._)]",
        ) {
            let text = write(KIND, &value);
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            prop_assume!(changed != *text);
            let missing = format!("{}{}", &text[..at], &text[at + 1..]);
            let added = format!("{}{other}{}", &text[..at], &text[at..]);
            for damaged in [changed, missing, added] {
                prop_assert_eq!(read::<48>(KIND, &damaged), Err(TokenTextError::Damaged));
            }
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = read::<48>(KIND, &text);
            let _ = find::<48>(KIND, &text);
        }
    }
}
