//! Names that people type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a person is called at sign-in: lower case, without surrounding blanks, 1 to 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LoginName(String);

/// A text that cannot be a login name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 128 characters and no blanks or control characters")]
pub struct LoginNameError;

impl LoginName {
    /// The name as text.
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
                .any(|c| c.is_control() || c.is_whitespace() || is_invisible(c))
        {
            return Err(LoginNameError);
        }
        Ok(Self(name))
    }
}

/// Characters that change how a text is shown without being seen: they would make two names look alike.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text that is shown to people (an application's or a device's name): no control or invisible characters, at most
/// `max` characters, not blank. `None` if it is not such a text.
pub fn display_text(text: &str, max: usize) -> Option<String> {
    let text = text.trim();
    let fits = (1..=max).contains(&text.chars().count());
    (fits && !text.chars().any(|c| c.is_control() || is_invisible(c))).then(|| text.to_owned())
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

/// What a stranger sent, as it may stand in the log: in quotes, with its control characters escaped, and not at length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted(String);

impl Quoted {
    /// As much of the text as the log takes.
    pub fn new(text: &str) -> Self {
        Self(text.chars().take(200).collect())
    }
}

impl std::fmt::Display for Quoted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_so_that_a_person_has_one() {
        assert_eq!(
            " Ada@Example.ORG ".parse::<LoginName>().unwrap().as_str(),
            "ada@example.org"
        );
    }

    #[test]
    fn names_that_could_look_like_another_are_refused() {
        for name in [
            "",
            "  ",
            "a b",
            "ada\u{200b}",
            "\u{202e}ada",
            "a\nb",
            &"x".repeat(129),
        ] {
            assert_eq!(name.parse::<LoginName>(), Err(LoginNameError), "{name:?}");
        }
    }
}
