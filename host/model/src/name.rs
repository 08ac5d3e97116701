//! Names that users type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::printable::is_printable;

/// A user's name at sign-in: lower case, without surrounding white space, 1 to 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LoginName(String);

/// A text that cannot be a login name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 128 characters without spaces")]
pub struct LoginNameError;

impl LoginName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LoginName {
    type Err = LoginNameError;
    fn from_str(text: &str) -> Result<Self, LoginNameError> {
        let name = text.trim().to_lowercase();
        let fits = (1..=128).contains(&name.chars().count());
        if !fits
            || name
                .chars()
                .any(|c| c.is_whitespace() || is_unseen(c) || is_variation_selector(c))
        {
            return Err(LoginNameError);
        }
        Ok(Self(name))
    }
}

/// Whether a character is invisible, or looks like a space. Such characters would make two names look the same.
fn is_unseen(c: char) -> bool {
    !is_printable(c)
        || matches!(
            c,
            '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
                ..='\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{2800}'
        )
}

/// Whether a character selects a variant of the preceding one. An emoji in an application's name may need one.
const fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Checks a text for display, such as the name of an application or a device. It has at most `max` characters, none of
/// them control or invisible characters, and is not blank. Returns `None` for other texts.
pub fn display_text(text: &str, max: usize) -> Option<String> {
    let text = text.trim();
    let fits = (1..=max).contains(&text.chars().count());
    (fits && !text.chars().any(is_unseen)).then(|| text.to_owned())
}

impl fmt::Display for LoginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for LoginName {
    type Error = LoginNameError;
    fn try_from(text: String) -> Result<Self, LoginNameError> {
        text.parse()
    }
}

impl From<LoginName> for String {
    fn from(name: LoginName) -> Self {
        name.0
    }
}

/// Untrusted text for the log: in quotes, with escaped control characters, and truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedText(String);

impl QuotedText {
    /// The maximum length in characters.
    const LENGTH: usize = 200;

    /// Truncates a text to the maximum length for the log.
    pub fn new(text: &str) -> Self {
        Self(text.chars().take(Self::LENGTH).collect())
    }

    /// Returns whether the whole text is shown, without an escaped character.
    pub fn is_exact(&self) -> bool {
        self.0.chars().count() < Self::LENGTH && self.to_string() == format!("\"{}\"", self.0)
    }
}

impl std::fmt::Display for QuotedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_case_folded() {
        assert_eq!(
            " Ada@Example.ORG ".parse::<LoginName>().unwrap().as_str(),
            "ada@example.org"
        );
    }

    #[test]
    fn a_quoted_text_is_exact_only_without_escapes_and_truncation() {
        assert!(QuotedText::new("https://rp.example/cb?a=1").is_exact());
        for text in ["a\"b", "a\u{202e}b", "a\\b", &"x".repeat(200)] {
            assert!(!QuotedText::new(text).is_exact(), "{text:?}");
        }
    }

    #[test]
    fn confusable_and_malformed_names_are_rejected() {
        for name in [
            "",
            "  ",
            "a b",
            "ada\u{200b}",
            "\u{202e}ada",
            "ada\u{2800}the\u{2800}role",
            "ada\u{3164}",
            "ada\u{115f}",
            "ada\u{61c}",
            "ada\u{ad}",
            "ada\u{fe0f}",
            "a\nb",
            &"x".repeat(129),
        ] {
            assert_eq!(name.parse::<LoginName>(), Err(LoginNameError), "{name:?}");
        }
    }
}
