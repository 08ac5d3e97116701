//! The settings: a TOML file, with each key also as an environment variable.
//!
//! `ASSENT__HTTP__LISTEN=0.0.0.0:443` is `listen` in the table `[http]`. Environment wins over file, file over default.
//! Unknown keys are errors. File paths are relative to the folder in which the command is started.

mod approvals;
mod audit;
mod branding;
mod duration;
mod http;
mod in_force;
mod load;
mod plugins;
mod rate_limits;
mod size;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub use approvals::Approvals;
pub use audit::{Audit, AuditStream};
pub use branding::Branding;
pub use duration::HumanDuration;
pub use http::{Http, Mtls, Tls};
pub use in_force::{Setting, Source, in_force};
pub use load::{ConfigError, load};
pub use plugins::{
    ApprovalChannel, ClaimMapper, Credential, OnFailure, PluginLimits, Plugins, Trust,
};
pub use rate_limits::{Rate, RateLimits};
pub use size::HumanSize;

/// All settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where users and applications reach this server, such as `https://id.example.org`: no path, no query. `http` only for
    /// localhost and loopback addresses. The issuer is this address with `/oidc` appended. Passkeys are bound to its host
    /// name: with another name they become useless, and with an IP address in its place there are none.
    pub base_url: Url,
    /// The operator's name, as the pages show it.
    #[serde(default = "default::operator")]
    pub operator: String,
    /// The language of the pages, and the operator's logo and colours.
    #[serde(default)]
    pub branding: Branding,
    /// Allows `http://localhost` redirect URIs for web applications and SPAs. Only for development: never set it where real
    /// users sign in.
    #[serde(default)]
    pub allow_insecure_redirect_uris: bool,
    /// The listeners.
    #[serde(default)]
    pub http: Http,
    /// The rate limits.
    #[serde(default)]
    pub rate_limits: RateLimits,
    /// The database.
    #[serde(default)]
    pub database: Database,
    /// The master key, and the rotation of signing keys.
    #[serde(default)]
    pub keys: Keys,
    /// How long tokens, codes and requests are valid.
    #[serde(default)]
    pub lifetimes: Lifetimes,
    /// Cooldowns after a user denies or reports a request.
    #[serde(default)]
    pub approvals: Approvals,
    /// When sessions end.
    #[serde(default)]
    pub session: Session,
    /// The level and the format of the log.
    #[serde(default)]
    pub log: Log,
    /// How long the audit log is kept, and where it is streamed to.
    #[serde(default)]
    pub audit: Audit,
    /// What the first start creates. Without this table it creates nothing.
    #[serde(default)]
    pub bootstrap: Option<Bootstrap>,
    /// SAML 2.0.
    #[serde(default)]
    pub saml: Saml,
    /// Where sign-ins come from.
    #[serde(default)]
    pub geoip: GeoIp,
    /// What this server may call on behalf of applications.
    #[serde(default)]
    pub egress: Egress,
    /// The plugins.
    #[serde(default)]
    pub plugins: Plugins,
}

/// Notes on valid settings that may surprise an operator, for `assent config check`.
pub fn notes(settings: &Settings) -> Vec<String> {
    http::notes(&settings.http)
}

/// Where sign-ins come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeoIp {
    /// A GeoIP database in the MaxMind DB format, such as GeoLite2 City or DB-IP City Lite. Users see the place of a sign-in
    /// in approval requests; without a database they see only the IP address. The database is held in memory, and read again
    /// within a minute of a change.
    pub database_file: Option<PathBuf>,
}

/// SAML 2.0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Saml {
    /// How long a new signing certificate is valid: `30d` to `10000d`. In many service providers an administrator installs it
    /// by hand, so it should not expire often.
    pub certificate_validity: HumanDuration,
    /// How long a certificate is published in the metadata before it signs. The successor of an expiring certificate is
    /// published twice that time before the expiry.
    pub certificate_publish_ahead: HumanDuration,
    /// How long metadata is valid, as its `validUntil` states: `1d` to `3650d`. Service providers that hold a copy reject it
    /// after that time, and sign-ins there fail.
    pub metadata_validity: HumanDuration,
    /// How long a sign-out waits for the answer of each service provider.
    pub logout_timeout: HumanDuration,
    /// How long an assertion is valid: `30s` to `1h`. The service provider must receive it in that time; its own session may
    /// last longer.
    pub assertion_validity: HumanDuration,
}

impl Default for Saml {
    fn default() -> Self {
        Self {
            certificate_validity: HumanDuration::days(3650),
            certificate_publish_ahead: HumanDuration::days(30),
            metadata_validity: HumanDuration::days(365),
            logout_timeout: HumanDuration::seconds(5),
            assertion_validity: HumanDuration::minutes(5),
        }
    }
}

/// What this server may call on behalf of applications: their key sets (`jwks_uri`), their SAML metadata (`metadata_url`) and
/// their back-channel logout.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Egress {
    /// Allows plain http and private addresses. Set it only where all applications are yours: a registered application could
    /// make this server call services that only this server can reach (server-side request forgery).
    pub allow_private_addresses: bool,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite://path/to/file`, or `postgres://user:password@host/database` for several instances.
    pub url: String,
}

/// The master key, which encrypts the private keys in the database, and the rotation of signing keys.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    /// The file with the master key, mode 0600. The first start creates it.
    pub master_key_file: PathBuf,
    /// The master key itself, 32 bytes as base64, in place of the file. Meant for the environment:
    /// `ASSENT__KEYS__MASTER_KEY`.
    pub master_key: Option<String>,
    /// How long a key signs ID tokens until the next key does, up to `3650d`. `0s`: until `assent keys rotate`.
    pub rotation_interval: HumanDuration,
    /// How long a key is published before it signs, so that every application has it in time: `1h` to `30d`.
    pub publish_ahead: HumanDuration,
}

impl Keys {
    /// How long a key signs; `None` if only a command rotates keys.
    pub fn rotation(&self) -> Option<Duration> {
        (!self.rotation_interval.is_zero()).then(|| self.rotation_interval.get())
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("master_key_file", &self.master_key_file)
            .finish_non_exhaustive()
    }
}

/// How long tokens, codes and requests are valid. The defaults are the specification's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// An access token.
    pub access_token: HumanDuration,
    /// An access token that an application receives for itself (`client_credentials`).
    pub client_credentials_token: HumanDuration,
    /// A refresh token. Each use returns a new one with the full lifetime.
    pub refresh_token: HumanDuration,
    /// A consent: how long a user is not asked again, and how long an application can refresh its tokens.
    pub consent: HumanDuration,
    /// How long after its use a client may send a refresh token once more, because the response was lost. Only while no token
    /// of that response was used. `0s`: never.
    pub refresh_token_grace: HumanDuration,
    /// An ID token.
    pub id_token: HumanDuration,
    /// An authorization code.
    pub authorization_code: HumanDuration,
    /// An approval request.
    pub approval: HumanDuration,
    /// A sign-in, from the application's request until the user must begin again.
    pub login: HumanDuration,
    /// An enrolment link.
    pub enrolment: HumanDuration,
    /// A token of `assent admin token`.
    pub admin_token: HumanDuration,
}

/// When sessions end (NIST SP 800-63B section 7.2).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// A session ends this long after the sign-in at the latest: `1s` to `30d`.
    pub absolute_timeout: HumanDuration,
    /// A session also ends when it is not used for this long: `1s` to `absolute_timeout`. Without this key only the absolute
    /// timeout applies.
    pub idle_timeout: Option<HumanDuration>,
}

impl Session {
    /// How long a session lasts without further use.
    pub fn timeout(&self) -> Duration {
        self.idle_timeout.unwrap_or(self.absolute_timeout).get()
    }
}

/// The level and the format of the log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug`, or directives such as `info,assent_plugin_host=debug`.
    pub level: String,
    /// Plain lines, or JSON for log collectors.
    pub format: LogFormat,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Plain lines.
    Text,
    /// One JSON object per line.
    Json,
}

/// What the first start creates.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// The first administrator's name.
    pub administrator: String,
    /// The demo application.
    #[serde(default)]
    pub demo: Option<Demo>,
}

/// The demo application.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Its redirect URI, on a loopback address.
    pub redirect_uri: String,
    /// Where users open it from the start page (OpenID Connect Core section 4), by https or on a loopback address.
    #[serde(default)]
    pub initiate_login_uri: Option<String>,
    /// The file that receives its issuer, Client ID and redirect URI.
    pub client_file: PathBuf,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: "sqlite://data/assent.db".to_owned(),
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            master_key_file: PathBuf::from("data/master.key"),
            master_key: None,
            rotation_interval: HumanDuration::days(90),
            publish_ahead: HumanDuration::hours(24),
        }
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            access_token: HumanDuration::hours(1),
            client_credentials_token: HumanDuration::minutes(10),
            refresh_token: HumanDuration::days(7),
            consent: HumanDuration::days(14),
            refresh_token_grace: HumanDuration::seconds(30),
            id_token: HumanDuration::hours(1),
            authorization_code: HumanDuration::minutes(10),
            approval: HumanDuration::minutes(2),
            login: HumanDuration::minutes(30),
            enrolment: HumanDuration::days(1),
            admin_token: HumanDuration::minutes(15),
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            absolute_timeout: HumanDuration::hours(1),
            idle_timeout: None,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

mod default {
    pub(super) fn operator() -> String {
        "Assent".to_owned()
    }
}

impl Settings {
    /// The issuer: the base URL with `/oidc` appended.
    pub fn issuer(&self) -> String {
        format!("{}/oidc", self.origin())
    }

    /// The base URL without a slash at its end.
    pub fn origin(&self) -> String {
        self.base_url.origin().ascii_serialization()
    }

    /// Whether only browsers on the same machine reach this server.
    pub fn is_local(&self) -> bool {
        match self.base_url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Whether browsers reach this server by https.
    pub fn is_https(&self) -> bool {
        self.base_url.scheme() == "https"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The settings that are numbers because they count things. Durations and sizes are text with units.
    const COUNTS: [&str; 8] = [
        "burst",
        "concurrency",
        "connections_per_network",
        "fuel",
        "open_sign_ins_per_ip",
        "open_sign_ins_total",
        "per_minute",
        "waiting",
    ];
    /// The ends of names that hold a unit.
    const UNITS: [&str; 22] = [
        "ms", "millis", "s", "sec", "secs", "seconds", "min", "mins", "minutes", "h", "hours",
        "days", "weeks", "months", "years", "bytes", "kb", "kib", "mb", "mib", "gb", "gib",
    ];

    /// Whether a part of a schema accepts a number, itself or in a list.
    fn accepts_number(part: &Value) -> bool {
        let is_number = |kind: &Value| ["integer", "number"].iter().any(|name| kind == name);
        let kind = part.get("type");
        let alternatives = ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|key| part.get(key)?.as_array())
            .flatten();
        kind.is_some_and(|kind| {
            is_number(kind)
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(is_number))
        }) || part.get("items").is_some_and(accepts_number)
            || part.get("additionalProperties").is_some_and(accepts_number)
            || alternatives.into_iter().any(accepts_number)
    }

    /// Collects the properties anywhere in a schema that are numbers without being known counts, or whose names hold a unit.
    fn collect_bare_quantities(part: &Value, found: &mut Vec<String>) {
        for (name, property) in part
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let unit = name.rsplit('_').next().unwrap_or_default();
            let holds_unit = UNITS.contains(&unit);
            let is_count = COUNTS.contains(&name.as_str());
            if holds_unit || (accepts_number(property) && !is_count) {
                found.push(name.clone());
            }
        }
        match part {
            Value::Object(members) => members
                .values()
                .for_each(|member| collect_bare_quantities(member, found)),
            Value::Array(members) => members
                .iter()
                .for_each(|member| collect_bare_quantities(member, found)),
            _ => {}
        }
    }

    fn bare_quantities(schema: &Value) -> Vec<String> {
        let mut found = Vec::new();
        collect_bare_quantities(schema, &mut found);
        found
    }

    #[test]
    fn no_setting_is_a_bare_duration_or_size() {
        let schema = serde_json::to_value(schemars::schema_for!(Settings)).unwrap();
        assert_eq!(
            bare_quantities(&schema),
            [""; 0],
            "durations are HumanDuration, sizes are HumanSize; a number that counts belongs into COUNTS"
        );
    }

    #[test]
    fn a_bare_duration_or_size_is_found_wherever_it_stands() {
        let integer = json!({"type": "integer"});
        let schema = json!({
            "properties": {
                "burst": integer,
                "timeout": integer,
                "retention_days": {"type": "string"},
                "pauses": {"type": "array", "items": {"type": "number"}},
            },
            "$defs": {"Limits": {"properties": {
                "memory": {"type": ["integer", "null"]},
                "deadline": {"anyOf": [integer, {"type": "null"}]},
                "shown": {"type": "boolean"},
            }}},
        });
        let mut found = bare_quantities(&schema);
        found.sort_unstable();
        assert_eq!(
            found,
            ["deadline", "memory", "pauses", "retention_days", "timeout"]
        );
    }
}
