//! The settings: a TOML file, with each key also as an environment variable.
//!
//! `ASSENT__HTTP__LISTEN=0.0.0.0:443` is `listen` in the table `[http]`. Environment wins over file, file over default.
//! Unknown keys are errors. File paths are relative to the folder in which the command is started.

mod approvals;
mod audit;
mod http;
mod in_force;
mod limits;
mod load;
mod pages;
mod plugins;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub use approvals::Approvals;
pub use audit::{Audit, AuditStream};
pub use http::{Http, Mtls, Tls};
pub use in_force::{Setting, Source, in_force};
pub use limits::{Rate, RateLimits};
pub use load::{ConfigError, load};
pub use pages::Pages;
pub use plugins::{ApprovalChannel, ClaimMapper, Credential, OnFailure, PluginLimits, Plugins, Trust};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// All settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where people and applications reach this host, such as `https://id.example.org`: no path, no query. `http` only
    /// for localhost and loopback addresses. The issuer is this with `/oidc` behind it. Passkeys belong to its host name:
    /// with another one they are no good any more, and with an address in its place there are none.
    pub base_url: Url,
    /// What the pages call the operator of this host.
    #[serde(default = "default::operator")]
    pub operator: String,
    /// What language the pages speak, and how they look.
    #[serde(default)]
    pub pages: Pages,
    /// Allows `http://localhost` redirect URIs for web applications and SPAs. Never set it where real people sign in.
    #[serde(default)]
    pub development: bool,
    /// The listeners.
    #[serde(default)]
    pub http: Http,
    /// How often things may be done.
    #[serde(default)]
    pub limits: RateLimits,
    /// The database.
    #[serde(default)]
    pub store: Store,
    /// The master key, and how long keys sign.
    #[serde(default)]
    pub keys: Keys,
    /// How long things are good, in seconds.
    #[serde(default)]
    pub lifetimes: Lifetimes,
    /// What follows when a person denies a request.
    #[serde(default)]
    pub approvals: Approvals,
    /// Whether sessions go on while they are used.
    #[serde(default)]
    pub session: Session,
    /// What the log says and how.
    #[serde(default)]
    pub log: Log,
    /// How long the audit log is kept, and where it is streamed to.
    #[serde(default)]
    pub audit: Audit,
    /// What the first start makes. Without this table it makes nothing.
    #[serde(default)]
    pub first_start: Option<FirstStart>,
    /// SAML 2.0.
    #[serde(default)]
    pub saml: Saml,
    /// Where sign-ins come from.
    #[serde(default)]
    pub places: Places,
    /// What this host may call on behalf of applications.
    #[serde(default)]
    pub outgoing: Outgoing,
    /// The plugins.
    #[serde(default)]
    pub plugins: Plugins,
}

/// Notes on settings that are right and may surprise, for `assent config check`.
pub fn notes(settings: &Settings) -> Vec<String> {
    http::notes(&settings.http)
}

/// Where sign-ins come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Places {
    /// A database of the places of addresses in the MaxMind DB format, such as GeoLite2 City or DB-IP City Lite. People
    /// see the place when they are asked to approve; without it they see the address alone. It is held in memory, and
    /// read again within a minute of a change.
    pub database_file: Option<PathBuf>,
}

/// SAML 2.0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Saml {
    /// For how many days a new signing certificate is good: 30 to 10,000. Many service providers take it over by hand,
    /// so it should not end often.
    pub certificate_days: u32,
    /// How many days before it signs a certificate is published in the metadata. One that comes to its end is followed
    /// by the next, which is published twice that time before.
    pub publish_ahead_days: u32,
    /// For how many days metadata is good, which its `validUntil` says. Service providers that were given a copy refuse
    /// it after that, and nobody signs in there.
    pub metadata_days: u32,
    /// How many seconds each service provider has to answer when a person signs out.
    pub logout_seconds: u32,
    /// How many seconds an assertion is valid: 30 to 3,600. The service provider must receive it in that time; its own session
    /// may last longer.
    pub assertion_seconds: u32,
}

impl Default for Saml {
    fn default() -> Self {
        Self {
            certificate_days: 3650,
            publish_ahead_days: 30,
            metadata_days: 365,
            logout_seconds: 5,
            assertion_seconds: 300,
        }
    }
}

impl Saml {
    /// How long a new certificate is good.
    pub fn certificate(&self) -> Duration {
        HOUR * 24 * self.certificate_days
    }

    /// How long a certificate is published before it signs.
    pub fn publish_ahead(&self) -> Duration {
        HOUR * 24 * self.publish_ahead_days
    }

    /// How long metadata is good.
    pub fn metadata(&self) -> Duration {
        HOUR * 24 * self.metadata_days
    }

    /// How long a service provider has to answer.
    pub fn logout(&self) -> Duration {
        Duration::from_secs(self.logout_seconds.into())
    }

    /// How long an assertion is valid.
    pub fn assertion(&self) -> Duration {
        Duration::from_secs(self.assertion_seconds.into())
    }
}

/// What this host may call on behalf of applications: their key sets (`jwks_uri`), their SAML metadata (`metadata_url`) and
/// their back-channel logout.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Outgoing {
    /// Allows plain http and private addresses. Set it only where all applications are yours: whoever registers one could
    /// have this host call what only this host reaches.
    pub allow_private_addresses: bool,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// `sqlite://path/to/file`, or `postgres://user:password@host/database` for several hosts.
    pub url: String,
}

/// The master key, which seals the private keys in the database, and how long those sign.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    /// The file with the key, mode 0600; made at the first start.
    pub master_key_file: PathBuf,
    /// The key itself, 32 bytes as base64, in place of the file. Meant for the environment:
    /// `ASSENT__KEYS__MASTER_KEY`.
    pub master_key: Option<String>,
    /// For how many days a key signs ID tokens until the next one does. 0: until `assent keys rotate`.
    pub rotation_days: u32,
    /// How many hours before it signs a key is published, so that every application has it in time.
    pub publish_ahead_hours: u32,
}

impl Keys {
    /// How long a key signs; `None` if it does until a command ends it.
    pub fn rotation(&self) -> Option<Duration> {
        (self.rotation_days > 0).then(|| HOUR * 24 * self.rotation_days)
    }

    /// How long a key is published before it signs.
    pub fn publish_ahead(&self) -> Duration {
        HOUR * self.publish_ahead_hours
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("master_key_file", &self.master_key_file).finish_non_exhaustive()
    }
}

/// How long things are good, in seconds. The defaults are the specification's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// An access token.
    pub access_token: u32,
    /// An access token that an application gets for itself (`client_credentials`).
    pub client_credentials_token: u32,
    /// A refresh token. Each use gives a new one, with this time before it anew.
    pub refresh_token: u32,
    /// A consent: how long a person is not asked again, and how long an application can go on refreshing.
    pub consent: u32,
    /// For how long after its use a refresh token may be sent once more, because the answer was lost on its way. Only
    /// while nothing of that answer was used. 0: never.
    pub refresh_repeat: u32,
    /// An ID token.
    pub id_token: u32,
    /// An authorization code.
    pub authorization_code: u32,
    /// A session.
    pub session: u32,
    /// A request on the phone.
    pub approval: u32,
    /// A login, from the application's request until the person has to begin again.
    pub login: u32,
    /// A link to enrol an authenticator.
    pub enrolment: u32,
    /// A token of `assent admin token`.
    pub admin_token: u32,
}

/// Whether sessions go on while they are used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// Lets each use of a session give it the time of `lifetimes.session` anew. Else it ends that long after the sign-in.
    pub sliding: bool,
    /// How long after the sign-in a sliding session ends at the latest, in seconds.
    pub longest: u32,
}

/// What the log says and how.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug`, or directives such as `info,assent::plugins=debug`.
    pub level: String,
    /// Lines for people or JSON for machines.
    pub format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What the first start makes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstStart {
    /// The first administrator's name.
    pub administrator: String,
    /// The demo application, if there shall be one.
    #[serde(default)]
    pub demo: Option<Demo>,
}

/// The demo application.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Its redirect URI, on a loopback address.
    pub redirect_uri: String,
    /// Where people open it from the start page (OpenID Connect Core section 4), by https or on a loopback address.
    #[serde(default)]
    pub initiate_login_uri: Option<String>,
    /// Where its issuer, Client ID and redirect URI are written for it to read.
    pub client_file: PathBuf,
}

impl Default for Store {
    fn default() -> Self {
        Self { url: "sqlite://data/assent.db".to_owned() }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            master_key_file: PathBuf::from("data/master.key"),
            master_key: None,
            rotation_days: 90,
            publish_ahead_hours: 24,
        }
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            access_token: 3600,
            client_credentials_token: 600,
            refresh_token: 7 * 86_400,
            consent: 14 * 86_400,
            refresh_repeat: 30,
            id_token: 3600,
            authorization_code: 600,
            session: 3600,
            approval: 120,
            login: 1800,
            enrolment: 86_400,
            admin_token: 900,
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self { sliding: false, longest: 43_200 }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

mod default {
    pub(super) fn operator() -> String {
        "Assent".to_owned()
    }
}

impl Settings {
    /// The issuer: the base URL with `/oidc` behind it.
    pub fn issuer(&self) -> String {
        format!("{}/oidc", self.origin())
    }

    /// The base URL without a slash at its end.
    pub fn origin(&self) -> String {
        self.base_url.origin().ascii_serialization()
    }

    /// Whether only browsers on the same machine reach this host.
    pub fn is_local(&self) -> bool {
        match self.base_url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// How long after the sign-in a session can last, in seconds.
    pub fn longest_session(&self) -> u32 {
        if self.session.sliding { self.session.longest } else { self.lifetimes.session }
    }

    /// Whether browsers reach this host by https.
    pub fn is_https(&self) -> bool {
        self.base_url.scheme() == "https"
    }
}
