//! Time limits that several crates share.

use std::time::Duration;

/// How long a request waits in a queue at most: for its turn to write, for a connection to the database, for a place of
/// a plugin. After that the server rejects it with 503 and `Retry-After` and does not execute it any more. A client has
/// given up or retried by then, so further waiting would only delay others. A debug build, which takes several times as
/// long for everything, waits for longer, so that a test on a busy machine is not rejected.
pub const QUEUE_DEADLINE: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

/// The retention of the responses to requests with an `Idempotency-Key`.
pub const KEYED_REQUEST_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
