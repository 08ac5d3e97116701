//! The texts that a user reads before an approval.

use unicode_normalization::char::is_combining_mark;

use super::shown::MISSING;
use crate::name::is_invisible;

/// Characters that look like double quotes.
const QUOTES: &str = "\"“”„‟″‶‴‷〃〝〞〟＂«»❝❞❠🙶🙷🙸״˝ʺˮ";
/// Characters of which two in a row look like a double quote.
const APOSTROPHES: &str = "'‘’‚‛′‵`´＇ʹʻʼʽˈ";
/// The largest number of marks on one letter.
const MOST_MARKS: usize = 2;

/// The reason why a text is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LegibilityError {
    #[error(
        "must not contain control characters, invisible ones, or those that change the direction of text"
    )]
    Invisible,
    #[error(
        "must not have blanks at its ends or beside each other, or other blanks than the space"
    )]
    Blank,
    #[error("must not have more than {MOST_MARKS} marks on a letter, and none without a letter")]
    Marks,
    #[error("must not contain quotes, because it is shown in quotes")]
    Quote,
    #[error("must not be a dash, which shows an absent member")]
    Missing,
}

/// Checks a part of a text. A reader sees each character of it, and where it ends.
pub(super) fn check_text(text: &str) -> Result<(), LegibilityError> {
    if text.chars().any(is_invisible) {
        return Err(LegibilityError::Invisible);
    }
    let is_other_blank = |c: char| c.is_whitespace() && c != ' ';
    let has_outer_blank = text.is_empty() || text.starts_with(' ') || text.ends_with(' ');
    if has_outer_blank || text.contains("  ") || text.chars().any(is_other_blank) {
        return Err(LegibilityError::Blank);
    }
    // A mark at the beginning, or after a blank or a value, would change the character before it.
    let mut marks = MOST_MARKS;
    for character in text.chars() {
        marks = match character {
            c if is_combining_mark(c) => marks + 1,
            ' ' | '}' => MOST_MARKS,
            _ => 0,
        };
        if marks > MOST_MARKS {
            return Err(LegibilityError::Marks);
        }
    }
    Ok(())
}

/// Checks a text value. It cannot imitate the text of the template, and not an absent member.
pub(super) fn check_value(text: &str) -> Result<(), LegibilityError> {
    check_text(text)?;
    let is_apostrophe = |c: char| APOSTROPHES.contains(c);
    let pairs = text.chars().zip(text.chars().skip(1));
    let mut pairs = pairs.filter(|(one, next)| is_apostrophe(*one) && is_apostrophe(*next));
    if text.chars().any(|c| QUOTES.contains(c)) || pairs.next().is_some() {
        return Err(LegibilityError::Quote);
    }
    match text == MISSING {
        true => Err(LegibilityError::Missing),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_no_invisible_characters_blanks_quotes_or_stacked_marks() {
        for text in [
            "Ada",
            "O’Brien & Co",
            "Zoë",
            "e\u{308}\u{301}",
            "עדה",
            "a b c",
            "山田太郎",
        ] {
            assert_eq!(check_value(text), Ok(()), "{text}");
        }
        for (reason, texts) in [
            (
                LegibilityError::Invisible,
                [
                    "a\nb",
                    "a\u{202e}b",
                    "a\u{200d}b",
                    "a\u{fe0f}",
                    "a\u{2800}b",
                    "a\u{34f}b",
                ]
                .as_slice(),
            ),
            (
                LegibilityError::Blank,
                ["", " ", " a", "a ", "a  b", "a\u{a0}b", "a\u{3000}b"].as_slice(),
            ),
            (
                LegibilityError::Marks,
                ["\u{301}a", "a \u{301}", "e\u{301}\u{301}\u{301}"].as_slice(),
            ),
            (
                LegibilityError::Quote,
                ["a\"", "a” to b", "a„", "«a»", "a''b", "a’’", "a＂"].as_slice(),
            ),
            (LegibilityError::Missing, ["–"].as_slice()),
        ] {
            for text in texts {
                assert_eq!(check_value(text), Err(reason), "{text:?}");
            }
        }
    }

    #[test]
    fn a_template_may_have_quotes() {
        assert_eq!(check_text("Allow “all” of {a}"), Ok(()));
        assert_eq!(check_text("{a}\u{301}"), Err(LegibilityError::Marks));
    }
}
