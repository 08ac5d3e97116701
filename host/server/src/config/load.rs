//! Reading the settings, with error messages that name the file or variable, the key and the expected value.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Env, Format, Toml};

use super::Settings;
use crate::config::check::check;
use crate::config::environment::{ENVIRONMENT, is_empty, text_of};
use crate::config::explanation::explain;
use crate::config::in_force::SECRETS;
use crate::config::source::SettingsFile;

use assent_model::text::to_utf8;

/// The errors of the settings: one line per error, with file and line or variable, key and expected value.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist or cannot be read.
    #[error("{}: cannot read the settings: {reason}. Name another file with --config", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Values are missing, unknown or of the wrong type.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
}

/// Reads the settings from `file` and the environment.
///
/// # Errors
/// [`ConfigError`] if the file cannot be read, or a setting is invalid.
pub fn load(file: &Path) -> Result<Settings, ConfigError> {
    let text = std::fs::read(file)
        .and_then(to_utf8)
        .map_err(|error| ConfigError::Unreadable {
            file: file.to_owned(),
            reason: error.to_string(),
        })?;
    let source = SettingsFile {
        path: file,
        text: &text,
    };
    // The text is parsed here and not by figment, so that the error for invalid TOML includes its line.
    if let Err(error) = text.parse::<toml::Table>() {
        // The full message repeats the line, and the line may contain a password.
        let offset = error.span().map_or(0, |span| span.start);
        let what = format!("{}: {}", source.place_at(offset), error.message());
        return Err(ConfigError::Invalid(vec![what]));
    }
    let secrets = SECRETS.map(|key| key.replace('.', "__"));
    let environment = Env::prefixed(ENVIRONMENT)
        .filter(move |name| {
            !secrets.iter().any(|secret| name == secret.as_str()) && !is_empty(name.as_str())
        })
        .split("__");
    let mut merged = Figment::new().merge(Toml::string(&text)).merge(environment);
    for key in SECRETS {
        if let Some(secret) = text_of(key) {
            merged = merged.merge((key, secret));
        }
    }
    let mut settings = merged.extract::<Settings>().map_err(|errors| {
        ConfigError::Invalid(errors.into_iter().map(|e| explain(&e, source)).collect())
    })?;
    if let Some(url) = database_url(&settings, merged.contains("database.url"), source)? {
        settings.database.url = url;
    }
    let problems = check(&settings);
    if problems.is_empty() {
        return Ok(settings);
    }
    let named = |(key, expected): (String, String)| {
        format!("{}: {key}: {expected}", source.source_of(&key))
    };
    Err(ConfigError::Invalid(
        problems.into_iter().map(named).collect(),
    ))
}

/// Returns the source of a setting: its environment variable, or its line of the file.
pub fn source_of(file: &Path, key: &str) -> String {
    let text = std::fs::read(file).and_then(to_utf8).unwrap_or_default();
    let source = SettingsFile {
        path: file,
        text: &text,
    };
    source.source_of(key)
}

/// Returns the URL of the database in `database.url_file`, if it is set. `has_url`: `database.url` is set too.
fn database_url(
    settings: &Settings,
    has_url: bool,
    source: SettingsFile<'_>,
) -> Result<Option<String>, ConfigError> {
    const KEY: &str = "database.url_file";
    let Some(file) = &settings.database.url_file else {
        return Ok(None);
    };
    let failed = |reason: String| {
        let place = source.source_of(KEY);
        ConfigError::Invalid(vec![format!("{place}: {KEY}: {reason}")])
    };
    if has_url {
        return Err(failed("expected either this or database.url".to_owned()));
    }
    let url = std::fs::read(file)
        .and_then(to_utf8)
        .map_err(|error| failed(format!("{}: {error}", file.display())))?;
    Ok(Some(url.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assent.toml");
        std::fs::write(&file, text).unwrap();
        let error = load(&file).unwrap_err().to_string();
        error.replace(&file.display().to_string(), "FILE")
    }

    #[test]
    fn each_error_names_the_file_the_key_and_the_expected_value() {
        assert_eq!(error_of(""), "FILE: base_url: missing");
        let error =
            error_of("base_url = \"https://id.example\"\n[http]\nlissten = \"127.0.0.1:80\"\n");
        assert_eq!(
            error,
            "FILE:3: http.lissten: unknown key; expected one of listen, socket_group, trusted_proxies, \
             connections_per_network, first_request_timeout, head_timeout, write_timeout, drain_time, tls, mtls, \
             mtls_url, client_cert_header"
        );
        let error =
            error_of("base_url = \"https://id.example\"\n[session]\nabsolute_timeout = \"long\"\n");
        assert_eq!(
            error,
            "FILE:3: session.absolute_timeout: found \"long\", expected a duration such as \"90s\", \"10m\" or \
             \"7d\""
        );
        let error = error_of("base_url = \"id.example\"");
        assert_eq!(
            error,
            "FILE:1: base_url: expected a URL that starts with https://"
        );
        let error = error_of("base_url = \"http://id.example\"");
        assert_eq!(
            error,
            "FILE:1: base_url: expected https; http is only for localhost and loopback addresses"
        );
        let error = error_of(
            "base_url = \"https://id.example\"\n[lifetimes]\nauthorization_code = \"601s\"\n",
        );
        assert_eq!(
            error,
            "FILE:3: lifetimes.authorization_code: expected 1s to 10m"
        );
        for secret in [
            "database = \"postgres://assent:hunter2@db/x\"\n",
            "mail = \"hunter2\"\n",
            "[telemetry]\notlp_endpoint = \"https://u:hunter2@host:99999/\"\n",
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{secret}"));
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert!(error_of("base_url = ").starts_with("FILE:1:"));
        let error = error_of(
            "base_url = \"https://id.example\"\n[database]\nurl = \"postgres://assent:hunter2@db/x\n",
        );
        assert!(
            error.starts_with("FILE:3:") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn the_error_of_a_wrong_value_names_the_expected_kind() {
        for (text, message) in [
            (
                "[rate_limits]\nlogin_pages_per_ip = 10",
                "rate_limits.login_pages_per_ip: found 10, expected { per_minute = ..., burst = ... }",
            ),
            (
                "[rate_limits]\nlogin_pages_per_ip = { per_minute = 10, burst = 0 }",
                "rate_limits.login_pages_per_ip: expected per_minute up to 1000000 (0 disables the limit) and a burst \
                 of 1 to 100000",
            ),
            (
                "[http]\nlisten = 8080",
                "http.listen: found 8080, expected an address and port such as 127.0.0.1:8080, or unix:PATH",
            ),
            (
                "[keys]\nrotation_interval = 90",
                "keys.rotation_interval: found 90, expected a duration such as \"90s\", \"10m\" or \"7d\"",
            ),
            (
                "[rate_limits]\nopen_sign_ins_total = -1",
                "rate_limits.open_sign_ins_total: found -1, expected a whole number from 0 to 4294967295",
            ),
            (
                "[keys]\nrotation_interval = \"1d\"\npublish_ahead = \"2d\"",
                "keys.publish_ahead: expected less than 1d, the value of keys.rotation_interval",
            ),
            (
                "[approvals]\ndenial_cooldowns = [\"30s\", \"2 minutes\"]",
                "approvals.denial_cooldowns.1: found \"2 minutes\", expected a duration such as \"90s\", \
                 \"10m\" or \"7d\"",
            ),
            (
                "[session]\nidle_timeout = \"2h\"",
                "session.idle_timeout: expected at most 1h, the value of session.absolute_timeout",
            ),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            let (place, what) = error.split_once(": ").unwrap();
            assert!(place.starts_with("FILE:"), "{error}");
            assert_eq!(what, message);
        }
    }

    #[test]
    fn the_error_of_a_plugin_names_its_entry_and_the_value() {
        let plugin = |name: &str, more: &str| {
            format!(
                "[[plugins.claim_mappers]]\nname = \"{name}\"\nfile = \"a.wasm\"\nwrites = [\"account\"]\n{more}"
            )
        };
        let settings = |plugins: &[String]| {
            let plugins = plugins.concat();
            error_of(&format!("base_url = \"https://id.example\"\n{plugins}"))
        };
        assert_eq!(
            settings(&[
                plugin("a", ""),
                plugin("b", ""),
                plugin("c", "applications = [\"Trial App\"]\n"),
            ]),
            "FILE:14: plugins.claim_mappers.2.applications.0: found \"Trial App\", expected a Client ID such as \
             did:key:z6Mk..."
        );
        assert_eq!(
            settings(&[plugin("a", ""), plugin("b", "on_failure = \"omit\"\n")]),
            "FILE:10: plugins.claim_mappers.1.on_failure: expected `fail` for a plugin that writes `account`: that \
             claim carries permissions"
        );
        assert_eq!(
            settings(&[plugin("a", ""), plugin("b", "limits.fuel = 0\n")]),
            "FILE:10: plugins.claim_mappers.1.limits.fuel: expected 1 to 4294967295000"
        );
        assert_eq!(
            settings(&[plugin("a", ""), plugin("B c", "")]),
            "FILE:7: plugins.claim_mappers.1.name: found \"B c\", expected 1 to 64 lower-case letters, digits and \
             hyphens"
        );
        // One error, also if the name is there three times.
        let channel = "[[plugins.approval_channels]]\nname = \"a\"\nfile = \"a.wasm\"\n".to_owned();
        assert_eq!(
            settings(&[plugin("a", ""), plugin("a", ""), channel.clone()]),
            "FILE:7: plugins.claim_mappers.1.name: found \"a\", which another plugin has; expected a different name \
             for each plugin"
        );
        assert_eq!(
            settings(&[plugin("a", ""), channel]),
            "FILE:7: plugins.approval_channels.0.name: found \"a\", which another plugin has; expected a different \
             name for each plugin"
        );
    }

    #[test]
    fn the_error_of_a_misplaced_key_names_its_table() {
        for (text, message) in [
            (
                "[http.tls]\nmtls_url = \"https://id.example\"",
                "; mtls_url belongs into [http]",
            ),
            (
                "[http]\nbase_url = \"https://id.example\"",
                "; base_url belongs above the first table",
            ),
            (
                "[http]\ncertificate_file = \"x\"",
                "; certificate_file belongs into [http.mtls] or into [http.tls]",
            ),
            (
                "[plugins]\nwrites = [\"account\"]",
                "; writes belongs into [[plugins.claim_mappers]]",
            ),
            (
                "idle_timeout = \"1h\"",
                "; idle_timeout belongs into [session]",
            ),
            (
                "nonsense = true",
                "bootstrap, mail, oidc, saml, geoip, egress, plugins",
            ),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            assert!(error.ends_with(message), "{error}");
        }
    }

    #[test]
    fn the_default_burst_is_the_limit_of_one_minute() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assent.toml");
        let text = "base_url = \"https://id.example\"\n[rate_limits]\n\
                    login_pages_per_ip = { per_minute = 0 }\ntoken_requests_per_ip = { per_minute = 60 }\n\
                    unauthenticated_requests = { per_minute = 200000 }\n";
        std::fs::write(&file, text).unwrap();
        let limits = load(&file).unwrap().rate_limits;
        assert_eq!(
            (
                limits.login_pages_per_ip.per_minute,
                limits.token_requests_per_ip.burst,
                limits.unauthenticated_requests.burst
            ),
            (0, 60, 100_000)
        );
    }

    #[test]
    fn the_url_of_the_database_may_be_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, url) = (folder.path().join("assent.toml"), folder.path().join("url"));
        let text = format!(
            "base_url = \"https://id.example\"\n[database]\nurl_file = \"{}\"\n",
            url.display()
        );
        std::fs::write(&file, &text).unwrap();
        let error = load(&file).unwrap_err().to_string();
        assert!(
            error.contains("assent.toml:3: database.url_file: "),
            "{error}"
        );
        std::fs::write(&url, "postgres://assent:hunter2@db/assent\n").unwrap();
        let settings = load(&file).unwrap();
        assert_eq!(settings.database.url, "postgres://assent:hunter2@db/assent");
        std::fs::write(&url, "nonsense hunter2").unwrap();
        let error = load(&file).unwrap_err().to_string();
        assert!(
            error.contains("database.url: expected") && !error.contains("hunter2"),
            "{error}"
        );
        std::fs::write(&file, format!("{text}url = \"sqlite://a.db\"\n")).unwrap();
        let error = load(&file).unwrap_err().to_string();
        assert!(error.contains("either this or database.url"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nowhere/assent.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("/nowhere/assent.toml: cannot read the settings"),
            "{error}"
        );
    }
}
