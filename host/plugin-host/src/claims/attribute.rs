//! Attributes of SAML assertions, and the values that XML permits.

use base64::Engine;

/// An attribute of the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1). XML 1.0 can represent every
/// text in it. The writer of the XML must escape the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamlAttribute {
    /// `Name`.
    pub name: String,
    /// `NameFormat`. It is never the basic format, which is the default (SAML 2.0 Core, section 8.2.3).
    pub name_format: Option<String>,
    /// `FriendlyName`.
    pub friendly_name: Option<String>,
    /// The type of the values.
    pub value_type: ValueType,
    /// The values; each becomes an `AttributeValue`.
    pub values: Vec<String>,
}

/// The `NameFormat` of an attribute without one (SAML 2.0 Core, section 8.2.3).
pub(super) const BASIC: &str = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";

/// The type of an attribute's values (XML Schema Part 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "camelCase", prefix = "xs:")]
pub enum ValueType {
    /// `xs:string`
    String,
    /// `xs:boolean`
    Boolean,
    /// `xs:integer`
    Integer,
    /// `xs:dateTime`
    DateTime,
    /// `xs:anyURI`
    #[strum(serialize = "anyURI")]
    AnyUri,
    /// `xs:base64Binary`
    Base64Binary,
}
assent_model::enum_texts!(ValueType);

impl ValueType {
    /// Returns whether a value is valid for this type.
    pub(super) fn admits(self, value: &str) -> bool {
        match self {
            Self::String => true,
            Self::Boolean => matches!(value, "true" | "false" | "1" | "0"),
            Self::Integer => {
                let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::DateTime => value.contains('T') && value.parse::<jiff::Timestamp>().is_ok(),
            Self::AnyUri => !value.contains(char::is_whitespace),
            Self::Base64Binary => base64::engine::general_purpose::STANDARD
                .decode(value)
                .is_ok(),
        }
    }
}

/// Returns whether the character is a `Char` of XML 1.0, section 2.2.
pub(super) fn is_xml_char(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_types_admit_their_values() {
        for (value_type, good, bad) in [
            (ValueType::Boolean, "true", "yes"),
            (ValueType::Integer, "-42", "4.2"),
            (ValueType::Integer, "+7", "+"),
            (ValueType::DateTime, "2026-11-21T08:00:00Z", "yesterday"),
            (ValueType::AnyUri, "urn:x", "a b"),
            (ValueType::Base64Binary, "AAEC", "A*"),
        ] {
            assert!(
                value_type.admits(good) && !value_type.admits(bad),
                "{good} {bad}"
            );
        }
    }

    #[test]
    fn characters_that_xml_cannot_contain_are_detected() {
        assert!("a <b> & \u{1f600}\n".chars().all(is_xml_char));
        for bad in ['\0', '\u{b}', '\u{fffe}', '\u{ffff}'] {
            assert!(!is_xml_char(bad));
        }
    }
}
