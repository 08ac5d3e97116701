//! The settings of what the server uses: the database, the GeoIP database, and other servers.

use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where sign-ins come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeoIp {
    /// A GeoIP database in the MaxMind DB format, such as GeoLite2 City or DB-IP City Lite. Users see the place of a
    /// sign-in in approval requests; without a database they see only the IP address. The database is held in memory,
    /// and read again within a minute of a change.
    pub database_file: Option<PathBuf>,
}

/// What this server may call on behalf of applications: their key sets (`jwks_uri`), their SAML metadata
/// (`metadata_url`) and their back-channel logout.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Egress {
    /// Allows plain http and private addresses. Set it only where all applications are yours: a registered application
    /// could make this server call services that only this server can reach (server-side request forgery).
    pub allow_private_addresses: bool,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite://path/to/file`, or `postgres://user:password@host/database` for several instances.
    pub url: String,
    /// How many connections read at most; without a number, twice the number of cores and at least 4.
    pub read_connections: Option<NonZeroU32>,
    /// How many connections to PostgreSQL write at most; without a number, the number of cores and at least 2. On
    /// SQLite always one connection writes. An instance opens two more for its own purposes.
    pub write_connections: Option<NonZeroU32>,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: "sqlite://data/assent.db".to_owned(),
            read_connections: None,
            write_connections: None,
        }
    }
}
