//! The text of a value in an assertion, by its type (XML Schema Part 2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::claims::ValueType;

/// Returns the text of a value with this type. `None` if the value does not have the type. A `date_time` may also be in
/// seconds since the Unix epoch, as in OpenID Connect. It is written in UTC.
pub fn write(value_type: ValueType, text: String) -> Option<String> {
    match value_type {
        ValueType::String => Some(text),
        ValueType::Boolean => {
            Some(text).filter(|text| matches!(text.as_str(), "true" | "false" | "1" | "0"))
        }
        ValueType::Integer => Some(text).filter(|text| {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        }),
        ValueType::DateTime => {
            let moment = match text.parse() {
                Ok(seconds) => Timestamp::from_second(seconds).ok(),
                // A date without a time is another type.
                Err(_) => text.parse().ok().filter(|_| text.contains('T')),
            };
            moment.map(|moment| moment.to_string())
        }
        ValueType::AnyUri => Some(text).filter(|text| !text.contains(char::is_whitespace)),
        ValueType::Base64Binary => Some(text).filter(|text| STANDARD.decode(text).is_ok()),
    }
}

/// Returns the type's name in settings.
pub fn name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::String => "string",
        ValueType::Boolean => "boolean",
        ValueType::Integer => "integer",
        ValueType::DateTime => "date_time",
        ValueType::AnyUri => "any_uri",
        ValueType::Base64Binary => "base64_binary",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written_text(value_type: ValueType, text: &str) -> Option<String> {
        write(value_type, text.to_owned())
    }

    #[test]
    fn a_value_of_its_type_is_unchanged() {
        for (value_type, text) in [
            (ValueType::String, " any <text> "),
            (ValueType::Boolean, "true"),
            (ValueType::Boolean, "0"),
            (ValueType::Integer, "-42"),
            (ValueType::Integer, "100000000000000000000000000000"),
            (ValueType::AnyUri, "urn:example:ada"),
            (ValueType::Base64Binary, "YQ=="),
        ] {
            assert_eq!(written_text(value_type, text).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_date_time_is_written_in_utc() {
        for text in [
            "2027-01-15T08:00:00Z",
            "2027-01-15T09:00:00+01:00",
            "1800000000",
        ] {
            assert_eq!(
                written_text(ValueType::DateTime, text).as_deref(),
                Some("2027-01-15T08:00:00Z"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_value_of_another_type_is_rejected() {
        for (value_type, text) in [
            (ValueType::Boolean, "yes"),
            (ValueType::Boolean, ""),
            (ValueType::Integer, "4.2"),
            (ValueType::Integer, "-"),
            (ValueType::Integer, "٤٢"),
            (ValueType::DateTime, "2027-01-15"),
            (ValueType::DateTime, "2027-01-15 08:00:00Z"),
            (ValueType::DateTime, "2027-01-15T08:00:00"),
            (ValueType::DateTime, "9223372036854775807"),
            (ValueType::AnyUri, "not a uri"),
            (ValueType::Base64Binary, "YQ"),
        ] {
            assert_eq!(written_text(value_type, text), None, "{text}");
        }
    }
}
