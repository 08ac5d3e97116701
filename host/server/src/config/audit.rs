//! `[audit]`

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use assent_model::syslog::SyslogAddress;

use super::HumanDuration;

/// The audit log: who did what, in the database. `GET /admin/api/v1/audit` and `assent audit` read it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// How long an entry is kept: `1d` to `3650d`. An entry that a stream has not received yet is kept longer.
    pub retention: HumanDuration,
    /// Where new entries are streamed to.
    pub stream: AuditStream,
}

/// Where the audit log is streamed to, with the personal data in it: names, addresses, browsers. An erasure does not
/// reach the copies there. Each entry is delivered at least once and in order; of several instances one at a time
/// delivers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditStream {
    /// A file to which a line of JSON is appended for each entry. It may be moved away at any time. `assent audit
    /// verify --file` verifies it.
    pub file: Option<PathBuf>,
    /// A receiver of syslog messages (RFC 5424): `udp://HOST:PORT`, `tcp://HOST:PORT` (each message after its length,
    /// RFC 6587), or `unix:///dev/log`. On the way to another machine nothing is encrypted: let a syslog daemon of this
    /// one do that.
    #[schemars(with = "Option<String>")]
    pub syslog: Option<SyslogAddress>,
}

impl AuditStream {
    /// The names of the configured streams.
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
