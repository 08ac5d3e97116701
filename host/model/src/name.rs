//! Names that users type.
//!
//! [`LoginName`] is the one form in which names and email addresses are stored and compared. Two texts that a user
//! reads as the same name have the same form: upper and lower case, composed and decomposed letters, full-width
//! letters, and the two spellings of an internationalised domain.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use idna::{AsciiDenyList, domain_to_ascii_cow};
use precis_profiles::UsernameCaseMapped;
use precis_profiles::precis_core::Error as PrecisError;
use precis_profiles::precis_core::profile::{Profile as _, Rules as _};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::printable::is_printable;

/// The maximum length of a name, in characters.
const LONGEST: usize = 128;

/// The maximum length of a typed text, in bytes. Normalisation may shorten a text, so this exceeds the length of a
/// name.
const LONGEST_INPUT: usize = 4096;

/// How often the rules of the profile are applied until a text must not change any more (RFC 8264 section 7).
const APPLICATIONS: usize = 4;

/// A user's name or email address, in the form in which names are compared.
///
/// This is the PRECIS profile UsernameCaseMapped (RFC 8265 section 3.3), without invisible characters around the name,
/// of 1 to 128 characters. The part after the last `@` is a domain, so it is written in A-labels (RFC 5890).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LoginName(String);

/// A text that cannot be a login name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginNameError {
    /// The text is blank or too long.
    #[error("use 1 to 128 characters without spaces")]
    Length,
    /// The text has a character that no name may contain.
    #[error(
        "use letters, digits and ASCII punctuation without spaces; character {position} is {}",
        described_character(*character)
    )]
    Character {
        /// The character.
        character: char,
        /// The position in the text without the surrounding white space; the first character is 1.
        position: usize,
    },
    /// The text mixes letters of both writing directions, so it may look like another one.
    #[error(
        "the order of its characters is ambiguous: do not mix writing from right to left with other letters \
            (RFC 5893 section 2)"
    )]
    Direction,
    /// The part after `@` cannot be a domain.
    #[error("the part after @ is not a domain name (RFC 5890 section 2.3)")]
    Domain,
}

/// Returns a character with its code point, such as `² (U+00B2)`, or only the code point of an invisible one.
pub fn described_character(character: char) -> String {
    let code = u32::from(character);
    if character.is_whitespace() || is_invisible(character) {
        format!("U+{code:04X}")
    } else {
        format!("{character} (U+{code:04X})")
    }
}

impl LoginName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name with the domain in Unicode, if that differs: the other spelling of an internationalised email
    /// address.
    pub fn in_unicode(&self) -> Option<String> {
        let (local, domain) = address_parts(&self.0)?;
        let (unicode, valid) = idna::domain_to_unicode(domain);
        (valid.is_ok() && unicode != domain).then(|| format!("{local}@{unicode}"))
    }
}

impl FromStr for LoginName {
    type Err = LoginNameError;
    fn from_str(text: &str) -> Result<Self, LoginNameError> {
        let text = visible_part(text);
        if text.is_empty() || text.len() > LONGEST_INPUT {
            return Err(LoginNameError::Length);
        }
        let character_at = |index: usize, character| LoginNameError::Character {
            character,
            position: index.saturating_add(1),
        };
        let invisible = |(_, c): &(usize, char)| c.is_whitespace() || is_invisible(*c);
        if let Some((index, character)) = text.chars().enumerate().find(invisible) {
            return Err(character_at(index, character));
        }
        let profile = UsernameCaseMapped::new();
        // The profile composes letters last. Before that, it rejects parts of letters, such as those of Korean
        // syllables.
        let text: String = profile
            .width_mapping_rule(text)
            .map_err(|_| LoginNameError::Length)?
            .nfc()
            .collect();
        let (local, domain) = match address_parts(&text) {
            Some((local, domain)) => (local, Some(domain)),
            None => (text.as_str(), None),
        };
        let rejected = |error| match error {
            PrecisError::BadCodepoint(info) => match char::from_u32(info.cp) {
                Some(character) => character_at(info.position, character),
                None => LoginNameError::Length,
            },
            PrecisError::Invalid | PrecisError::Unexpected(_) => LoginNameError::Direction,
        };
        let mut name = stable_form(&profile, local).map_err(rejected)?;
        if let Some(domain) = domain {
            let ascii = ascii_domain(domain).map_err(|index| match index {
                Some((index, character)) => {
                    let before = local.chars().count().saturating_add(1);
                    character_at(before.saturating_add(index), character)
                }
                None => LoginNameError::Domain,
            })?;
            name.push('@');
            name.push_str(&ascii);
        }
        if name.chars().count() > LONGEST {
            return Err(LoginNameError::Length);
        }
        Ok(Self(name))
    }
}

/// Returns the parts before and after the last `@`, unless one of them is empty.
fn address_parts(text: &str) -> Option<(&str, &str)> {
    let parts = text.rsplit_once('@');
    parts.filter(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

/// Applies the profile until the text does not change any more (RFC 8264 section 7).
fn stable_form(profile: &UsernameCaseMapped, text: &str) -> Result<String, PrecisError> {
    // Each row that names a user is parsed. Visible ASCII characters are all permitted (RFC 8264 section 9.11), and
    // only their case is mapped.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text.to_ascii_lowercase());
    }
    profile.prepare(text)?;
    let mut form = text.to_owned();
    for _ in 0..APPLICATIONS {
        // The profile maps each letter by itself, so this comes first: a sigma depends on its place in the word.
        let next = profile.enforce(form.to_lowercase())?.into_owned();
        if next == form {
            return Ok(form);
        }
        form = next;
    }
    Err(PrecisError::Invalid)
}

/// Writes a domain in A-labels, in lower case.
///
/// # Errors
/// The first character that cannot be in a domain, with its index; `None` if the domain as a whole is not valid.
fn ascii_domain(domain: &str) -> Result<Cow<'_, str>, Option<(usize, char)>> {
    // Only texts of other alphabets can hide a separator: UTS 46 maps some of their characters to ASCII. Both spellings
    // of an internationalised domain have the same rules.
    let is_a_label = |label: &str| {
        let prefix = label.get(..4);
        prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--"))
    };
    let denied = if domain.is_ascii() && !domain.split('.').any(is_a_label) {
        AsciiDenyList::EMPTY
    } else {
        AsciiDenyList::URL
    };
    domain_to_ascii_cow(domain.as_bytes(), denied).map_err(|_| {
        domain.chars().enumerate().find(|(_, character)| {
            let label = format!("a{character}");
            domain_to_ascii_cow(label.as_bytes(), denied).is_err()
        })
    })
}

/// Returns the form in which texts that need not be login names are compared: without invisible characters around it,
/// without case, and with one form for each letter (NFKC). For searches see [`crate::search::search_form`].
pub fn folded_form(text: &str) -> String {
    // A letter may be composed only after its case changed, and the other way round.
    let folded = |text: &str| {
        let text: String = text.nfkc().collect();
        // Their upper case is that of other letters.
        text.to_lowercase().replace('ς', "σ").replace('ß', "ss")
    };
    let text: String = folded(&folded(visible_part(text))).nfkc().collect();
    // Some marks become a space and a mark.
    visible_part(&text).to_owned()
}

/// Returns a text with one form for each composed letter (NFC), as it is stored and compared where case matters.
pub fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// Returns the texts that may be stored for a name that another system wrote: the text itself without invisible
/// characters around it, and its forms without case.
pub fn stored_spellings(text: &str) -> BTreeSet<String> {
    let text = composed(visible_part(text));
    let form = text.parse::<LoginName>().ok().map(String::from);
    let lower = text.to_lowercase();
    [Some(text), Some(lower), form]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a user reads two texts as the same name or address.
pub fn is_same_name(one: &str, other: &str) -> bool {
    match (one.parse::<LoginName>(), other.parse::<LoginName>()) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => folded_form(one) == folded_form(other),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

/// Returns a key by which the database finds a name in any spelling. Names that are the same have the same key, but
/// names with the same key must still be compared with [`is_same_name`]. It is short enough for an index.
pub fn name_key(text: &str) -> String {
    match text.parse::<LoginName>() {
        Ok(name) => name.into(),
        Err(_) => folded_form(text).chars().take(LONGEST).collect(),
    }
}

/// Returns a text without white space and invisible characters at both ends, as a program may copy them with a name.
fn visible_part(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || (is_invisible(c) && !c.is_control()))
}

/// Whether a character is invisible, or looks like a space. Such characters would make two names look the same.
/// These are the control characters, the Default_Ignorable_Code_Points of Unicode, and the empty Braille pattern.
pub(crate) fn is_invisible(c: char) -> bool {
    is_unseen(c)
        || matches!(
            c,
            '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a character is invisible in a text for display. An emoji in an application's name may need a variation
/// selector.
fn is_unseen(c: char) -> bool {
    !is_printable(c)
        || matches!(
            c,
            '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
                ..='\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{2800}'
        )
}

/// Checks a text for display, such as the name of an application or a device. It has at most `max` characters, none of
/// them control or invisible characters, and is not blank. Returns `None` for other texts.
pub fn display_text(text: &str, max: usize) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || (is_unseen(c) && !c.is_control()));
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
mod tests;
