//! The edge: TLS, client certificates, other sites' pages, limits.

mod bounds;
mod cors;
mod framing;
mod head;
mod limits;
mod lockout;
mod stored;
mod tls;
