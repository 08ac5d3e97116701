//! Times in SAML's format: `xs:dateTime` in UTC (SAML core section 1.3.3). Some programs write another offset, which is
//! accepted because the time remains unambiguous.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use assent_model::clock::Timestamp;

/// Parses a time, such as `2026-11-21T08:00:00Z` or `2026-11-21T09:00:00.123456+01:00`. Digits below a millisecond are
/// dropped. Returns `None` for any other text, for an invalid time, and for a local time.
pub fn instant(text: &str) -> Option<Timestamp> {
    let (local, offset) = match text.strip_suffix('Z') {
        Some(local) => (local, 0),
        None => split_offset(text)?,
    };
    let (seconds, fraction) = local.split_once('.').unwrap_or((local, "0"));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // jiff accepts more formats than XML Schema.
    let shape: String = seconds
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    if shape != "0000-00-00T00:00:00"
        || fraction.is_empty()
        || !is_digits(fraction)
        || seconds.ends_with("60")
    {
        return None;
    }
    let moment = seconds
        .parse::<DateTime>()
        .ok()?
        .to_zoned(TimeZone::UTC)
        .ok()?
        .timestamp();
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some(Timestamp::from_millis(
        moment
            .as_millisecond()
            .checked_add(millis)?
            .checked_sub(offset)?,
    ))
}

/// Splits a text into the local time and its offset from UTC in milliseconds: `+hh:mm` or `-hh:mm`, 14 hours at most
/// (XML Schema part 2 section 3.2.7.3).
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let number = |text: &str| {
        let is_pair = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_pair.then(|| text.parse::<i64>().ok()).flatten()
    };
    let minutes = number(minutes).filter(|minutes| *minutes < 60)?;
    let total = number(hours)? * 60 + minutes;
    let millis = (total <= 14 * 60).then_some(total * 60_000)?;
    match sign {
        "+" => Some((local, millis)),
        "-" => Some((local, -millis)),
        _ => None,
    }
}

/// Formats a time, with milliseconds if it has any. A time outside the calendar's range becomes the nearest limit.
pub fn instant_text(at: Timestamp) -> String {
    let (first, last) = (
        jiff::Timestamp::MIN.as_millisecond(),
        jiff::Timestamp::MAX.as_millisecond(),
    );
    jiff::Timestamp::from_millisecond(at.millis().clamp(first, last))
        .unwrap_or(jiff::Timestamp::MAX)
        .to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: i64 = 1_795_248_000_000;

    #[test]
    fn instants_are_in_utc_or_have_an_offset() {
        let at = |text: &str| instant(text).map(Timestamp::millis);
        for (text, after) in [
            ("2026-11-21T08:00:00Z", 0),
            ("2026-11-21T08:00:00+00:00", 0),
            ("2026-11-21T08:00:00.0Z", 0),
            ("2026-11-21T08:00:00.1Z", 100),
            ("2026-11-21T08:00:00.0019999Z", 1),
            ("2026-11-21T08:00:00.12345678901234+00:00", 123),
            ("2026-11-21T08:00:00-00:00", 0),
            ("2026-11-21T09:00:00.5+01:00", 500),
            ("2026-11-21T02:30:00-05:30", 0),
            ("2026-11-20T18:00:00-14:00", 0),
        ] {
            assert_eq!(at(text), Some(AT + after), "{text}");
        }
        assert_eq!(
            instant_text(Timestamp::from_millis(AT)),
            "2026-11-21T08:00:00Z"
        );
        assert_eq!(
            instant_text(Timestamp::from_millis(AT + 120)),
            "2026-11-21T08:00:00.12Z"
        );
    }

    #[test]
    fn malformed_instants_are_rejected() {
        for text in [
            "",
            "Z",
            "2026-11-21T08:00:00",
            "2026-11-21T08:00:00z",
            "2026-11-21t08:00:00Z",
            "2026-11-21 08:00:00Z",
            "2026-11-21T08:00Z",
            "2026-11-21T08:00:00.Z",
            "2026-11-21T08:00:00,1Z",
            "2026-11-21T08:00:00.1.1Z",
            "2026-11-21T08:00:00.-1Z",
            "2026-11-21T08:00:00+14:01",
            "2026-11-21T08:00:00+01:60",
            "2026-11-21T08:00:00+1:00",
            "2026-11-21T08:00:00+0100",
            "2026-11-21T08:00:00 01:00",
            "2026-11-21T08:00:00++1:00",
            "2026-11-21T08:00:00Z+01:00",
            "2026-11-21T08:00:00ZZ",
            "2026-11-21T08:00:00Z[UTC]",
            "2026-11-21T08:00:60Z",
            "2026-11-21T24:00:00Z",
            "2026-11-31T08:00:00Z",
            "2025-02-29T08:00:00Z",
            "2026-00-01T08:00:00Z",
            "26-11-21T08:00:00Z",
            "12026-11-21T08:00:00Z",
            "-2026-11-21T08:00:00Z",
            " 2026-11-21T08:00:00Z",
            "20261121T080000Z",
            "２026-11-21T08:00:00Z",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn extreme_timestamps_have_a_text() {
        assert!(instant_text(Timestamp::from_millis(i64::MAX)).starts_with("9999-"));
        assert!(instant_text(Timestamp::from_millis(i64::MIN)).starts_with('-'));
    }

    proptest! {
        #[test]
        fn instants_round_trip_through_text(millis in -62_135_596_800_000i64..253_402_200_000_000) {
            let at = Timestamp::from_millis(millis);
            prop_assert_eq!(instant(&instant_text(at)), Some(at));
        }

        #[test]
        fn no_text_panics(
            text in any::<String>(),
            near in "[0-9]{1,5}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,12})?(Z|\\+00:00)?",
        ) {
            for text in [text, near] {
                if let Some(at) = instant(&text) {
                    prop_assert_eq!(instant(&instant_text(at)), Some(at));
                }
            }
        }
    }
}
