//! Metadata (SAML metadata): that of this server for each service provider, and the import of theirs.

mod apply;
mod encoding;
mod endpoints;
mod entity;
mod error;
mod import;
mod names;
mod own;
mod service_provider;

pub use apply::{ApplyMetadata, MemberDifference, MetadataComparison, MetadataRefresh};
pub use error::MetadataError;
pub use import::{MetadataSource, describe};
pub use own::document;
pub use service_provider::{MetadataDescription, MetadataRequirements, read};
