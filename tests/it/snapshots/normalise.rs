//! Replaces values that differ between runs: times, ids, random values, keys, ports. Equal values get equal
//! placeholders, which are numbered in the order of their first occurrence. A time becomes its distance from the start
//! of the world, so a snapshot shows each lifetime.

use std::collections::HashMap;

use jiff::{Timestamp, civil::Date};

/// The shortest text that can be a random value in base64url. Shorter words are texts of the product.
const SHORTEST_RANDOM: usize = 20;

/// Moments that the product names as examples, or that the tests send. They do not depend on the start.
const CONSTANT_TIMES: [&str; 2] = ["2026-11-22T09:30:00Z", "2026-11-22"];

const MONTHS: [&str; 24] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

/// The normaliser of one text.
pub(super) struct Normaliser<'a> {
    /// The start of the world, at noon in UTC.
    start: Timestamp,
    /// The values with a name of their own, the longest first.
    names: &'a [(String, String)],
    placeholders: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
}

/// Returns the text with placeholders.
pub(super) fn normalised(text: &str, start: Timestamp, names: &[(String, String)]) -> String {
    let mut normaliser = Normaliser {
        start,
        names,
        placeholders: HashMap::new(),
        counts: HashMap::new(),
    };
    normaliser.text(text)
}

impl Normaliser<'_> {
    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in self.names {
            text = text.replace(value, name);
        }
        let text = self.blocks(&text);
        self.words(&text)
    }

    /// Replaces PEM blocks, with line ends or with the escapes of JSON, and base64 in XML.
    fn blocks(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (kind, start, end) in [
            ("pem", "-----BEGIN ", "-----END "),
            ("qr code", "shape-rendering=", "</svg>"),
            ("qr code", "data:image/svg+xml,", "\""),
            (
                "certificate",
                "<ds:X509Certificate>",
                "</ds:X509Certificate>",
            ),
            ("signature", "<ds:SignatureValue>", "</ds:SignatureValue>"),
            ("xml digest", "<ds:DigestValue>", "</ds:DigestValue>"),
        ] {
            let mut parts = text.split(start);
            let mut replaced = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                replaced.push_str(start);
                match part.split_once(end) {
                    Some((value, rest)) => {
                        replaced.push_str(&self.placeholder(kind, value));
                        replaced.push_str(end);
                        replaced.push_str(rest);
                    }
                    None => replaced.push_str(part),
                }
            }
            text = replaced;
        }
        text
    }

    fn words(&mut self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if length == 0 {
                replaced.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            if let Some((length, label)) = self.time(rest) {
                replaced.push_str(&label);
                rest = &rest[length..];
                continue;
            }
            if let Some(length) = sealed_length(rest) {
                let label = self.placeholder("sealed", &rest[..length]);
                replaced.push_str(&label);
                rest = &rest[length..];
                continue;
            }
            let (word, after) = rest.split_at(length);
            if replaced.ends_with("/.") && word.starts_with("tmp") {
                replaced.push_str(&self.placeholder("folder", word));
                rest = after;
                continue;
            }
            let is_port = ["localhost:", "127.0.0.1:"]
                .iter()
                .any(|host| replaced.ends_with(host));
            if is_port && word.len() > 3 {
                replaced.push_str(&self.placeholder("port", word));
                rest = after;
                continue;
            }
            // A digest in base64url may look like a name.
            if replaced.ends_with("\"at_hash\":\"") {
                replaced.push_str(&self.placeholder("random", word));
                rest = after;
                continue;
            }
            let is_number = replaced.ends_with('.') || after.starts_with('.');
            match self.word(word, is_number, replaced.ends_with('>')) {
                Some(label) => replaced.push_str(&label),
                None => replaced.push_str(word),
            }
            rest = after;
        }
        replaced
    }

    /// Returns the length and the placeholder of the time or date at the beginning of the text.
    fn time(&self, text: &str) -> Option<(usize, String)> {
        let is_date = |text: &str| {
            let shape = text.bytes().map(|byte| match byte {
                b'0'..=b'9' => b'0',
                other => other,
            });
            shape.eq(*b"0000-00-00") && text >= "2020"
        };
        if let Some(constant) = CONSTANT_TIMES.iter().find(|time| text.starts_with(**time)) {
            return Some((constant.len(), (*constant).to_owned()));
        }
        if let Some((length, date)) = date_in_words(text) {
            return self.date(date).map(|label| (length, label));
        }
        let date = text.get(..10).filter(|text| is_date(text))?;
        if text[10..].starts_with('T') {
            let is_part = |c: char| c.is_ascii_digit() || matches!(c, 'T' | 'Z' | ':' | '.' | '+');
            let length = 10 + text[10..].find(|c| !is_part(c)).unwrap_or(text.len() - 10);
            let length = text[..length].trim_end_matches(['.', ':']).len();
            let at: Timestamp = text[..length].parse().ok()?;
            return self.is_near(at).then(|| (length, self.offset(at)));
        }
        self.date(date.parse().ok()?).map(|label| (10, label))
    }

    /// Returns the placeholder of a date that depends on the start.
    fn date(&self, date: Date) -> Option<String> {
        let first = self.start.to_zoned(jiff::tz::TimeZone::UTC).date();
        let days = (date - first).get_days();
        (days.abs() < 20 * 366).then(|| format!("<date {days:+}>"))
    }

    /// Whether a time depends on the start. Others are constants.
    fn is_near(&self, at: Timestamp) -> bool {
        (at.as_second() - self.start.as_second()).abs() < 20 * 366 * 86_400
    }

    /// Returns the distance of a time from the start, in days or seconds.
    fn offset(&self, at: Timestamp) -> String {
        let millis = at.as_millisecond() - self.start.as_millisecond();
        // The instance started up to 36 hours before the noon, and its first key and token are of that time.
        if (-129_600_000..0).contains(&millis) && millis % 3_600_000 != 0 {
            return "<before the start>".to_owned();
        }
        if millis == 0 {
            "<start>".to_owned()
        } else if millis % 86_400_000 == 0 {
            format!("<start {:+}d>", millis / 86_400_000)
        } else if millis % 1000 == 0 {
            format!("<start {:+}s>", millis / 1000)
        } else {
            format!("<start {millis:+}ms>")
        }
    }

    fn word(&mut self, word: &str, is_part_of_number: bool, is_in_element: bool) -> Option<String> {
        let is_capital_hex = |b: u8| b.is_ascii_digit() || (b'A'..=b'F').contains(&b);
        let is_capital = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
        // The reference of an error page, and the short code of a user. Only digits can also be a number, except in an
        // element of a page.
        if word.len() == 8
            && word.bytes().all(is_capital_hex)
            && (is_in_element || word.bytes().any(|byte| byte.is_ascii_uppercase()))
        {
            return Some(self.placeholder("reference", word));
        }
        let is_digits = word.bytes().all(|byte| byte.is_ascii_digit());
        if is_digits && !is_part_of_number {
            let number: i64 = word.parse().ok()?;
            let at = match word.len() {
                10 => Timestamp::from_second(number).ok()?,
                13 => Timestamp::from_millisecond(number).ok()?,
                _ => return None,
            };
            return self.is_near(at).then(|| self.offset(at));
        }
        if word.len() == 10 && word.bytes().all(is_capital) {
            return Some(self.placeholder("short code", word));
        }
        if let Some((start, end)) = word.split_once('-')
            && start.len() == 16
            && [start, end].iter().all(|part| part.bytes().all(is_hex))
        {
            return Some(self.placeholder("request", word));
        }
        // A time after a name, such as `waiting-1795956509000`.
        if let Some((start, time)) = word.rsplit_once('-')
            && time.len() == 13
            && time.bytes().all(|byte| byte.is_ascii_digit())
        {
            let at = Timestamp::from_millisecond(time.parse().ok()?).ok()?;
            return self
                .is_near(at)
                .then(|| format!("{start}-{}", self.offset(at)));
        }
        // Such as the nonce of a policy.
        if let Some((start, hex)) = word.rsplit_once('-')
            && hex.len() >= 16
            && hex.bytes().all(is_hex)
        {
            let label = self.placeholder("hex", hex);
            return Some(format!("{start}-{label}"));
        }
        let hex = word.trim_start_matches('_');
        if hex.len() >= 16 && hex.bytes().all(is_hex) {
            let kind = match hex.len() {
                32 => "id",
                64 => "digest",
                _ => "hex",
            };
            let label = self.placeholder(kind, hex);
            return Some(word.replace(hex, &label));
        }
        is_random(word).then(|| self.placeholder("random", word))
    }

    fn placeholder(&mut self, kind: &'static str, value: &str) -> String {
        if let Some(known) = self.placeholders.get(value) {
            return known.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let label = format!("<{kind} {count}>");
        self.placeholders.insert(value.to_owned(), label.clone());
        label
    }
}

/// Returns the length and the date of a date in words at the beginning of the text, such as `1 December 2026` or
/// `1. Dezember 2026`.
fn date_in_words(text: &str) -> Option<(usize, Date)> {
    let mut words = text.splitn(3, ' ');
    let day = words.next()?;
    let month = words.next()?;
    let year = words.next()?.get(..4)?;
    let number = MONTHS.iter().position(|name| *name == month)? % 12 + 1;
    let date = Date::new(
        year.parse().ok()?,
        i8::try_from(number).ok()?,
        day.trim_end_matches('.').parse().ok()?,
    );
    Some((day.len() + month.len() + year.len() + 2, date.ok()?))
}

/// Returns the length of a sealed value at the beginning of the text: the version of the key, and base64.
fn sealed_length(text: &str) -> Option<usize> {
    let sealed = text.strip_prefix("1.")?;
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let length = sealed.find(|c| !is_base64(c)).unwrap_or(sealed.len());
    (length >= 40).then_some(length + 2)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Whether a word is a random value in base64url. Names of members and elements consist of words, which have at least
/// two letters after their first one, or of capitals only.
fn is_random(word: &str) -> bool {
    if word.len() < SHORTEST_RANDOM || !word.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return false;
    }
    let is_name = |part: &str| {
        // At most one letter of three is a capital in a long part.
        let of_all = part.bytes().filter(u8::is_ascii_uppercase).count();
        if part.len() > 12 && of_all < part.len() && 3 * of_all > part.len() {
            return false;
        }
        let mut capitals = 0;
        let mut small = 3;
        for c in part.chars() {
            if c.is_ascii_lowercase() {
                capitals = 0;
                small += 1;
            } else if c.is_ascii_uppercase() {
                if small < 2 && capitals == 0 {
                    return false;
                }
                capitals += 1;
                small = 0;
            } else {
                return false;
            }
        }
        true
    };
    !word.split(['-', '_']).all(is_name)
}
