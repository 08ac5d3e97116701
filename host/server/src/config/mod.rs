//! The settings: a TOML file, and an environment variable for each key.
//!
//! `ASSENT__HTTP__LISTEN=0.0.0.0:443` is `listen` in the table `[http]`. The environment has priority over the file,
//! and the file over the default. Unknown keys are errors. File paths are relative to the folder in which the command
//! is started.

mod approvals;
mod audit;
mod backchannel;
mod bootstrap;
mod branding;
mod check;
mod descriptions;
mod device_authorization;
mod duration;
mod environment;
mod explanation;
mod http;
mod in_force;
mod ip_network;
mod keys;
mod lifetimes;
mod listen_address;
mod load;
mod log;
mod mail;
mod oidc;
mod plugins;
mod rate_limits;
mod receipts;
mod resources;
mod saml;
mod settings;
mod size;
mod source;
mod telemetry;

pub use approvals::Approvals;
pub use audit::{Audit, AuditStream};
pub use backchannel::Backchannel;
pub use bootstrap::{Bootstrap, Demo};
pub use branding::Branding;
pub use descriptions::description_of;
pub use device_authorization::DeviceAuthorization;
pub use duration::HumanDuration;
pub use http::{Http, Mtls, Tls};
pub use in_force::{ConfigSource, Setting, in_force};
pub use ip_network::IpNetwork;
pub use keys::{CreateMasterKey, Keys, Pkcs11};
pub use lifetimes::{Lifetimes, Session};
pub use listen_address::ListenAddress;
pub use load::{ConfigError, load, source_of};
pub use log::{Log, LogFormat};
pub use mail::{Mail, MailSecurity};
pub use oidc::{Oidc, Registration, SoftwareStatementKeys};
pub use plugins::{
    ApprovalChannel, ClaimMapper, Credential, OnFailure, PluginLimits, Plugins, Trust,
};
pub use rate_limits::{Rate, RateLimits};
pub use receipts::Receipts;
pub use resources::{Database, Egress, GeoIp, Migrate};
pub use saml::Saml;
pub use settings::{Settings, notes};
pub use size::HumanSize;
pub use telemetry::Metrics;
pub use telemetry::Telemetry;
