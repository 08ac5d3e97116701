//! Colours and their contrast.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A colour of sRGB, written as `#0b5a6e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour([u8; 3]);

impl Colour {
    /// Returns the colour with these parts of red, green and blue.
    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self([red, green, blue])
    }

    /// Returns a mixture with another colour. `hundredths` is the share of the other colour, in percent.
    pub fn mixed(self, other: Self, hundredths: u8) -> Self {
        let share = u32::from(hundredths.min(100));
        let [red, green, blue] = [0, 1, 2].map(|at| {
            let part = |colour: Self| u32::from(colour.0.get(at).copied().unwrap_or_default());
            u8::try_from((part(self) * (100 - share) + part(other) * share + 50) / 100)
                .unwrap_or(u8::MAX)
        });
        Self([red, green, blue])
    }

    /// Returns the contrast with another colour, from 1 to 21 (WCAG 2.2, "contrast ratio").
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Returns the relative luminance (WCAG 2.2, "relative luminance").
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

/// A text that is not a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a colour such as \"#0b5a6e\"")]
pub struct ColourError;

impl FromStr for Colour {
    type Err = ColourError;

    fn from_str(text: &str) -> Result<Self, ColourError> {
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6)
            .ok_or(ColourError)?;
        let bytes = hex::decode(digits).map_err(|_| ColourError)?;
        bytes.try_into().map(Self).map_err(|_| ColourError)
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", hex::encode(self.0))
    }
}

impl Serialize for Colour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Colour {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Colour {
    fn schema_name() -> Cow<'static, str> {
        "Colour".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(text: &str) -> Colour {
        text.parse().unwrap()
    }

    #[test]
    fn contrast_follows_wcag() {
        let [black, white, grey] = ["#000000", "#ffffff", "#767676"].map(colour);
        assert!(
            (black.contrast(white) - 21.0).abs() < 1e-9
                && (white.contrast(white) - 1.0).abs() < 1e-9
        );
        // The lightest grey with sufficient contrast on white.
        assert!(grey.contrast(white) >= 4.5 && colour("#777777").contrast(white) < 4.5);
    }

    #[test]
    fn colours_are_mixed_by_component() {
        assert_eq!(
            colour("#000000").mixed(colour("#ff8000"), 50),
            colour("#804000")
        );
        assert_eq!(
            colour("#0B5A6E")
                .mixed(Colour::new(255, 255, 255), 0)
                .to_string(),
            "#0b5a6e"
        );
    }

    #[test]
    fn invalid_colours_are_rejected() {
        for text in [
            "",
            "red",
            "0b5a6e",
            "#fff",
            "#0b5a6",
            "#0b5a6g",
            "#0b5a6e00",
            "#é0000",
        ] {
            assert_eq!(text.parse::<Colour>(), Err(ColourError), "{text}");
        }
    }
}
