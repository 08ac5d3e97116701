//! The search form of names, and the search terms of users and accounts. A search finds terms by their prefix.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization as _;

use crate::account::Account;
use crate::name::{LoginName, folded_form};
use crate::user::User;

/// The maximum length of a term from a name, in characters: that of the longest login name.
const LONGEST: usize = 128;
/// The maximum number of words of a name that terms begin with.
const WORDS: usize = 4;
/// The length of an id, in characters.
const ID: usize = 32;
/// The last character of Unicode. No sort key begins with it.
const LAST: char = '\u{10ffff}';
/// This text follows all sort keys, in the order of bytes.
pub const AFTER_ALL_KEYS: &str = "\u{10ffff}";
/// Letters that Unicode does not decompose, and their form in the transform Latin-ASCII of CLDR.
const LETTERS: [(char, &str); 7] = [
    ('æ', "ae"),
    ('đ', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ł', "l"),
    ('œ', "oe"),
    ('ø', "o"),
];

/// The marks that names are searched without: accents of Latin, Greek and Cyrillic letters, points of Hebrew and Arabic
/// letters, sound marks of Kana, and variation selectors. The marks of other scripts are vowels, without which a name
/// would be another one. `assets/names.js` has the same list.
const REMOVED_MARKS: [(char, char); 21] = [
    ('\u{300}', '\u{36f}'),
    ('\u{483}', '\u{487}'),
    ('\u{591}', '\u{5bd}'),
    ('\u{5bf}', '\u{5bf}'),
    ('\u{5c1}', '\u{5c2}'),
    ('\u{5c4}', '\u{5c5}'),
    ('\u{5c7}', '\u{5c7}'),
    ('\u{610}', '\u{61a}'),
    ('\u{64b}', '\u{65f}'),
    ('\u{670}', '\u{670}'),
    ('\u{6d6}', '\u{6dc}'),
    ('\u{6df}', '\u{6e4}'),
    ('\u{6e7}', '\u{6e8}'),
    ('\u{6ea}', '\u{6ed}'),
    ('\u{1ab0}', '\u{1aff}'),
    ('\u{1dc0}', '\u{1dff}'),
    ('\u{20d0}', '\u{20ff}'),
    ('\u{3099}', '\u{309a}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{fe20}', '\u{fe2f}'),
    ('\u{e0100}', '\u{e01ef}'),
];

/// Returns the form in which names are searched and sorted: [`folded`], and without [`REMOVED_MARKS`], so that "armel"
/// finds "Ärmel". A domain may be written with the full stop of East Asian scripts.
///
/// This is no form for comparisons: "Jose" and "José" are different names. `assets/names.js` has the same function for
/// lists in a browser.
pub fn search_form(text: &str) -> String {
    let without_marks: String = text.nfkd().filter(|c| !is_removed(*c)).collect();
    LETTERS
        .iter()
        .fold(folded_form(&without_marks), |form, (letter, ascii)| {
            form.replace(*letter, ascii)
        })
        .replace('\u{3002}', ".")
}

/// Whether a character is one of [`REMOVED_MARKS`].
fn is_removed(character: char) -> bool {
    REMOVED_MARKS
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&character))
}

/// Returns the key by which lists sort users, in the order of bytes: the search form of the full name, or else of the
/// user name. It is not empty, and short enough for an index and a cursor.
pub fn sort_key(user: &User) -> String {
    first_key([user.display_name(), user.name.as_str()]).unwrap_or_else(|| user.name.to_string())
}

/// Returns the key of the first name that has one: a name may consist of marks and invisible characters only.
fn first_key(names: [&str; 2]) -> Option<String> {
    names
        .into_iter()
        .map(|name| {
            let form = search_form(name);
            let form = form.trim_start_matches(LAST).chars();
            form.take(LONGEST).collect::<String>()
        })
        .find(|key| !key.is_empty())
}

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
        .map(|name| search_form(&name))
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

/// Returns the terms that an account with this name can have, one for each spelling of a domain. An account with such a
/// term may have another name.
pub fn terms_of_name(name: &str) -> Vec<String> {
    let login: Option<LoginName> = name.parse().ok();
    let in_unicode = login.as_ref().and_then(LoginName::in_unicode);
    [Some(name), in_unicode.as_deref()]
        .into_iter()
        .flatten()
        .filter_map(|name| of_words(&[name]).into_iter().next())
        .collect()
}

fn of_words(texts: &[&str]) -> Vec<String> {
    let text = search_form(&texts.join(" "));
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
        let text = search_form(text);
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

    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;
    use crate::name::is_same_name;

    /// Spellings with the same search form. The test of `assets/names.js` reads them too.
    const SPELLINGS: &str = include_str!("search/spellings.json");

    #[test]
    fn spellings_have_one_search_form() {
        let spellings: Vec<Vec<String>> = serde_json::from_str(SPELLINGS).unwrap();
        let mut forms = BTreeSet::new();
        for one in &spellings {
            let of_one: BTreeSet<String> = one.iter().map(|text| search_form(text)).collect();
            assert_eq!(of_one.len(), 1, "{one:?} {of_one:?}");
            forms.extend(of_one);
        }
        assert_eq!(forms.len(), spellings.len(), "{forms:?}");
        assert_eq!(search_form(" ÄRMEL "), "armel");
        assert_eq!(search_form("Straße"), "strasse");
    }

    /// A text with the letters, marks and forms that the search form changes.
    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[a-zA-Z äöüÄÖÜßẞéÉÅσΣςŁøÆİıйﾔﾀﾞＡａ한글אבג\u{300}-\u{330}\u{3099}\u{5b0}\u{200b}]{0,20}",
        ]
    }

    proptest! {
        #[test]
        fn a_search_form_ignores_case_marks_and_width(text in texts()) {
            let form = search_form(&text);
            prop_assert_eq!(&search_form(&form), &form, "the form changes again");
            prop_assert_eq!(form.nfkd().find(|c| is_removed(*c)), None);
            let other_spellings: [String; 4] = [
                text.nfc().collect(),
                text.nfd().collect(),
                text.nfkc().collect(),
                text.to_lowercase(),
            ];
            for other in other_spellings {
                prop_assert_eq!(search_form(&other), form.as_str(), "{:?}", other);
            }
        }
    }

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
        assert_eq!(of_words(&["ÅSA"]), ["asa"]);
        assert_eq!(of_words(&[" , "]), Vec::<String>::new());
        assert_eq!(of_words(&["a b c d e f"]).len(), WORDS);
        assert_eq!(
            of_words(&[&"x".repeat(2000)]).first().unwrap().len(),
            LONGEST
        );
    }

    #[test]
    fn an_account_has_the_term_of_each_spelling_of_its_name() {
        let long = "Ada ".repeat(50);
        for (stored, named) in [
            ("Ada,", "ADA,"),
            ("Smith , John", "smith , JOHN"),
            (long.trim(), long.trim()),
            ("x@exämple.test", "X@xn--exmple-cua.test"),
        ] {
            assert!(is_same_name(stored, named), "{named}");
            let stored = of_words(&[stored]);
            let named = terms_of_name(named);
            assert!(
                named.iter().any(|term| stored.contains(term)),
                "{named:?} {stored:?}"
            );
        }
        assert_eq!(terms_of_name(" "), Vec::<String>::new());
    }

    #[test]
    fn a_sort_key_is_the_form_of_the_first_name_with_letters() {
        let key = |name: &str| first_key([name, "x1"]).unwrap();
        for (name, expected) in [
            ("Ärmel, Zoë", "armel, zoe"),
            ("", "x1"),
            ("\u{301}\u{200b}", "x1"),
            ("\u{10ffff}Ada", "ada"),
        ] {
            assert_eq!(key(name), expected, "{name:?}");
        }
        assert_eq!(first_key(["", "\u{301}"]), None);
        assert_eq!(key(&"ﷺ".repeat(1024)).chars().count(), LONGEST);
        assert!(key("\u{10fffe}").as_str() < AFTER_ALL_KEYS);
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
            ("JOSE\u{301}", "jose"),
            ("ｊｏｓé", "jose"),
            ("\u{200b}Ada\u{feff}", "ada"),
            ("x@EXÄMPLE\u{3002}test", "x@example.test"),
        ] {
            assert_eq!(Prefix::parse(typed).unwrap().first(), searched);
        }
        assert_eq!(
            of_words(&["E\u{301}milie Straße"]),
            ["emilie strasse", "strasse emilie"]
        );
    }

    #[test]
    fn a_range_ends_after_all_texts_with_its_prefix() {
        for prefix in ["abc", "ab\u{10FFFF}", "\u{D7FF}", "ж"] {
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
