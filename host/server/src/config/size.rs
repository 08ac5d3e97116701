//! Sizes in the settings: text with units, such as `16MiB`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The units that the settings accept, each a power of 1024.
const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes that settings contain as text with a unit. A number without a unit is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanSize(u64);

impl HumanSize {
    /// Returns a size of this number of MiB.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// Returns the size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let (count, unit) = UNITS
            .into_iter()
            .find_map(|(name, length)| Some((text.strip_suffix(name)?, length)))?;
        let is_number = !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit());
        let count = is_number.then(|| count.parse::<u64>().ok()).flatten()?;
        count.checked_mul(unit).map(Self)
    }
}

/// Writes the size in the largest unit that divides it.
impl fmt::Display for HumanSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |length: u64| self.0 >= length && self.0.is_multiple_of(length);
        let (unit, length) = UNITS
            .into_iter()
            .find(|(_, length)| fits(*length))
            .unwrap_or(("KiB", 1 << 10));
        write!(f, "{}{unit}", self.0 / length)
    }
}

impl Serialize for HumanSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = HumanSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"512KiB\", \"16MiB\" or \"1GiB\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                HumanSize::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(SizeVisitor)
    }
}

impl JsonSchema for HumanSize {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size: a number with a unit, `KiB`, `MiB` or `GiB`.",
            "type": "string",
            "pattern": "^[0-9]+(KiB|MiB|GiB)$",
            "examples": ["512KiB", "16MiB"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_with_their_units() {
        for (text, bytes, written) in [
            ("16MiB", 16 << 20, "16MiB"),
            ("1024KiB", 1 << 20, "1MiB"),
            ("1536KiB", 1536 << 10, "1536KiB"),
            ("1GiB", 1 << 30, "1GiB"),
            ("0MiB", 0, "0KiB"),
        ] {
            let size: HumanSize = serde_json::from_value(text.into()).unwrap();
            assert_eq!(size.bytes(), bytes, "{text}");
            assert_eq!(size.to_string(), written);
        }
        for text in [
            "16",
            "16MB",
            "16 MiB",
            "MiB",
            "+1MiB",
            "-1MiB",
            "1.5MiB",
            "99999999999999999999GiB",
            "18446744073709551615GiB",
        ] {
            let error = serde_json::from_value::<HumanSize>(text.into())
                .unwrap_err()
                .to_string();
            assert!(error.contains("expected a size such as"), "{text}: {error}");
        }
    }
}
