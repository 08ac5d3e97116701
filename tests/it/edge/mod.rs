//! The edge: TLS, client certificates, other sites' pages, limits.

mod bounds;
mod cors;
mod head;
mod limits;
mod lockout;
mod stored;
pub mod tls;
