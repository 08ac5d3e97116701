//! The connection settings for PostgreSQL's own programs.

use std::ffi::OsString;

use crate::engine::postgres_url::{PostgresSettings, TargetSession, TlsTexts};

/// The environment variables of libpq for the same database. They contain the password, because arguments are visible
/// to all users of a machine, and the environment is not.
pub(super) fn variables(url: &PostgresSettings) -> Vec<(&'static str, OsString)> {
    let list = |values: Vec<String>| values.join(",");
    let (mode, root) = verification(&url.tls_texts);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let session = match url.session {
        TargetSession::Any => "any",
        TargetSession::ReadWrite => "read-write",
        TargetSession::ReadOnly => "read-only",
    };
    let timeout = url.connect_timeout.map(|limit| limit.as_secs().to_string());
    let variables = [
        (
            "PGHOST",
            list(url.hosts.iter().map(|host| host.name()).collect()),
        ),
        (
            "PGPORT",
            list(
                url.hosts
                    .iter()
                    .map(|host| host.port().to_string())
                    .collect(),
            ),
        ),
        ("PGUSER", url.user.clone()),
        ("PGPASSWORD", text(&url.password)),
        ("PGDATABASE", url.database.clone()),
        ("PGOPTIONS", url.options.clone()),
        ("PGSSLMODE", text(&mode)),
        ("PGSSLROOTCERT", text(&root)),
        ("PGSSLCERT", text(&url.tls_texts.certificate)),
        ("PGSSLKEY", text(&url.tls_texts.key)),
        ("PGCONNECT_TIMEOUT", text(&timeout)),
        ("PGTARGETSESSIONATTRS", session.to_owned()),
    ];
    let set = variables.into_iter().filter(|(_, value)| !value.is_empty());
    set.map(|(name, value)| (name, value.into())).collect()
}

/// The values of libpq's `sslmode` and `sslrootcert`. Without a root certificate Assent uses those of the system. libpq
/// does so only if it also verifies the name.
fn verification(texts: &TlsTexts) -> (Option<String>, Option<String>) {
    match (texts.mode.as_deref(), &texts.root) {
        (Some("verify-ca" | "verify-full"), None) => {
            (Some("verify-full".to_owned()), Some("system".to_owned()))
        }
        (mode, root) => (mode.map(str::to_owned), root.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::sql::Options;

    fn variables(url: &str) -> BTreeMap<&'static str, String> {
        let options = Options::postgres(url, "-c statement_timeout=1", None).unwrap();
        let variables = options.postgres_variables().into_iter();
        variables
            .map(|(name, value)| (name, value.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn a_url_becomes_variables() {
        let all = variables(
            "postgres://ada:p%40ss@db.example:5433/books?sslmode=require\
             &options=-c%20search_path%3Dassent&connect_timeout=7",
        );
        for (name, value) in [
            ("PGHOST", "db.example"),
            ("PGPORT", "5433"),
            ("PGUSER", "ada"),
            ("PGPASSWORD", "p@ss"),
            ("PGDATABASE", "books"),
            ("PGSSLMODE", "require"),
            // The value does not contain Assent's own session limits, because a dump takes longer.
            ("PGOPTIONS", "-c search_path=assent"),
            ("PGCONNECT_TIMEOUT", "7"),
        ] {
            assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
        }
    }

    #[test]
    fn a_socket_is_a_host() {
        let all = variables("postgres://ada@localhost/books?host=/run/postgresql");
        assert_eq!(all["PGHOST"], "/run/postgresql");
        assert!(
            !all.contains_key("PGPASSWORD") && !all.contains_key("PGSSLMODE"),
            "{all:?}"
        );
    }

    #[test]
    fn a_cluster_has_several_hosts() {
        let all = variables(
            "postgres://ada@one.example:5433,two.example:5434/books?target_session_attrs=read-write",
        );
        assert_eq!(all["PGHOST"], "one.example,two.example");
        assert_eq!(all["PGPORT"], "5433,5434");
        assert_eq!(all["PGTARGETSESSIONATTRS"], "read-write");
    }

    #[test]
    fn without_a_root_certificate_those_of_the_system_are_used() {
        for mode in ["verify-ca", "verify-full"] {
            let mut url = TlsTexts {
                mode: Some(mode.to_owned()),
                ..TlsTexts::default()
            };
            let texts = |url: &TlsTexts| {
                let (mode, root) = verification(url);
                (mode.unwrap_or_default(), root.unwrap_or_default())
            };
            assert_eq!(texts(&url), ("verify-full".to_owned(), "system".to_owned()));
            url.root = Some("/ca.pem".to_owned());
            assert_eq!(texts(&url), (mode.to_owned(), "/ca.pem".to_owned()));
        }
    }
}
