//! The search terms of users and accounts. A search finds terms by their prefix.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::account::Account;
use crate::name::{LoginName, folded};
use crate::user::User;

/// The maximum length of a term from a name, in characters: that of the longest login name.
const LONGEST: usize = 128;
/// The maximum number of words of a name that terms begin with.
const WORDS: usize = 4;
/// The length of an id, in characters.
const ID: usize = 32;

/// Returns the search terms of a user: name, email address (with its domain in both spellings), and the words of the
/// full name. A term begins with each of the words, so "king" and "lovelace ada" also find "Ada King Lovelace".
pub fn of_user(user: &User) -> BTreeSet<String> {
    let names = || {
        [Some(&user.name), user.email.as_ref()]
            .into_iter()
            .flatten()
    };
    let mut terms: BTreeSet<String> = names()
        .map(ToString::to_string)
        .chain(names().filter_map(LoginName::in_unicode))
        .map(|name| searched(&name))
        .collect();
    let profile = &user.profile;
    match &profile.name {
        Some(name) => terms.extend(of_words(&[name])),
        None => {
            let parts: Vec<&str> = [&profile.given_name, &profile.family_name]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            terms.extend(of_words(&parts));
        }
    }
    terms
}

/// Returns the search terms of an account: its name, and the terms of its user.
pub fn of_account(account: &Account, user: &User) -> BTreeSet<String> {
    let mut terms = of_user(user);
    terms.extend(of_words(&[&account.name]));
    terms
}

/// Returns the form in which a text is searched. A domain may be written with the full stop of East Asian scripts.
fn searched(text: &str) -> String {
    folded(text).replace('\u{3002}', ".")
}

fn of_words(texts: &[&str]) -> Vec<String> {
    let text = searched(&texts.join(" "));
    let words: Vec<&str> = text
        .split_whitespace()
        .map(without_comma)
        .filter(|word| !word.is_empty())
        .collect();
    let beginning_with = |first: usize| {
        let (before, after) = words.split_at_checked(first).unwrap_or_default();
        [after, before]
            .concat()
            .join(" ")
            .chars()
            .take(LONGEST)
            .collect()
    };
    (0..words.len().min(WORDS)).map(beginning_with).collect()
}

/// Removes a comma, so that "Lovelace, Ada" becomes "lovelace ada".
fn without_comma(word: &str) -> &str {
    word.strip_suffix(',').unwrap_or(word)
}

/// The prefix of a searched term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Parses a typed text. Returns `None` if it is blank.
    pub fn parse(text: &str) -> Option<Self> {
        let text = searched(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            [] => None,
            [word] => Some(Self((*word).to_owned())),
            words => Some(Self(
                words
                    .iter()
                    .copied()
                    .map(without_comma)
                    .collect::<Vec<_>>()
                    .join(" "),
            )),
        }
    }

    /// Returns the lowest text with this prefix.
    pub fn first(&self) -> &str {
        &self.0
    }

    /// Returns an upper bound, in bytes, for all texts with this prefix.
    pub fn end(&self) -> Vec<u8> {
        let mut end = self.0.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            // A byte of UTF-8 is never 255, so the addition cannot overflow.
            *last = last.saturating_add(1);
        }
        end
    }
}

/// A position in the order of search results: the term, and the id of its object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The matching term.
    pub term: String,
    /// The id of the object.
    pub id: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.id, self.term)
    }
}

/// A text that is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the value of `next` from the previous page")]
pub struct CursorError;

impl FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (id, term) = text.split_at_checked(ID).ok_or(CursorError)?;
        if term.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(CursorError);
        }
        Ok(Self {
            term: term.to_owned(),
            id: id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use super::*;

    #[test]
    fn a_name_is_found_by_each_of_its_words() {
        assert_eq!(
            of_words(&["Ada King Lovelace"]),
            [
                "ada king lovelace",
                "king lovelace ada",
                "lovelace ada king"
            ]
        );
        assert_eq!(
            of_words(&["Lovelace,", " Ada "]),
            ["lovelace ada", "ada lovelace"]
        );
        assert_eq!(of_words(&["ÅSA"]), ["åsa"]);
        assert_eq!(of_words(&[" , "]), Vec::<String>::new());
        assert_eq!(of_words(&["a b c d e f"]).len(), WORDS);
        assert_eq!(
            of_words(&[&"x".repeat(2000)]).first().unwrap().len(),
            LONGEST
        );
    }

    #[test]
    fn search_input_is_normalized_like_names() {
        assert_eq!(
            Prefix::parse("  Lovelace,  ADA ").unwrap().first(),
            "lovelace ada"
        );
        assert_eq!(Prefix::parse("a,b").unwrap().first(), "a,b");
        assert_eq!(
            Prefix::parse("a,").unwrap().first(),
            "a,",
            "the input may continue"
        );
        assert_eq!(Prefix::parse(" \t"), None);
        for (typed, searched) in [
            ("JOSE\u{301}", "josé"),
            ("ｊｏｓé", "josé"),
            ("\u{200b}Ada\u{feff}", "ada"),
            ("x@EXÄMPLE\u{3002}test", "x@exämple.test"),
        ] {
            assert_eq!(Prefix::parse(typed).unwrap().first(), searched);
        }
        assert_eq!(
            of_words(&["E\u{301}milie Straße"]),
            ["émilie strasse", "strasse émilie"]
        );
    }

    #[test]
    fn a_range_ends_after_all_texts_with_its_prefix() {
        for prefix in ["abc", "ab\u{10FFFF}", "\u{D7FF}", "é"] {
            let range = Prefix::parse(prefix).unwrap();
            let end = range.end();
            for inside in [
                prefix.to_owned(),
                format!("{prefix}\u{10FFFF}"),
                format!("{prefix} z"),
            ] {
                assert!(inside.as_bytes() < end.as_slice(), "{inside}");
            }
            assert!(end.as_slice() > prefix.as_bytes());
        }
        assert_eq!(Prefix::parse("abc").unwrap().end(), b"abd");
    }

    #[test]
    fn a_cursor_round_trips_and_malformed_cursors_are_rejected() {
        let place = Cursor {
            term: "ada lovelace".to_owned(),
            id: "0".repeat(32),
        };
        assert_eq!(place.to_string().parse(), Ok(place));
        for text in [
            "",
            "ada",
            &"0".repeat(32),
            &format!("{}x", "g".repeat(32)),
            &"ä".repeat(40),
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
