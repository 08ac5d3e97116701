//! Lines for the operator's log, which shows the plugin's name beside them.
//!
//! In a native test a line goes to standard error.

#[cfg(all(target_family = "wasm", feature = "approval-channel"))]
use crate::bindings::approval::assent::host::log as host;
#[cfg(all(target_family = "wasm", feature = "claim-mapper"))]
use crate::bindings::claims::assent::host::log as host;
#[cfg(all(target_family = "wasm", feature = "delegated-approval-channel"))]
use crate::bindings::delegated::assent::host::log as host;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Of use to the plugin's author.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is not as it should be.
    Warn,
    /// The plugin could not do its work.
    Error,
}

/// Writes a line. Keep personal data and secrets out of it.
#[cfg(all(
    target_family = "wasm",
    any(
        feature = "claim-mapper",
        feature = "approval-channel",
        feature = "delegated-approval-channel"
    )
))]
pub fn write(level: Level, message: &str) {
    let level = match level {
        Level::Debug => host::Level::Debug,
        Level::Info => host::Level::Info,
        Level::Warn => host::Level::Warn,
        Level::Error => host::Level::Error,
    };
    host::write(level, message);
}

/// Writes a line. Keep personal data and secrets out of it.
#[cfg(not(all(
    target_family = "wasm",
    any(
        feature = "claim-mapper",
        feature = "approval-channel",
        feature = "delegated-approval-channel"
    )
)))]
#[allow(
    clippy::print_stderr,
    reason = "outside of a component there is no host to write to"
)]
pub fn write(level: Level, message: &str) {
    eprintln!("{level:?}: {message}");
}

/// Puts the text of a panic into the operator's log: a component has no standard error.
#[doc(hidden)]
pub fn report_panics() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| write(Level::Error, &panic.to_string())));
}
