//! Reading the settings, with error messages that name the file or variable, the key and the expected value.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use figment::Figment;
use figment::error::Kind;
use figment::providers::{Env, Format, Toml};
use serde_json::Value;
use tracing_subscriber::EnvFilter;

use super::{HumanDuration, Settings};
use assent_model::application::{ApplicationType, InitiateLoginUri};
use assent_model::name::{LoginName, display_text};
use assent_model::redirect::RedirectUri;

/// The prefix of the environment variables.
const ENVIRONMENT: &str = "ASSENT__";

/// What is wrong with the settings: one line for each thing, with file or variable, key and what is expected.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or cannot be read.
    #[error("{}: cannot read the settings: {reason}. Name another file with --config", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// Values are missing, unknown or of the wrong kind.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
}

/// Reads the settings from `file` and the environment.
pub fn load(file: &Path) -> Result<Settings, ConfigError> {
    let text = std::fs::read_to_string(file).map_err(|error| ConfigError::Unreadable {
        file: file.to_owned(),
        reason: error.to_string(),
    })?;
    // Read here and not by figment, so that a file that is no TOML is reported with its line.
    if let Err(error) = text.parse::<toml::Table>() {
        // Its own words repeat the line, and the line may hold a password.
        let before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        let (line, column) = (
            before.matches('\n').count() + 1,
            before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        );
        let what = format!(
            "{}: line {line}, column {column}: {}",
            file.display(),
            error.message()
        );
        return Err(ConfigError::Invalid(vec![what]));
    }
    let environment = Env::prefixed(ENVIRONMENT).split("__");
    let settings = Figment::new()
        .merge(Toml::string(&text))
        .merge(environment)
        .extract::<Settings>();
    let settings = settings.map_err(|errors| {
        ConfigError::Invalid(errors.into_iter().map(|e| explain(&e, file)).collect())
    })?;
    let problems = check(&settings);
    if problems.is_empty() {
        return Ok(settings);
    }
    let named =
        |(key, expected): (String, String)| format!("{}: {key}: {expected}", source_of(&key, file));
    Err(ConfigError::Invalid(
        problems.into_iter().map(named).collect(),
    ))
}

/// Where a key's value comes from: the environment variable if there is one, else the file.
fn source_of(key: &str, file: &Path) -> String {
    variable_of(key).unwrap_or_else(|| file.display().to_string())
}

/// The environment variable that a key's value, or a part of it, comes from.
pub(super) fn variable_of(key: &str) -> Option<String> {
    let variable = format!("{ENVIRONMENT}{}", key.to_uppercase().replace('.', "__"));
    let below = format!("{variable}__");
    let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let found = named.map(|name| (name.to_uppercase(), name));
    let found = found
        .into_iter()
        .find(|(upper, _)| *upper == variable || upper.starts_with(&below));
    found.map(|(_, name)| name)
}

fn explain(error: &figment::Error, file: &Path) -> String {
    let key = error.path.join(".");
    let what = match &error.kind {
        Kind::UnknownField(name, known) => {
            let whole = key == *name || key.ends_with(&format!(".{name}"));
            let full = match (key.is_empty(), whole) {
                (true, _) => name.clone(),
                (false, true) => key,
                (false, false) => format!("{key}.{name}"),
            };
            let known = known.join(", ");
            let elsewhere = belongs(name)
                .map(|tables| format!("; {name} belongs {tables}"))
                .unwrap_or_default();
            return format!(
                "{}: {full}: unknown key; expected one of {known}{elsewhere}",
                source_of(&full, file)
            );
        }
        Kind::MissingField(name) => {
            let full = if key.is_empty() {
                name.to_string()
            } else {
                format!("{key}.{name}")
            };
            return format!("{}: {full}: missing", file.display());
        }
        Kind::InvalidType(found, expected) => match expected.as_ref() {
            "u16" | "u32" | "u64" => format!("found {found}, expected a whole number"),
            expected => format!("found {found}, expected {expected}"),
        },
        Kind::InvalidValue(found, expected) if **expected == *"u32" => {
            format!(
                "found {found}, expected a whole number from 0 to {}",
                u32::MAX
            )
        }
        Kind::InvalidValue(found, expected) => format!("found {found}, expected {expected}"),
        Kind::UnknownVariant(found, known) => {
            format!("found {found:?}, expected one of {}", known.join(", "))
        }
        other if key == "http.listen" || key == "http.mtls.listen" => {
            format!("{other}; expected an address and port such as 127.0.0.1:8080")
        }
        other => other.to_string(),
    };
    format!("{}: {key}: {what}", source_of(&key, file))
}

/// Where a key of this name belongs that is not known where it is, as "into [table]"; `None` if nowhere, or if there are
/// too many places to be of help.
fn belongs(name: &str) -> Option<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).ok()?;
    let mut tables = Vec::new();
    find_tables(&schema, &schema, "", name, &mut tables);
    tables.sort_unstable();
    let tables: Vec<_> = tables
        .into_iter()
        .map(|table| {
            if table.is_empty() {
                "above the first table".to_owned()
            } else {
                format!("into {table}")
            }
        })
        .collect();
    (1..=3).contains(&tables.len()).then(|| tables.join(" or "))
}

/// Collects the tables of a part of the schema that know a key.
fn find_tables(schema: &Value, part: &Value, path: &str, name: &str, found: &mut Vec<String>) {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let referred = reference
            .strip_prefix('#')
            .and_then(|pointer| schema.pointer(pointer));
        return referred
            .into_iter()
            .for_each(|part| find_tables(schema, part, path, name, found));
    }
    for part in part
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        find_tables(schema, part, path, name, found);
    }
    if let Some(items) = part.get("items") {
        find_tables(schema, items, &format!("[{path}]"), name, found);
    }
    let properties = part.get("properties").and_then(Value::as_object);
    for (key, part) in properties.into_iter().flatten() {
        if key == name {
            found.push(path.to_owned());
        }
        let inside = path.trim_matches(['[', ']']);
        let below = if inside.is_empty() {
            format!("[{key}]")
        } else {
            format!("[{inside}.{key}]")
        };
        find_tables(schema, part, &below, name, found);
    }
}

/// Whether an address is a scheme, a host and perhaps a port, and nothing else.
pub(super) fn is_bare(url: &url::Url) -> bool {
    let nothing_else = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    nothing_else && url.has_host() && url.username().is_empty() && url.password().is_none()
}

/// Checks what the types cannot express. Returns pairs of key and expectation.
fn check(settings: &Settings) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut expect = |good: bool, key: &str, expected: &str| {
        if !good {
            problems.push((key.to_owned(), expected.to_owned()));
        }
    };
    let url = &settings.base_url;
    expect(
        matches!(url.scheme(), "http" | "https") && is_bare(url),
        "base_url",
        "expected an address without path or query, such as https://id.example.org",
    );
    expect(
        url.scheme() != "http" || settings.is_local(),
        "base_url",
        "expected https; http is for localhost and loopback addresses alone",
    );
    expect(
        display_text(&settings.operator, 80).is_some(),
        "operator",
        "expected a name of 1 to 80 characters",
    );
    super::http::check(settings, &mut expect);
    super::branding::check(&settings.branding, &mut expect);
    super::rate_limits::check(settings, &mut expect);
    super::approvals::check(settings, &mut expect);
    check_lifetimes(settings, &mut expect);
    let scheme = settings
        .database
        .url
        .split_once(':')
        .map(|(scheme, _)| scheme);
    expect(
        matches!(scheme, Some("sqlite" | "postgres" | "postgresql")),
        "database.url",
        "expected sqlite://path/to/file or postgres://user@host/database",
    );
    let key = settings
        .keys
        .master_key
        .as_ref()
        .map(|text| STANDARD.decode(text.trim()));
    expect(
        key.is_none_or(|key| key.is_ok_and(|key| key.len() == 32)),
        "keys.master_key",
        "expected 32 bytes of base64; `openssl rand -base64 32` makes them",
    );
    check_keys(settings, &mut expect);
    check_saml(settings, &mut expect);
    settings.audit.retention.check(
        "audit.retention",
        (HumanDuration::days(1), HumanDuration::days(3650)),
        &mut expect,
    );
    expect(
        EnvFilter::try_new(&settings.log.level).is_ok(),
        "log.level",
        "expected error, warn, info, debug or trace, or directives such as info,assent_plugin_host=debug",
    );
    if let Some(bootstrap) = &settings.bootstrap {
        expect(
            bootstrap.administrator.parse::<LoginName>().is_ok(),
            "bootstrap.administrator",
            "expected a name of 1 to 128 characters without blanks",
        );
        let unfit = |demo: &super::Demo| {
            RedirectUri::register(
                &demo.redirect_uri,
                ApplicationType::Native,
                settings.allow_insecure_redirect_uris,
            )
            .err()
        };
        if let Some(error) = bootstrap.demo.as_ref().and_then(unfit) {
            expect(false, "bootstrap.demo.redirect_uri", &error.to_string());
        }
        let start = bootstrap
            .demo
            .as_ref()
            .and_then(|demo| demo.initiate_login_uri.as_deref());
        if let Some(Err(error)) = start.map(InitiateLoginUri::parse) {
            expect(
                false,
                "bootstrap.demo.initiate_login_uri",
                &error.to_string(),
            );
        }
    }
    super::plugins::check(&settings.plugins, &mut expect);
    problems
}

fn check_lifetimes(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    const SECOND: HumanDuration = HumanDuration::seconds(1);
    let (minutes, days) = (HumanDuration::minutes, HumanDuration::days);
    let lifetimes = settings.lifetimes;
    for (name, lifetime, longest) in [
        ("access_token", lifetimes.access_token, days(1)),
        (
            "client_credentials_token",
            lifetimes.client_credentials_token,
            days(1),
        ),
        ("refresh_token", lifetimes.refresh_token, days(400)),
        ("consent", lifetimes.consent, days(400)),
        ("id_token", lifetimes.id_token, days(1)),
        (
            "authorization_code",
            lifetimes.authorization_code,
            minutes(10),
        ),
        ("approval", lifetimes.approval, minutes(10)),
        ("login", lifetimes.login, days(1)),
        ("enrolment", lifetimes.enrolment, days(30)),
        ("admin_token", lifetimes.admin_token, days(1)),
    ] {
        lifetime.check(&format!("lifetimes.{name}"), (SECOND, longest), expect);
    }
    lifetimes.refresh_token_grace.check(
        "lifetimes.refresh_token_grace",
        (HumanDuration::ZERO, minutes(5)),
        expect,
    );
    let session = settings.session;
    session
        .absolute_timeout
        .check("session.absolute_timeout", (SECOND, days(30)), expect);
    if let Some(idle_timeout) = session.idle_timeout {
        idle_timeout.check("session.idle_timeout", (SECOND, days(30)), expect);
        expect(
            idle_timeout <= session.absolute_timeout,
            "session.idle_timeout",
            &format!(
                "expected at most {}, the value of session.absolute_timeout",
                session.absolute_timeout
            ),
        );
    }
}

fn check_keys(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    let super::Keys {
        rotation_interval,
        publish_ahead,
        ..
    } = settings.keys;
    rotation_interval.check(
        "keys.rotation_interval",
        (HumanDuration::ZERO, HumanDuration::days(3650)),
        expect,
    );
    publish_ahead.check(
        "keys.publish_ahead",
        (HumanDuration::hours(1), HumanDuration::days(30)),
        expect,
    );
    expect(
        rotation_interval.is_zero() || publish_ahead < rotation_interval,
        "keys.publish_ahead",
        &format!("expected less than {rotation_interval}, the value of keys.rotation_interval"),
    );
}

fn check_saml(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    let super::Saml {
        certificate_validity,
        certificate_publish_ahead,
        metadata_validity,
        logout_timeout,
        assertion_validity,
    } = settings.saml;
    let (seconds, days) = (HumanDuration::seconds, HumanDuration::days);
    for (name, value, range) in [
        (
            "certificate_validity",
            certificate_validity,
            (days(30), days(10_000)),
        ),
        (
            "certificate_publish_ahead",
            certificate_publish_ahead,
            (HumanDuration::ZERO, days(3650)),
        ),
        (
            "metadata_validity",
            metadata_validity,
            (days(1), days(3650)),
        ),
        (
            "logout_timeout",
            logout_timeout,
            (seconds(1), HumanDuration::minutes(1)),
        ),
        (
            "assertion_validity",
            assertion_validity,
            (seconds(30), HumanDuration::hours(1)),
        ),
    ] {
        value.check(&format!("saml.{name}"), range, expect);
    }
    expect(
        certificate_publish_ahead.get() < certificate_validity.get() / 3,
        "saml.certificate_publish_ahead",
        "expected less than a third of saml.certificate_validity",
    );
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
    fn each_error_names_file_key_and_what_is_expected() {
        assert_eq!(error_of(""), "FILE: base_url: missing");
        let error =
            error_of("base_url = \"https://id.example\"\n[http]\nlissten = \"127.0.0.1:80\"\n");
        assert_eq!(
            error,
            "FILE: http.lissten: unknown key; expected one of listen, trusted_proxies, connections_per_network, first_request_timeout, head_timeout, write_timeout, tls, mtls, mtls_url, client_cert_header, metrics_secret_file"
        );
        let error =
            error_of("base_url = \"https://id.example\"\n[session]\nabsolute_timeout = \"long\"\n");
        assert_eq!(
            error,
            "FILE: session.absolute_timeout: found string \"long\", expected a duration such as \"90s\", \"10m\" or \"7d\""
        );
        let error = error_of("base_url = \"http://id.example\"");
        assert_eq!(
            error,
            "FILE: base_url: expected https; http is for localhost and loopback addresses alone"
        );
        let error = error_of(
            "base_url = \"https://id.example\"\n[lifetimes]\nauthorization_code = \"601s\"\n",
        );
        assert_eq!(
            error,
            "FILE: lifetimes.authorization_code: expected 1s to 10m"
        );
        assert!(error_of("base_url = ").contains("line 1"));
        let error = error_of(
            "base_url = \"https://id.example\"\n[database]\nurl = \"postgres://assent:hunter2@db/x\n",
        );
        assert!(
            error.starts_with("FILE: line 3, column ") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_told_what_the_right_one_is() {
        for (text, message) in [
            (
                "[rate_limits]\nlogin_pages_per_ip = 10",
                "rate_limits.login_pages_per_ip: found signed int `10`, expected { per_minute = ..., burst = ... }",
            ),
            (
                "[rate_limits]\nlogin_pages_per_ip = { per_minute = 10, burst = 0 }",
                "rate_limits.login_pages_per_ip: expected per_minute up to 1000000 (0 turns the limit off) and a burst of 1 to 100000",
            ),
            (
                "[keys]\nrotation_interval = 90",
                "keys.rotation_interval: found signed int `90`, expected a duration such as \"90s\", \"10m\" or \"7d\"",
            ),
            (
                "[rate_limits]\nopen_sign_ins_total = -1",
                "rate_limits.open_sign_ins_total: found signed int `-1`, expected a whole number from 0 to 4294967295",
            ),
            (
                "[keys]\nrotation_interval = \"1d\"\npublish_ahead = \"2d\"",
                "keys.publish_ahead: expected less than 1d, the value of keys.rotation_interval",
            ),
            (
                "[approvals]\ndenial_cooldowns = [\"30s\", \"2 minutes\"]",
                "approvals.denial_cooldowns.1: found string \"2 minutes\", expected a duration such as \"90s\", \"10m\" or \"7d\"",
            ),
            (
                "[session]\nidle_timeout = \"2h\"",
                "session.idle_timeout: expected at most 1h, the value of session.absolute_timeout",
            ),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            assert_eq!(error, format!("FILE: {message}"));
        }
    }

    #[test]
    fn a_key_in_the_wrong_table_is_told_its_own() {
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
            ("nonsense = true", "bootstrap, saml, geoip, egress, plugins"),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            assert!(error.ends_with(message), "{error}");
        }
    }

    #[test]
    fn a_limit_without_a_burst_allows_as_many_at_once_as_a_minute() {
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
