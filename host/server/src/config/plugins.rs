//! The settings of plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use assent_model::id::Did;
use assent_model::secret::Digest;

use super::{HumanDuration, HumanSize};

/// The plugins. SIGHUP or `assent plugins reload` reads this table again, without a restart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Plugins {
    /// The claim mappers. Each receives the result of the previous ones.
    pub claim_mappers: Vec<ClaimMapper>,
    /// The approval channels, which carry approval requests to devices. The server uses the first one that serves the
    /// application, and the next one if that fails. Without one, devices find requests by polling.
    pub approval_channels: Vec<ApprovalChannel>,
    /// The cache folder for compiled plugins, which makes the next start faster. The server creates it, and it may be
    /// emptied at any time. Without it each start compiles all plugins.
    pub compiled_folder: Option<PathBuf>,
    /// The retention of claim traces: the plugin calls for each ID token and assertion. `0s`: no traces. A trace
    /// contains the claims that the application received about the user.
    pub trace_retention: HumanDuration,
}

impl Default for Plugins {
    fn default() -> Self {
        Self {
            claim_mappers: Vec::new(),
            approval_channels: Vec::new(),
            compiled_folder: None,
            trace_retention: HumanDuration::hours(24),
        }
    }
}

/// A claim mapper.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimMapper {
    /// Its name in the log and in error messages.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// The SHA-256 digest of the file in hexadecimal, as `assent plugins check` prints it. Another file is not loaded.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The claims that it may write.
    pub writes: Vec<String>,
    /// The Client IDs of the applications that it serves; by default all.
    #[serde(default)]
    pub applications: Option<Vec<String>>,
    /// The behaviour after a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// How long a result for UserInfo or introspection is reused. A change of the user, the account, the application or
    /// the settings always ends that. By default a result is reused within the second, because a claim mapper sees
    /// the time in seconds.
    #[serde(default = "no_time")]
    pub result_max_age: HumanDuration,
    /// The plugin's own settings, which the plugin validates.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The limits of one call.
    #[serde(default)]
    pub limits: PluginLimits,
}

const fn no_time() -> HumanDuration {
    HumanDuration::seconds(0)
}

/// The behaviour after a failure of a claim mapper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The sign-in fails.
    #[default]
    Fail,
    /// The claims are omitted. Only for claims that grant nothing.
    Omit,
}

/// An approval channel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalChannel {
    /// Its name in the log and in error messages.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// The SHA-256 digest of the file in hexadecimal, as `assent plugins check` prints it. Another file is not loaded.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The Client IDs of the applications that it serves; by default all, and the server's own pages. The console
    /// always requires a device that is enrolled at this server.
    #[serde(default)]
    pub applications: Option<Vec<String>>,
    /// Who verifies the approval.
    #[serde(default)]
    pub trust: Trust,
    /// Whether the vendor's app shows the letters of the waiting page (`binding_message`), so that users compare them.
    /// Only for a delegated channel. A channel that does not show them carries no request while another one of the same
    /// name is pending.
    #[serde(default)]
    pub shows_letters: bool,
    /// The hosts that it may call: `push.example.org`, `*.push.example.org`, each with `:port` unless it is 443.
    #[serde(default)]
    pub http_hosts: Vec<String>,
    /// Allows plain http and private addresses, for development and tests.
    #[serde(default)]
    pub allow_private_addresses: bool,
    /// Follows redirects, but only to granted hosts. The plugin must request it too.
    #[serde(default)]
    pub follow_redirects: bool,
    /// The credentials that the server adds to its requests. The plugin never sees them.
    #[serde(default)]
    pub credentials: Vec<Credential>,
    /// The plugin's own settings, which the plugin validates.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The limits of one call.
    #[serde(default)]
    pub limits: PluginLimits,
}

/// Who verifies the approvals of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// This server verifies the device's own proof. The channel only carries the proof.
    #[default]
    Verified,
    /// The vendor's authenticator decides. This server trusts its result.
    Delegated,
}

/// A credential that is added to a channel's requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Credential {
    /// The server's own push key, for push services (RFC 8292).
    Vapid {
        /// The hosts that receive it; by default all `http_hosts`.
        #[serde(default)]
        hosts: Vec<String>,
    },
    /// A header with a secret.
    Header {
        /// The hosts that receive it; by default all `http_hosts`.
        #[serde(default)]
        hosts: Vec<String>,
        /// The header's name.
        #[serde(default = "authorization")]
        header: String,
        /// The text before the secret, such as `Bearer ` with its space.
        #[serde(default)]
        prefix: String,
        /// A file with the secret; surrounding white space is ignored.
        secret_file: PathBuf,
    },
    /// A signature of method, address and body by HMAC-SHA256 (RFC 9421).
    Signature {
        /// The hosts that receive it; by default all `http_hosts`.
        #[serde(default)]
        hosts: Vec<String>,
        /// The receiver's identifier of the key.
        key_id: String,
        /// A file with the key; surrounding white space is ignored.
        secret_file: PathBuf,
    },
}

fn authorization() -> String {
    "authorization".to_owned()
}

/// The limits of one plugin call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PluginLimits {
    /// The maximum fuel: units of work.
    pub fuel: u64,
    /// The maximum time of the plugin's own code, without the time that it waits for the server.
    pub deadline: HumanDuration,
    /// The maximum memory.
    pub memory: HumanSize,
    /// The timeout of one HTTP request.
    pub http_timeout: HumanDuration,
    /// The maximum number of concurrent calls; by default 16 of a claim mapper and 512 of a channel. Further calls wait
    /// in the queue. One application can have at most half of the calls of a claim mapper.
    pub concurrency: Option<u32>,
    /// The maximum length of the queue for one application. A call waits two seconds at most. Further calls fail at
    /// once.
    pub queue_length: u32,
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            fuel: 50_000_000,
            deadline: HumanDuration::millis(200),
            memory: HumanSize::mib(16),
            http_timeout: HumanDuration::seconds(10),
            concurrency: None,
            queue_length: 256,
        }
    }
}

impl PluginLimits {
    fn check(&self, key: &str, expect: &mut impl FnMut(bool, &str, &str)) {
        let mut within = |name: &str, value: u64, least: u64, most: u64| {
            expect(
                (least..=most).contains(&value),
                &format!("{key}.limits.{name}"),
                &format!("expected {least} to {most}"),
            );
        };
        within("fuel", self.fuel, 1, u64::from(u32::MAX) * 1000);
        within("concurrency", self.concurrency.unwrap_or(1).into(), 1, 4096);
        within("queue_length", self.queue_length.into(), 0, 100_000);
        self.deadline.check(
            &format!("{key}.limits.deadline"),
            HumanDuration::millis(10)..=HumanDuration::minutes(1),
            expect,
        );
        let (least, most) = (HumanSize::mib(1), HumanSize::mib(1024));
        expect(
            (least..=most).contains(&self.memory),
            &format!("{key}.limits.memory"),
            &format!("expected {least} to {most}"),
        );
        self.http_timeout.check(
            &format!("{key}.limits.http_timeout"),
            HumanDuration::millis(100)..=HumanDuration::minutes(2),
            expect,
        );
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(plugins: &Plugins, expect: &mut impl FnMut(bool, &str, &str)) {
    plugins.trace_retention.check(
        "plugins.trace_retention",
        HumanDuration::ZERO..=HumanDuration::days(366),
        expect,
    );
    check_names(plugins, expect);
    for (index, plugin) in plugins.claim_mappers.iter().enumerate() {
        let key = format!("plugins.claim_mappers.{index}");
        check_source(
            &key,
            plugin.applications.as_deref(),
            plugin.sha256.as_deref(),
            expect,
        );
        plugin.limits.check(&key, expect);
        let grants = plugin.writes.iter().any(|claim| claim == "account");
        expect(
            plugin.on_failure == OnFailure::Fail || !grants,
            &format!("{key}.on_failure"),
            "expected `fail` for a plugin that writes `account`: that claim carries permissions",
        );
    }
    for (index, plugin) in plugins.approval_channels.iter().enumerate() {
        let key = format!("plugins.approval_channels.{index}");
        check_source(
            &key,
            plugin.applications.as_deref(),
            plugin.sha256.as_deref(),
            expect,
        );
        plugin.limits.check(&key, expect);
        expect(
            !plugin.shows_letters || plugin.trust == Trust::Delegated,
            &format!("{key}.shows_letters"),
            "expected it only with `trust = \"delegated\"`: an enrolled device shows no letters, its user types the \
             number",
        );
    }
}

/// Checks the names. A repeated name is one error, at its second plugin.
fn check_names(plugins: &Plugins, expect: &mut impl FnMut(bool, &str, &str)) {
    let mappers = plugins.claim_mappers.iter().enumerate();
    let channels = plugins.approval_channels.iter().enumerate();
    let named = mappers
        .map(|(index, plugin)| (format!("plugins.claim_mappers.{index}.name"), &plugin.name))
        .chain(channels.map(|(index, plugin)| {
            (
                format!("plugins.approval_channels.{index}.name"),
                &plugin.name,
            )
        }));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, name) in named {
        let fits = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        expect(
            fits,
            &key,
            &format!("found {name:?}, expected 1 to 64 lower-case letters, digits and hyphens"),
        );
        let count = counts.entry(name).or_default();
        *count += 1;
        expect(
            *count != 2,
            &key,
            &format!(
                "found {name:?}, which another plugin has; expected a different name for each plugin"
            ),
        );
    }
}

/// Checks the applications that a plugin serves, and the digest of its file.
fn check_source(
    key: &str,
    applications: Option<&[String]>,
    sha256: Option<&str>,
    expect: &mut impl FnMut(bool, &str, &str),
) {
    for (index, application) in applications.unwrap_or_default().iter().enumerate() {
        expect(
            application.parse::<Did>().is_ok(),
            &format!("{key}.applications.{index}"),
            &format!("found {application:?}, expected a Client ID such as did:key:z6Mk..."),
        );
    }
    expect(
        sha256.is_none_or(|text| Digest::from_text(text).is_some()),
        &format!("{key}.sha256"),
        "expected 64 hexadecimal digits, as `sha256sum` prints them",
    );
}
