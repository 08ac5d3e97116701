//! Dynamic client registration (RFC 7591, RFC 7592, OpenID Connect Dynamic Client Registration 1.0): applications that
//! register, read, update and delete themselves.

pub mod error;
pub mod metadata;
pub mod requests;
mod response;
mod sector;
mod software_statement;
