//! The edge: TLS, client certificates, cross-origin requests and rate limits.

mod blocked_log;
mod bounds;
mod compression;
mod cors;
mod draining;
mod eviction;
mod framing;
mod head;
mod header_octets;
mod hints;
mod lockout;
mod outage;
mod overload;
mod prebuilt;
mod rate_limits;
mod request_ids;
mod short_way;
mod stored_values;
mod telemetry;
mod tls;
mod unix_socket;
