//! Reading the settings, and saying in plain words what is wrong with them.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use figment::Figment;
use figment::error::Kind;
use figment::providers::{Env, Format, Toml};
use serde_json::Value;
use tracing_subscriber::EnvFilter;

use super::Settings;
use crate::model::application::{ApplicationType, InitiateLoginUri};
use crate::model::name::{LoginName, display_text};
use crate::model::redirect::RedirectUri;

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
    let text = std::fs::read_to_string(file)
        .map_err(|error| ConfigError::Unreadable { file: file.to_owned(), reason: error.to_string() })?;
    // Read here and not by figment, so that a file that is no TOML is reported with its line.
    if let Err(error) = text.parse::<toml::Table>() {
        // Its own words repeat the line, and the line may hold a password.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1);
        let what = format!("{}: line {line}, column {column}: {}", file.display(), error.message());
        return Err(ConfigError::Invalid(vec![what]));
    }
    let environment = Env::prefixed(ENVIRONMENT).split("__");
    let settings = Figment::new().merge(Toml::string(&text)).merge(environment).extract::<Settings>();
    let settings =
        settings.map_err(|errors| ConfigError::Invalid(errors.into_iter().map(|e| explain(&e, file)).collect()))?;
    let problems = check(&settings);
    if problems.is_empty() {
        return Ok(settings);
    }
    let named = |(key, expected): (String, String)| format!("{}: {key}: {expected}", source_of(&key, file));
    Err(ConfigError::Invalid(problems.into_iter().map(named).collect()))
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
    let found = found.into_iter().find(|(upper, _)| *upper == variable || upper.starts_with(&below));
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
            let elsewhere = belongs(name).map(|tables| format!("; {name} belongs {tables}")).unwrap_or_default();
            return format!("{}: {full}: unknown key; expected one of {known}{elsewhere}", source_of(&full, file));
        }
        Kind::MissingField(name) => {
            let full = if key.is_empty() { name.to_string() } else { format!("{key}.{name}") };
            return format!("{}: {full}: missing", file.display());
        }
        Kind::InvalidType(found, expected) => match expected.as_ref() {
            "u16" | "u32" | "u64" => format!("found {found}, expected a whole number{}", unit(&key)),
            expected => format!("found {found}, expected {expected}"),
        },
        Kind::InvalidValue(found, expected) if **expected == *"u32" => {
            format!("found {found}, expected a whole number{} from 0 to {}", unit(&key), u32::MAX)
        }
        Kind::InvalidValue(found, expected) => format!("found {found}, expected {expected}"),
        Kind::UnknownVariant(found, known) => format!("found {found:?}, expected one of {}", known.join(", ")),
        other if key == "http.listen" || key == "http.mtls.listen" => {
            format!("{other}; expected an address and port such as 127.0.0.1:8080")
        }
        other => other.to_string(),
    };
    format!("{}: {key}: {what}", source_of(&key, file))
}

/// What a key's number counts, as its name says it. Times without one are in seconds.
fn unit(key: &str) -> &'static str {
    let seconds = key.starts_with("lifetimes.")
        || key.starts_with("approvals.")
        || key == "session.longest"
        || key.ends_with("_timeout");
    let units = [
        ("_days", " of days"),
        (".days", " of days"),
        ("_hours", " of hours"),
        ("_ms", " of milliseconds"),
        ("_mib", " of MiB"),
    ];
    let named = units.into_iter().find(|(end, _)| key.ends_with(end)).map(|(_, unit)| unit);
    named.unwrap_or(if seconds { " of seconds" } else { "" })
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
        .map(|table| if table.is_empty() { "above the first table".to_owned() } else { format!("into {table}") })
        .collect();
    (1..=3).contains(&tables.len()).then(|| tables.join(" or "))
}

/// Collects the tables of a part of the schema that know a key.
fn find_tables(schema: &Value, part: &Value, path: &str, name: &str, found: &mut Vec<String>) {
    if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
        let referred = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
        return referred.into_iter().for_each(|part| find_tables(schema, part, path, name, found));
    }
    for part in part.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
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
        let below = if inside.is_empty() { format!("[{key}]") } else { format!("[{inside}.{key}]") };
        find_tables(schema, part, &below, name, found);
    }
}

/// Whether an address is a scheme, a host and perhaps a port, and nothing else.
pub(super) fn is_bare(url: &url::Url) -> bool {
    let nothing_else = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    nothing_else && url.has_host() && url.username().is_empty() && url.password().is_none()
}

/// What the types can't say, as pairs of key and expectation.
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
    expect(display_text(&settings.operator, 80).is_some(), "operator", "expected a name of 1 to 80 characters");
    super::http::check(settings, &mut expect);
    super::pages::check(&settings.pages, &mut expect);
    super::limits::check(settings, &mut expect);
    super::approvals::check(settings, &mut expect);
    let lifetimes = settings.lifetimes;
    for (name, seconds, shortest, longest) in [
        ("access_token", lifetimes.access_token, 1, 86_400),
        ("client_credentials_token", lifetimes.client_credentials_token, 1, 86_400),
        ("refresh_token", lifetimes.refresh_token, 1, 400 * 86_400),
        ("consent", lifetimes.consent, 1, 400 * 86_400),
        ("refresh_repeat", lifetimes.refresh_repeat, 0, 300),
        ("id_token", lifetimes.id_token, 1, 86_400),
        ("authorization_code", lifetimes.authorization_code, 1, 600),
        ("session", lifetimes.session, 1, 30 * 86_400),
        ("approval", lifetimes.approval, 1, 600),
        ("login", lifetimes.login, 1, 86_400),
        ("enrolment", lifetimes.enrolment, 1, 30 * 86_400),
        ("admin_token", lifetimes.admin_token, 1, 86_400),
    ] {
        expect(
            (shortest..=longest).contains(&seconds),
            &format!("lifetimes.{name}"),
            &format!("expected {shortest} to {longest} seconds"),
        );
    }
    expect(
        (lifetimes.session..=30 * 86_400).contains(&settings.session.longest) || !settings.session.sliding,
        "session.longest",
        &format!("expected {} (lifetimes.session) to 2592000 seconds", lifetimes.session),
    );
    let scheme = settings.store.url.split_once(':').map(|(scheme, _)| scheme);
    expect(
        matches!(scheme, Some("sqlite" | "postgres" | "postgresql")),
        "store.url",
        "expected sqlite://path/to/file or postgres://user@host/database",
    );
    let key = settings.keys.master_key.as_ref().map(|text| STANDARD.decode(text.trim()));
    expect(
        key.is_none_or(|key| key.is_ok_and(|key| key.len() == 32)),
        "keys.master_key",
        "expected 32 bytes of base64; `openssl rand -base64 32` makes them",
    );
    let super::Keys { rotation_days, publish_ahead_hours, .. } = settings.keys;
    expect(rotation_days <= 3650, "keys.rotation_days", "expected 0 to 3650 days");
    expect((1..=30 * 24).contains(&publish_ahead_hours), "keys.publish_ahead_hours", "expected 1 to 720 hours");
    expect(
        rotation_days == 0 || publish_ahead_hours < rotation_days.saturating_mul(24),
        "keys.publish_ahead_hours",
        "expected less than keys.rotation_days",
    );
    let super::Saml { certificate_days, publish_ahead_days, metadata_days, logout_seconds, assertion_seconds } =
        settings.saml;
    expect((30..=10_000).contains(&certificate_days), "saml.certificate_days", "expected 30 to 10000 days");
    expect(
        publish_ahead_days < certificate_days / 3,
        "saml.publish_ahead_days",
        "expected less than a third of saml.certificate_days",
    );
    expect((1..=3650).contains(&metadata_days), "saml.metadata_days", "expected 1 to 3650 days");
    expect((1..=60).contains(&logout_seconds), "saml.logout_seconds", "expected 1 to 60 seconds");
    expect((30..=3600).contains(&assertion_seconds), "saml.assertion_seconds", "expected 30 to 3600 seconds");
    expect((1..=3650).contains(&settings.audit.days), "audit.days", "expected 1 to 3650 days");
    expect(
        EnvFilter::try_new(&settings.log.level).is_ok(),
        "log.level",
        "expected error, warn, info, debug or trace, or directives such as info,assent::plugins=debug",
    );
    if let Some(first) = &settings.first_start {
        expect(
            first.administrator.parse::<LoginName>().is_ok(),
            "first_start.administrator",
            "expected a name of 1 to 128 characters without blanks",
        );
        let unfit = |demo: &super::Demo| {
            RedirectUri::register(&demo.redirect_uri, ApplicationType::Native, settings.development).err()
        };
        if let Some(error) = first.demo.as_ref().and_then(unfit) {
            expect(false, "first_start.demo.redirect_uri", &error.to_string());
        }
        let start = first.demo.as_ref().and_then(|demo| demo.initiate_login_uri.as_deref());
        if let Some(Err(error)) = start.map(InitiateLoginUri::parse) {
            expect(false, "first_start.demo.initiate_login_uri", &error.to_string());
        }
    }
    super::plugins::check(&settings.plugins, &mut expect);
    problems
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
        let error = error_of("base_url = \"https://id.example\"\n[http]\nlissten = \"127.0.0.1:80\"\n");
        assert_eq!(
            error,
            "FILE: http.lissten: unknown key; expected one of listen, trusted_proxies, connections_per_network, first_request_timeout, head_timeout, write_timeout, tls, mtls, mtls_url, client_cert_header, metrics_secret_file"
        );
        let error = error_of("base_url = \"https://id.example\"\n[lifetimes]\nsession = \"long\"\n");
        assert_eq!(error, "FILE: lifetimes.session: found string \"long\", expected a whole number of seconds");
        let error = error_of("base_url = \"http://id.example\"");
        assert_eq!(error, "FILE: base_url: expected https; http is for localhost and loopback addresses alone");
        let error = error_of("base_url = \"https://id.example\"\n[lifetimes]\nauthorization_code = 601\n");
        assert_eq!(error, "FILE: lifetimes.authorization_code: expected 1 to 600 seconds");
        assert!(error_of("base_url = ").contains("line 1"));
        let error = error_of("base_url = \"https://id.example\"\n[store]\nurl = \"postgres://assent:hunter2@db/x\n");
        assert!(error.starts_with("FILE: line 3, column ") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_told_what_the_right_one_is() {
        for (text, message) in [
            (
                "[limits]\nsign_in = 10",
                "limits.sign_in: found signed int `10`, expected { per_minute = ..., burst = ... }",
            ),
            (
                "[limits]\nsign_in = { per_minute = 10, burst = 0 }",
                "limits.sign_in: expected per_minute up to 1000000 (0 turns the limit off) and a burst of 1 to 100000",
            ),
            (
                "[keys]\nrotation_days = \"90d\"",
                "keys.rotation_days: found string \"90d\", expected a whole number of days",
            ),
            (
                "[keys]\nrotation_days = -1",
                "keys.rotation_days: found signed int `-1`, expected a whole number of days from 0 to 4294967295",
            ),
            (
                "[session]\nlongest = \"12h\"",
                "session.longest: found string \"12h\", expected a whole number of seconds",
            ),
            (
                "[session]\nsliding = true\nlongest = 10",
                "session.longest: expected 3600 (lifetimes.session) to 2592000 seconds",
            ),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            assert_eq!(error, format!("FILE: {message}"));
        }
    }

    #[test]
    fn a_key_in_the_wrong_table_is_told_its_own() {
        for (text, message) in [
            ("[http.tls]\nmtls_url = \"https://id.example\"", "; mtls_url belongs into [http]"),
            ("[http]\nbase_url = \"https://id.example\"", "; base_url belongs above the first table"),
            ("[http]\ncertificate_file = \"x\"", "; certificate_file belongs into [http.mtls] or into [http.tls]"),
            ("[plugins]\nwrites = [\"account\"]", "; writes belongs into [[plugins.claims]]"),
            ("sliding = true", "; sliding belongs into [session]"),
            ("nonsense = true", "first_start, saml, places, outgoing, plugins"),
        ] {
            let error = error_of(&format!("base_url = \"https://id.example\"\n{text}\n"));
            assert!(error.ends_with(message), "{error}");
        }
    }

    #[test]
    fn a_limit_without_a_burst_allows_as_many_at_once_as_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assent.toml");
        let text = "base_url = \"https://id.example\"\n[limits]\n\
                    sign_in = { per_minute = 0 }\ntoken = { per_minute = 60 }\nfailures = { per_minute = 200000 }\n";
        std::fs::write(&file, text).unwrap();
        let limits = load(&file).unwrap().limits;
        assert_eq!((limits.sign_in.per_minute, limits.token.burst, limits.failures.burst), (0, 60, 100_000));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nowhere/assent.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/assent.toml: cannot read the settings"), "{error}");
    }
}
