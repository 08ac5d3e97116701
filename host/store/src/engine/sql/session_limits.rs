//! The limits of a session on PostgreSQL. A pooler between Assent and PostgreSQL may drop them, and then a statement of
//! one instance could hold up all others.

/// The limits that each session must have, in milliseconds.
const LIMITS: [&str; 3] = [
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];

/// What to do about a pooler.
pub(super) const POOLER: &str = "a pooler such as PgBouncer is in between, and does not pass on the settings of the \
                                 session; connect to PostgreSQL itself, or use a pooler in session mode and set the \
                                 limits for the role, as docs/operators/database.md shows";

/// The statement that reads the limits, as names and values.
pub(super) const READ: &str = "SELECT name, setting FROM pg_settings WHERE name IN ('statement_timeout', \
                               'lock_timeout', 'idle_in_transaction_session_timeout')";

/// Whether libpq's `options` set this setting, in one of the forms `-c name=value`, `-cname=value` and `--name=value`.
pub(super) fn sets(options: &str, name: &str) -> bool {
    options.split_whitespace().any(|word| {
        let setting = word.strip_prefix("--").or_else(|| word.strip_prefix("-c"));
        let (set, _) = setting.unwrap_or(word).split_once('=').unwrap_or_default();
        set.replace('-', "_").eq_ignore_ascii_case(name)
    })
}

/// Returns the limits in `session`, in the form of libpq's `options`, except those that `own` replaces.
pub(super) fn parse_limits(session: &str, own: &str) -> Vec<(String, String)> {
    let settings = session.split_whitespace().filter(|word| *word != "-c");
    settings
        .filter_map(|setting| setting.split_once('='))
        .filter(|(name, _)| LIMITS.contains(name) && !sets(own, name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns why a session may not be used, if one of its limits is missing or longer than requested. 0 is no limit.
pub(super) fn missing_limit(
    requested: &[(String, String)],
    found: &[(String, String)],
) -> Option<String> {
    let actual = |name: &str| {
        let (_, value) = found.iter().find(|(known, _)| known == name)?;
        value.parse::<u64>().ok()
    };
    let (name, value) = requested.iter().find(|(name, value)| {
        let most = value.parse::<u64>().unwrap_or_default();
        let is_kept = |actual: u64| (1..=most).contains(&actual);
        most > 0 && !actual(name).is_some_and(is_kept)
    })?;
    let actual = actual(name).unwrap_or_default();
    Some(format!(
        "the session has {name}={actual} and not {value}: {POOLER}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(owned).collect()
    }

    #[test]
    fn the_limits_of_the_url_are_not_compared() {
        let session =
            "-c client_min_messages=warning -c statement_timeout=5000 -c lock_timeout=4000";
        let limits = [("statement_timeout", "5000"), ("lock_timeout", "4000")];
        assert_eq!(parse_limits(session, ""), pairs(&limits));
        for own in [
            "-c lock_timeout=2s",
            "-clock_timeout=2s",
            "--lock-timeout=2s",
            "-c geqo=off -c LOCK_TIMEOUT=2s",
        ] {
            assert_eq!(parse_limits(session, own), pairs(&limits[..1]), "{own}");
        }
        // Another setting with the name in its name.
        let own = "-c deadlock_timeout=2s";
        assert_eq!(parse_limits(session, own), pairs(&limits));
    }

    #[test]
    fn a_missing_limit_names_the_pooler() {
        let limits = pairs(&[("lock_timeout", "4000")]);
        assert_eq!(missing_limit(&limits, &limits), None);
        assert_eq!(
            missing_limit(&limits, &pairs(&[("lock_timeout", "3000")])),
            None
        );
        // Migrations take as long as they need, or as the role permits.
        let unlimited = pairs(&[("lock_timeout", "0")]);
        assert_eq!(missing_limit(&unlimited, &limits), None);
        for found in [unlimited, pairs(&[("lock_timeout", "4001")]), Vec::new()] {
            let reason = missing_limit(&limits, &found).unwrap();
            assert!(
                reason.contains("lock_timeout=") && reason.contains("PgBouncer"),
                "{reason}"
            );
        }
    }
}
