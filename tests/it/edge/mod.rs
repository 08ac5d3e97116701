//! The edge: TLS, client certificates, other sites' pages, limits.

mod bounds;
mod cors;
mod framing;
mod head;
mod lockout;
mod outage;
mod rate_limits;
mod stored;
mod tls;
