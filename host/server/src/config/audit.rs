//! The settings of the audit log: `[audit]`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use assent_model::syslog::SyslogAddress;

use super::HumanDuration;

/// The audit log, in the database. `GET /admin/api/v1/audit` and `assent audit` read it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// How long the server stores an entry: `1d` to `3650d`. It stores an entry longer if a stream has not received it
    /// yet.
    pub retention: HumanDuration,
    /// The streams of new entries.
    pub stream: AuditStream,
}

/// The streams of the audit log. Entries include personal data: names, IP addresses, browsers. An erasure does not
/// reach the copies. The server delivers each entry at least once and in order. One instance at a time delivers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditStream {
    /// A file to which the server appends a line of JSON for each entry. It may be rotated at any time. `assent audit
    /// verify
    /// --file` verifies it.
    pub file: Option<PathBuf>,
    /// A receiver of syslog messages (RFC 5424): `udp://HOST:PORT`, `tcp://HOST:PORT` (with octet counting, RFC 6587),
    /// or `unix:///dev/log`. The server does not encrypt them: for another machine, use a local syslog daemon that
    /// does.
    #[schemars(with = "Option<String>")]
    pub syslog: Option<SyslogAddress>,
}

impl AuditStream {
    /// Returns the names of the configured streams.
    pub const fn names(&self) -> &'static [&'static str] {
        match (&self.file, &self.syslog) {
            (None, None) => &[],
            (Some(_), None) => &["file"],
            (None, Some(_)) => &["syslog"],
            (Some(_), Some(_)) => &["file", "syslog"],
        }
    }
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            retention: HumanDuration::days(400),
            stream: AuditStream::default(),
        }
    }
}
