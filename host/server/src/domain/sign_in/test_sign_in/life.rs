//! How long a test sign-in is valid.

use std::time::Duration;

/// How long a test sign-in is good, and what is known of it is kept.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
