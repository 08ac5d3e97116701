//! The settings of the resources that the server uses: the database, the GeoIP database, and other servers.

use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GeoIP: the location of IP addresses.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeoIp {
    /// A GeoIP database in the MaxMind DB format, such as GeoLite2 City or DB-IP City Lite. Approval requests show the
    /// location of the browser; without a database only the IP address. The server holds the database in memory, and
    /// reads a changed file within a minute.
    pub database_file: Option<PathBuf>,
}

/// The HTTP requests that this server sends on behalf of applications: for their key sets (`jwks_uri`), request objects
/// (`request_uris`), sectors (`sector_identifier_uri`), SAML metadata (`metadata_url`), logos (`logo_uri`) and
/// back-channel logout, and for the key sets of issuers of software statements.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Egress {
    /// Allows plain http and private addresses. Set it only where all applications are yours. A registered application
    /// could make this server call services that only this server can reach (server-side request forgery).
    pub allow_private_addresses: bool,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite://path/to/file`, or `postgres://user:password@host/database` for several instances.
    pub url: String,
    /// A file with the URL, in place of `url`; surrounding white space is ignored. Every command reads it, unlike an
    /// environment variable of the service.
    pub url_file: Option<PathBuf>,
    /// The maximum number of read connections; by default twice the number of cores, and at least 4, to PostgreSQL 16.
    /// There are at least 2: half of them carry lookups, and the others read lists.
    pub read_connections: Option<NonZeroU32>,
    /// The maximum number of write connections to PostgreSQL; by default twice the number of cores. SQLite always has
    /// one. An instance opens three more for its own purposes.
    pub write_connections: Option<NonZeroU32>,
    /// When migrations of the schema are applied. By default `assent serve` applies them to SQLite and to an empty
    /// database. A PostgreSQL database with data needs `assent migrate` before the first instance of a new release
    /// starts.
    pub migrate: Option<Migrate>,
}

/// When migrations of the schema are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Migrate {
    /// Each start applies them.
    Automatic,
    /// Only `assent migrate` applies them, also to an empty database.
    Manual,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: "sqlite://data/assent.db".to_owned(),
            url_file: None,
            read_connections: None,
            write_connections: None,
            migrate: None,
        }
    }
}
