//! The names of types (`type`, RFC 9396 section 2.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The member that names the type (RFC 9396 section 2.1). Each element has it.
pub(super) const TYPE: &str = "type";
/// The largest length of a name, in characters.
const LONGEST: usize = 100;

/// The name of a type: 1 to 100 letters and digits of ASCII, and `-._~:/`. A URL is a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TypeName(String);

/// A text that is not the name of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 100 letters and digits of ASCII, and the characters -._~:/")]
pub struct TypeNameError;

impl TypeName {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TypeName {
    type Err = TypeNameError;

    fn from_str(text: &str) -> Result<Self, TypeNameError> {
        let fits = (1..=LONGEST).contains(&text.len())
            && text.bytes().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':' | b'/')
            });
        fits.then(|| Self(text.to_owned())).ok_or(TypeNameError)
    }
}

impl TryFrom<String> for TypeName {
    type Error = TypeNameError;

    fn try_from(text: String) -> Result<Self, TypeNameError> {
        text.parse()
    }
}

impl From<TypeName> for String {
    fn from(name: TypeName) -> Self {
        name.0
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_short_text_of_ascii() {
        for name in ["payment_initiation", "https://example.com/payment", "a"] {
            assert_eq!(name.parse::<TypeName>().unwrap().as_str(), name);
        }
        for text in ["", "a b", "a\"", "ä", "a?b", &"a".repeat(101)] {
            assert_eq!(text.parse::<TypeName>(), Err(TypeNameError), "{text}");
        }
    }
}
