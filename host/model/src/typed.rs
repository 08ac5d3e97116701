//! Numbers and codes as users type them: with the digits of any script and width, any dash, and any space.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Returns the text of a number or code with one form for each character (NFKC), ASCII digits, and without separators.
/// These are white space, dashes, full stops, underscores and invisible characters.
pub fn plain_code(typed: &str) -> String {
    typed
        .nfkc()
        .filter(|typed| !is_separator(*typed))
        .map(|typed| match digit_value(typed) {
            Some(value) => char::from_digit(value, 10).unwrap_or(typed),
            None => typed,
        })
        .collect()
}

/// Whether a character may stand between the characters of a code. A Japanese input method writes the sign for a long
/// vowel in place of a dash.
fn is_separator(typed: char) -> bool {
    let category = typed.general_category();
    typed.is_whitespace()
        || matches!(typed, '.' | '_' | '·' | '−' | 'ー')
        || matches!(
            category,
            GeneralCategory::DashPunctuation | GeneralCategory::Format
        )
}

/// Returns the value of a decimal digit of any script. Unicode has the ten digits of a script in a row, from zero, and
/// only complete rows adjoin each other.
fn digit_value(typed: char) -> Option<u32> {
    if !is_digit(typed) {
        return None;
    }
    let before = (0..u32::from(typed))
        .rev()
        .map_while(char::from_u32)
        .take_while(|before| is_digit(*before))
        .count();
    u32::try_from(before % 10).ok()
}

fn is_digit(typed: char) -> bool {
    typed.general_category() == GeneralCategory::DecimalNumber
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use super::*;

    #[test]
    fn the_digits_of_each_script_have_their_values() {
        let digits: Vec<char> = ('\0'..=char::MAX).filter(|one| is_digit(*one)).collect();
        assert!(digits.len() > 600 && digits.len().is_multiple_of(10));
        for row in digits.chunks(10) {
            let text: String = row.iter().collect();
            assert_eq!(plain_code(&text), "0123456789", "{text}");
        }
        for number in ["43", "４３", "٤٣", "۴۳", "४३", "๔๓", "𝟜𝟛", " 4\u{200b}3 "]
        {
            assert_eq!(plain_code(number), "43", "{number}");
        }
    }

    #[test]
    fn any_dash_and_space_separates() {
        for between in "-‐‑‒–—―⸺〜゠﹘﹣－−ー．. \u{a0}\u{2009}\u{3000}_\u{ad}\u{2060}\t\n".chars()
        {
            assert_eq!(plain_code(&format!("A{between}B")), "AB", "{between:?}");
        }
        assert_eq!(plain_code("ＡＢ/Ｃ"), "AB/C", "other characters stay");
    }
}
