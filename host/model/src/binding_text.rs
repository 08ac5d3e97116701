//! The parts of a binding message that could mislead the user who compares it: invisible characters, marks that change
//! a digit, characters that look like digits, and links.

use std::net::Ipv4Addr;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_properties::{
    GeneralCategory, GeneralCategoryGroup, UnicodeEmoji as _, UnicodeGeneralCategory as _,
};
use unicode_security::confusable_detection::skeleton;

use crate::name::is_invisible;

/// The zero width joiner, which joins two emoji to one.
const JOINER: char = '\u{200d}';
/// The selector of the coloured form of an emoji.
const EMOJI_FORM: char = '\u{fe0f}';
/// Symbols and letters without a form of their own: a place for an object, a musical notehead and two hieroglyphs.
const BLANK: [char; 4] = ['\u{fffc}', '\u{1d159}', '\u{13441}', '\u{13442}'];
/// The largest number of marks on one letter.
const MOST_MARKS: usize = 2;
/// The combining class of marks that are drawn over a letter (Unicode Standard Annex 44, section 5.7.4).
const OVERLAY: u8 = 1;
/// The schemes of addresses that a phone opens.
const SCHEMES: [&str; 30] = [
    "bitcoin",
    "blob",
    "callto",
    "data",
    "ethereum",
    "facetime",
    "file",
    "ftp",
    "ftps",
    "http",
    "https",
    "intent",
    "javascript",
    "lightning",
    "magnet",
    "mailto",
    "market",
    "mms",
    "otpauth",
    "sftp",
    "sip",
    "sips",
    "skype",
    "sms",
    "smsto",
    "ssh",
    "tel",
    "tg",
    "vbscript",
    "whatsapp",
];

/// Whether each character of the text is visible or a space, apart from the parts of emoji, and at least one is a
/// letter, a digit or a symbol.
pub(crate) fn is_visible(text: &str) -> bool {
    let all: Vec<char> = text.chars().collect();
    let is_permitted = |place: usize, character: char| match character {
        ' ' => true,
        JOINER => {
            emoji_before(&all, place) && all.get(place + 1).is_some_and(|next| is_emoji(*next))
        }
        EMOJI_FORM => place > 0 && all.get(place - 1).is_some_and(|before| is_emoji(*before)),
        _ => is_seen(character),
    };
    let mut places = all.iter().enumerate();
    places.all(|(place, character)| is_permitted(place, *character))
        && all.iter().any(|c| has_form(*c))
}

/// Whether an emoji, in either form, is directly before this place.
fn emoji_before(all: &[char], place: usize) -> bool {
    let mut before = all.get(..place).unwrap_or_default().iter().rev();
    match before.next() {
        Some(&EMOJI_FORM) => before.next().is_some_and(|emoji| is_emoji(*emoji)),
        Some(emoji) => is_emoji(*emoji),
        None => false,
    }
}

/// Whether a character is an emoji by itself, unlike a digit, which is part of some.
fn is_emoji(character: char) -> bool {
    !character.is_ascii() && character.is_emoji_char()
}

fn is_seen(character: char) -> bool {
    let is_without_form = matches!(
        character.general_category(),
        GeneralCategory::Format | GeneralCategory::PrivateUse | GeneralCategory::Unassigned
    );
    !is_without_form
        && !is_invisible(character)
        && !character.is_whitespace()
        && !BLANK.contains(&character)
}

/// Whether a character is a letter, a digit or a symbol.
fn has_form(character: char) -> bool {
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number | GeneralCategoryGroup::Symbol
    )
}

/// Whether marks hide or change a character: more than two, one over a letter or around it, or one on a digit or on
/// nothing.
pub(crate) fn has_misleading_marks(text: &str) -> bool {
    // A mark at the beginning would change the text before the message.
    let mut marks = MOST_MARKS;
    for character in text.chars() {
        marks = match character {
            EMOJI_FORM => marks,
            mark if is_combining_mark(mark) => {
                let is_around = mark.general_category() == GeneralCategory::EnclosingMark;
                if is_around || canonical_combining_class(mark) == OVERLAY {
                    return true;
                }
                marks + 1
            }
            bare if bare == ' ' || bare.is_ascii_digit() => MOST_MARKS,
            _ => 0,
        };
        if marks > MOST_MARKS {
            return true;
        }
    }
    false
}

/// Whether a character is or looks like a digit, other than 0 to 9. A letter that looks like one counts only in a word
/// with digits: "З0" looks like 30, and "За" is a word. Letters of ASCII never count.
pub(crate) fn has_misleading_digits(text: &str) -> bool {
    let is_other_form = |character: char| {
        let mut usual = std::iter::once(character).nfkc();
        let first = usual.next().filter(char::is_ascii_alphanumeric);
        first.is_some_and(|first| first != character) && usual.next().is_none()
    };
    let is_foreign = |character: char| character.is_numeric() && !character.is_ascii_digit();
    if text.chars().any(|c| is_foreign(c) || is_other_form(c)) {
        return true;
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.contains(|c: char| c.is_ascii_digit()) && word.contains(looks_like_digit))
}

/// Whether a letter outside ASCII looks like a digit (Unicode Technical Standard 39, section 4).
fn looks_like_digit(letter: char) -> bool {
    if letter.is_ascii() {
        return false;
    }
    let mut buffer = [0; 4];
    let look: Vec<char> = skeleton(letter.encode_utf8(&mut buffer)).collect();
    ('0'..='9').any(|digit| skeleton(digit.encode_utf8(&mut [0; 4])).eq(look.iter().copied()))
}

/// Whether a part of the text is an address that a user may open or copy: one with a scheme, an email address, or the
/// name or address of a host.
pub(crate) fn has_link(text: &str) -> bool {
    let plain = with_plain_dots(text);
    if plain.contains("://") || has_scheme(&plain) {
        return true;
    }
    let is_part = |c: char| c.is_alphanumeric() || is_combining_mark(c) || ".-:/@".contains(c);
    plain.split(|c: char| !is_part(c)).any(is_address)
}

/// Returns the text in lower case, with a full stop for each character that a browser reads as one in a host name, and
/// with usual slashes and colons. A full stop between ideographs ends a sentence.
fn with_plain_dots(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let is_ideograph = |place: Option<usize>| {
        let beside = place.and_then(|place| all.get(place));
        beside.is_some_and(|c| {
            matches!(*c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
        })
    };
    let mut plain = String::with_capacity(text.len());
    for (place, character) in all.iter().enumerate() {
        let ends_sentence = is_ideograph(place.checked_sub(1)) || is_ideograph(Some(place + 1));
        match character {
            '。' | '｡' if !ends_sentence => plain.push('.'),
            '。' | '｡' => plain.push(' '),
            '\u{2044}' | '\u{2215}' | '\u{29f8}' => plain.push('/'),
            _ => {
                let mut usual = std::iter::once(*character).nfkc();
                match (usual.next(), usual.next()) {
                    (Some(one), None) => plain.extend(one.to_lowercase()),
                    _ => plain.extend(character.to_lowercase()),
                }
            }
        }
    }
    plain
}

/// Whether a known scheme and a colon are directly before other text.
fn has_scheme(plain: &str) -> bool {
    plain.match_indices(':').any(|(place, _)| {
        let (before, after) = plain.split_at(place);
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        let is_followed = after.chars().nth(1).is_some_and(|next| next != ' ');
        is_followed && word.is_some_and(|word| SCHEMES.contains(&word))
    })
}

/// Whether a word has the name of a host, an email address, or the address of a host with a path or a port.
fn is_address(word: &str) -> bool {
    let pieces = |word: &str| -> Vec<String> {
        let pieces = word.split(['/', ':', '@']);
        pieces
            .map(|piece| piece.trim_matches(['.', '-']).to_owned())
            .collect()
    };
    let is_mail = word.split_once('@').is_some_and(|(before, after)| {
        let host = after.split(['/', ':']).next().unwrap_or_default();
        !before.is_empty() && has_top_label(host.trim_matches('.'), 1)
    });
    let has_path = word.contains(['/', ':']);
    is_mail
        || pieces(word)
            .iter()
            .any(|piece| has_top_label(piece, 2) || has_path && piece.parse::<Ipv4Addr>().is_ok())
}

/// Whether a name has several labels, of which the last one consists of at least this number of letters or is an
/// encoded one (RFC 5890 section 2.3.2.1). So "e.g", "v4.2" and "12.50" are none.
fn has_top_label(name: &str, shortest: usize) -> bool {
    let labels: Vec<&str> = name.split('.').collect();
    let [_, .., last] = labels.as_slice() else {
        return false;
    };
    let is_letters = last
        .chars()
        .all(|c| c.is_alphabetic() || is_combining_mark(c));
    labels.iter().all(|label| !label.is_empty())
        && (last.starts_with("xn--") || is_letters && last.chars().count() >= shortest)
}
