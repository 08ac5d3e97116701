//! Time limits that several crates share.

use std::time::Duration;

/// The maximum time of a request in a queue: for its turn to write, for a database connection, or for a plugin slot.
/// After this time the server rejects the request with 503 and `Retry-After`, and does not execute it. By then the
/// client has given up or retried, so further waiting would only delay other requests. A debug build waits longer,
/// because it is several times slower, and tests on a busy machine must not be rejected.
pub const QUEUE_DEADLINE: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// The retention of responses to requests with an `Idempotency-Key`.
pub const KEYED_REQUEST_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
