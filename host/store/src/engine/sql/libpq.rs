//! The connection settings for PostgreSQL's own programs.

use std::ffi::OsString;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslNegotiation, TargetSessionAttrs};

/// The parameters of the URL that [`Config`] lacks, or contains only together with Assent's own settings.
#[derive(Clone, Debug, Default)]
pub(super) struct UrlSettings {
    pub(super) options: String,
    pub(super) ssl_mode: Option<String>,
    pub(super) root_certificate: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
}

/// The environment variables of libpq for the same database. They contain the password, because arguments are visible
/// to all users of a machine, and the environment is not.
pub(super) fn variables(config: &Config, url: &UrlSettings) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    let mut set = |name, value: OsString| {
        if !value.is_empty() {
            variables.push((name, value));
        }
    };
    set("PGHOST", hosts(config.get_hosts()));
    set("PGHOSTADDR", list(config.get_hostaddrs()));
    set("PGPORT", list(config.get_ports()));
    set(
        "PGUSER",
        config.get_user().unwrap_or_default().to_owned().into(),
    );
    set(
        "PGPASSWORD",
        text_of(config.get_password().unwrap_or_default()),
    );
    set(
        "PGDATABASE",
        config.get_dbname().unwrap_or_default().to_owned().into(),
    );
    set("PGOPTIONS", url.options.clone().into());
    let (mode, root) = verification(url);
    set("PGSSLMODE", mode.unwrap_or_default().into());
    set("PGSSLROOTCERT", root.unwrap_or_default().into());
    set(
        "PGSSLCERT",
        url.certificate.clone().unwrap_or_default().into(),
    );
    set("PGSSLKEY", url.key.clone().unwrap_or_default().into());
    if config.get_ssl_negotiation() == SslNegotiation::Direct {
        set("PGSSLNEGOTIATION", "direct".into());
    }
    if let Some(timeout) = config.get_connect_timeout() {
        set(
            "PGCONNECT_TIMEOUT",
            timeout.as_secs().max(1).to_string().into(),
        );
    }
    let session = match config.get_target_session_attrs() {
        TargetSessionAttrs::ReadWrite => "read-write",
        TargetSessionAttrs::ReadOnly => "read-only",
        _ => "any",
    };
    set("PGTARGETSESSIONATTRS", session.into());
    let binding = match config.get_channel_binding() {
        ChannelBinding::Disable => "disable",
        ChannelBinding::Require => "require",
        _ => "prefer",
    };
    set("PGCHANNELBINDING", binding.into());
    variables
}

/// The values of libpq's `sslmode` and `sslrootcert`. Without a root certificate Assent uses those of the system. libpq
/// does so only if it also verifies the name.
fn verification(url: &UrlSettings) -> (Option<String>, Option<String>) {
    match (url.ssl_mode.as_deref(), &url.root_certificate) {
        (Some("verify-ca" | "verify-full"), None) => {
            (Some("verify-full".to_owned()), Some("system".to_owned()))
        }
        (mode, root) => (mode.map(str::to_owned), root.clone()),
    }
}

fn hosts(hosts: &[Host]) -> OsString {
    let names: Vec<OsString> = hosts
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.into(),
            Host::Unix(folder) => folder.clone().into_os_string(),
        })
        .collect();
    names.join(std::ffi::OsStr::new(","))
}

fn list<T: ToString>(values: &[T]) -> OsString {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(",").into()
}

fn text_of(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec())
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
            let mut url = UrlSettings {
                ssl_mode: Some(mode.to_owned()),
                ..UrlSettings::default()
            };
            let texts = |url: &UrlSettings| {
                let (mode, root) = verification(url);
                (mode.unwrap_or_default(), root.unwrap_or_default())
            };
            assert_eq!(texts(&url), ("verify-full".to_owned(), "system".to_owned()));
            url.root_certificate = Some("/ca.pem".to_owned());
            assert_eq!(texts(&url), (mode.to_owned(), "/ca.pem".to_owned()));
        }
    }
}
