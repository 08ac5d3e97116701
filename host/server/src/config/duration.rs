//! Durations in the settings: text with units, such as `90s`, `10m` or `7d`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The accepted form: the units of [`UNITS`] only. `humantime` accepts more units, of which `M` for months is easily
/// confused with `m`.
const PATTERN: &str = "^[0-9]+(ms|s|m|h|d|w)( ?[0-9]+(ms|s|m|h|d|w))*$";
/// The units, and their lengths in milliseconds.
const UNITS: [(&str, u128); 6] = [
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// A duration that settings contain as text with units. A number without a unit is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(Duration);

impl HumanDuration {
    /// The zero duration, which disables some settings.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// Returns a duration of this number of milliseconds.
    pub const fn millis(count: u64) -> Self {
        Self(Duration::from_millis(count))
    }

    /// Returns a duration of this number of seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(Duration::from_secs(count))
    }

    /// Returns a duration of this number of minutes.
    pub const fn minutes(count: u64) -> Self {
        Self::seconds(count * 60)
    }

    /// Returns a duration of this number of hours.
    pub const fn hours(count: u64) -> Self {
        Self::minutes(count * 60)
    }

    /// Returns a duration of this number of days.
    pub const fn days(count: u64) -> Self {
        Self::hours(count * 24)
    }

    /// Returns the duration.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Returns the whole seconds, for protocols and pages that use them.
    pub fn whole_seconds(self) -> u32 {
        u32::try_from(self.0.as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    /// Reports a setting outside of the range. If the range begins with whole seconds, only whole seconds are valid.
    pub(super) fn check(
        self,
        key: &str,
        range: RangeInclusive<Self>,
        expect: &mut impl FnMut(bool, &str, &str),
    ) {
        let (least, most) = range.into_inner();
        expect(
            (least..=most).contains(&self),
            key,
            &format!("expected {least} to {most}"),
        );
        expect(
            self.0.subsec_nanos() == 0 || least.0.subsec_nanos() != 0,
            key,
            "expected whole seconds",
        );
    }
}

/// Returns whether the text has the form of [`PATTERN`].
fn is_well_formed(text: &str) -> bool {
    let mut rest = text;
    loop {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let letters = unit.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let name = unit.get(..unit.len() - letters.len()).unwrap_or_default();
        if unit.len() == rest.len() || !UNITS.iter().any(|(known, _)| *known == name) {
            return false;
        }
        if letters.is_empty() {
            return true;
        }
        rest = letters.strip_prefix(' ').unwrap_or(letters);
    }
}

/// Writes the duration in the largest unit that divides it, so that `90s` stays `90s` and a day is `1d`.
impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        // Weeks are valid as input, but the output uses days, because they are easier to compare.
        let (unit, length) = UNITS
            .into_iter()
            .skip(1)
            .find(|(_, length)| millis.is_multiple_of(*length))
            .unwrap_or(("ms", 1));
        write!(f, "{}{unit}", millis / length)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DurationVisitor;

        impl Visitor<'_> for DurationVisitor {
            type Value = HumanDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"90s\", \"10m\" or \"7d\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Some(text)
                    .filter(|text| is_well_formed(text))
                    .and_then(|text| humantime::parse_duration(text).ok())
                    .map(HumanDuration)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(DurationVisitor)
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration: a number with a unit (`ms`, `s`, `m`, `h`, `d` or `w`), or several of them.",
            "type": "string",
            "pattern": PATTERN,
            "examples": ["90s", "10m", "1h 30m", "7d"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HumanDuration, String> {
        serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn durations_are_read_and_written_with_their_units() {
        for (text, seconds, written) in [
            ("90s", 90, "90s"),
            ("10m", 600, "10m"),
            ("1h 30m", 5400, "90m"),
            ("1h30m", 5400, "90m"),
            ("24h", 86_400, "1d"),
            ("2w", 14 * 86_400, "14d"),
            ("400d", 400 * 86_400, "400d"),
            ("0s", 0, "0s"),
            ("1000ms", 1, "1s"),
        ] {
            let read = parse(text).unwrap();
            assert_eq!(read, HumanDuration::seconds(seconds), "{text}");
            assert_eq!(read.to_string(), written);
        }
        assert_eq!(parse("200ms").unwrap().to_string(), "200ms");
    }

    #[test]
    fn an_invalid_duration_is_rejected_with_examples() {
        let long = format!("{}d", u64::MAX);
        for text in [
            "", " ", "90", "0", "s", "1.5h", "-1s", "1M", "1y", "1 s", "10 m", "90S", "1h,30m",
            "1h  30m", "1h ", &long,
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains("expected a duration such as \"90s\", \"10m\" or \"7d\""),
                "{text}: {error}"
            );
        }
        assert!(serde_json::from_str::<HumanDuration>("90").is_err());
    }

    #[test]
    fn a_range_is_reported_in_the_same_units() {
        let report = |value: HumanDuration, range| {
            let mut found = Vec::new();
            value.check("key", range, &mut |good, key, expected: &str| {
                if !good {
                    found.push(format!("{key}: {expected}"));
                }
            });
            found
        };
        let minutes = HumanDuration::seconds(1)..=HumanDuration::minutes(10);
        assert_eq!(report(HumanDuration::minutes(10), minutes.clone()), [""; 0]);
        assert_eq!(
            report(HumanDuration::ZERO, minutes.clone()),
            ["key: expected 1s to 10m"]
        );
        assert_eq!(
            report(HumanDuration::millis(1500), minutes),
            ["key: expected whole seconds"]
        );
        let millis = HumanDuration::millis(10)..=HumanDuration::minutes(1);
        assert_eq!(report(HumanDuration::millis(1500), millis), [""; 0]);
    }
}
