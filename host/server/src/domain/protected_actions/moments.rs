//! Times in summaries.

use assent_model::clock::Timestamp;

/// Returns the date of a time, in UTC: "2026-11-24".
pub(super) fn date(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.seconds())
        .unwrap_or_default()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
        .to_string()
}

/// Returns a time to the second, in UTC: "2026-11-24 08:31:07". Two reports rarely have the same one.
pub(super) fn date_and_time(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_second(at.seconds()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}
