//! The languages of the pages, and the selection of one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language of the pages. Each has its file of messages.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// German.
    #[serde(rename = "de")]
    German,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// Returns the BCP 47 tag, for `lang` and `Content-Language`.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// Returns the direction of the script, for `dir`: `ltr` or `rtl`.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::English | Self::German => "ltr",
        }
    }

    /// Returns the language of the first matching range (RFC 4647 section 3.4): `de-AT` matches `de`. A wildcard
    /// matches no language.
    pub fn of_ranges<'a>(ranges: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        ranges.into_iter().find_map(Self::of_range)
    }

    fn of_range(range: &str) -> Option<Self> {
        // The supported tags have one subtag, so the lookup truncates a range to its first subtag.
        let primary = range.split('-').next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// Returns the supported language that an `Accept-Language` header prefers (RFC 9110 section 12.5.4), if there is
    /// one.
    pub fn of_header(header: &str) -> Option<Self> {
        let mut ranges: Vec<(&str, u16)> = header
            .split(',')
            .take(MOST_RANGES)
            .filter_map(parse_range)
            .collect();
        // The sort is stable, so ranges of equal weight keep their order.
        ranges.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        Self::of_ranges(ranges.into_iter().map(|(range, _)| range))
    }
}

/// The maximum number of ranges of a header that are parsed.
const MOST_RANGES: usize = 32;

/// Parses a range and its weight in thousandths. Returns `None` for the weight zero or an invalid weight.
fn parse_range(item: &str) -> Option<(&str, u16)> {
    let (range, weight) = item.split_once(';').unwrap_or((item, "q=1"));
    let (name, value) = weight.trim().split_once('=')?;
    let value: f32 = value.parse().ok()?;
    let fits = name.eq_ignore_ascii_case("q") && value > 0.0 && value <= 1.0;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 0 to 1,000"
    )]
    fits.then_some((range.trim(), (value * 1000.0) as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supported_language_with_the_greatest_weight_is_selected() {
        for (header, language) in [
            ("de", Some(Language::German)),
            ("de-AT", Some(Language::German)),
            ("DE-Latn-CH-1996, en", Some(Language::German)),
            ("fr-FR, de;q=0.5, en;q=0.8", Some(Language::English)),
            (
                "fr, de-DE;q=0.9, de;q=0.8, en-US;q=0.7",
                Some(Language::German),
            ),
            ("en;q=0.5,de;q=0.5", Some(Language::English)),
            ("en;q=0, de;q=0.1", Some(Language::German)),
            ("en;q=2, de;Q=1.000", Some(Language::German)),
            ("en;q=NaN, en;level=1", None),
            ("*", None),
            ("fr", None),
            ("deutsch, d", None),
            ("", None),
            (";;,-,=", None),
        ] {
            assert_eq!(Language::of_header(header), language, "{header}");
        }
        assert_eq!(
            Language::of_ranges("se de-CH en".split(' ')),
            Some(Language::German)
        );
        assert_eq!(Language::of_ranges([]), None);
    }

    #[test]
    fn a_language_is_written_as_its_tag() {
        for language in Language::ALL {
            assert_eq!(serde_json::json!(language), language.tag());
        }
    }
}
