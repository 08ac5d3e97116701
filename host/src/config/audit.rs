//! `[audit]`

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::syslog::SyslogAddress;

/// The audit log: who did what, in the database. `GET /admin/api/v1/audit` and `assent audit` read it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// For how many days an entry is kept: 1 to 3,650. One that a stream has not had yet is kept longer.
    pub days: u32,
    /// Where it is told as well, as it grows.
    pub stream: AuditStream,
}

/// Where the audit log is streamed to, with the personal data in it: names, addresses, browsers. What was told there an erasure
/// does not take back. Each entry is told at least once and in order; of several hosts one at a time does so.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditStream {
    /// A file to which a line of JSON is appended for each entry. It may be moved away at any time. `assent audit verify --file`
    /// verifies it.
    pub file: Option<PathBuf>,
    /// A receiver of syslog messages (RFC 5424): `udp://HOST:PORT`, `tcp://HOST:PORT` (each message after its length, RFC 6587), or
    /// `unix:///dev/log`. On the way to another machine nothing is encrypted: let a syslog daemon of this one do that.
    #[schemars(with = "Option<String>")]
    pub syslog: Option<SyslogAddress>,
}

impl AuditStream {
    /// The names of the streams that there are.
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
        Self { days: 400, stream: AuditStream::default() }
    }
}
