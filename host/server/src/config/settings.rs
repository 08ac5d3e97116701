//! All settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::config::approvals::Approvals;
use crate::config::audit::Audit;
use crate::config::bootstrap::Bootstrap;
use crate::config::branding::Branding;
use crate::config::http;
use crate::config::http::Http;
use crate::config::keys::Keys;
use crate::config::lifetimes::{Lifetimes, Session};
use crate::config::log::Log;
use crate::config::mail::Mail;
use crate::config::oidc::Oidc;
use crate::config::plugins::Plugins;
use crate::config::rate_limits::RateLimits;
use crate::config::receipts::Receipts;
use crate::config::resources::{Database, Egress, GeoIp};
use crate::config::saml::Saml;
use crate::config::telemetry::{Metrics, Telemetry};

/// All settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The URL by which users and applications reach this server, such as `https://id.example.org`, without a path or
    /// query. `http` only for localhost and loopback addresses. The issuer is this URL with `/oidc` appended. Passkeys
    /// are bound to its host name: a new name invalidates them, and an IP address permits none.
    pub base_url: Url,
    /// The operator's name, as the pages show it.
    #[serde(default = "default::operator")]
    pub operator: String,
    /// The language of the pages, and the operator's logo and colours.
    #[serde(default)]
    pub branding: Branding,
    /// Allows `http://localhost` and loopback addresses as redirect URIs of single-page applications, and as addresses
    /// of SAML service providers. Only for development: never set it where real users sign in.
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
    /// The timeouts of sessions.
    #[serde(default)]
    pub session: Session,
    /// The level and the format of the log.
    #[serde(default)]
    pub log: Log,
    /// The metrics for Prometheus, on a listener of their own.
    #[serde(default)]
    pub metrics: Metrics,
    /// OpenTelemetry: traces and metrics for a collector.
    #[serde(default)]
    pub telemetry: Telemetry,
    /// The retention of the audit log, and its streams.
    #[serde(default)]
    pub audit: Audit,
    /// The retention of receipts.
    #[serde(default)]
    pub receipts: Receipts,
    /// The bootstrap of an empty database at the first start. Without this table the first start creates nothing.
    #[serde(default)]
    pub bootstrap: Option<Bootstrap>,
    /// Email: the SMTP server that sends invitations. Without this table the server sends no email.
    #[serde(default)]
    pub mail: Option<Mail>,
    /// OpenID Connect.
    #[serde(default)]
    pub oidc: Oidc,
    /// SAML 2.0.
    #[serde(default)]
    pub saml: Saml,
    /// GeoIP: the location of IP addresses.
    #[serde(default)]
    pub geoip: GeoIp,
    /// The HTTP requests that this server sends on behalf of applications.
    #[serde(default)]
    pub egress: Egress,
    /// The plugins.
    #[serde(default)]
    pub plugins: Plugins,
}

/// Returns notes on valid settings that may surprise an operator, for `assent config check`.
pub fn notes(settings: &Settings) -> Vec<String> {
    http::notes(&settings.http)
}

mod default {
    pub(super) fn operator() -> String {
        "Assent".to_owned()
    }
}

impl Settings {
    /// Returns the issuer: the base URL with `/oidc` appended.
    pub fn issuer(&self) -> String {
        format!("{}/oidc", self.origin())
    }

    /// Returns the base URL without a slash at its end.
    pub fn origin(&self) -> String {
        self.base_url.origin().ascii_serialization()
    }

    /// Returns whether only browsers on the same machine reach this server.
    pub fn is_local(&self) -> bool {
        match self.base_url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Returns whether browsers reach this server over https.
    pub fn is_https(&self) -> bool {
        self.base_url.scheme() == "https"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The settings that are numbers because they are counts. Durations and sizes are text with units.
    const COUNTS: [&str; 13] = [
        "burst",
        "concurrency",
        "connections_per_network",
        "fuel",
        "long_polls",
        "open_requests",
        "open_sign_ins_per_ip",
        "open_sign_ins_total",
        "per_minute",
        "queue_length",
        "read_connections",
        "traced_share",
        "write_connections",
    ];
    /// The endings of names that contain a unit.
    const UNITS: [&str; 22] = [
        "ms", "millis", "s", "sec", "secs", "seconds", "min", "mins", "minutes", "h", "hours",
        "days", "weeks", "months", "years", "bytes", "kb", "kib", "mb", "mib", "gb", "gib",
    ];

    /// Returns whether a part of a schema accepts a number, directly or in a list.
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

    /// Collects the properties of a schema that are numbers but not known counts, or have names that contain a unit.
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
    fn a_bare_duration_or_size_is_found_at_any_place() {
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
