//! The lifetime of a test sign-in.

use std::time::Duration;

/// The lifetime of a test sign-in, and the retention of its steps.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
