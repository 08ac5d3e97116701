//! Lines for the operator's log. The log shows the plugin's name with them.
//!
//! In a native test a line goes to standard error.

#[cfg(all(target_family = "wasm", feature = "approval-channel"))]
use crate::bindings::approval::assent::host::log as host;
#[cfg(all(target_family = "wasm", feature = "claim-mapper"))]
use crate::bindings::claims::assent::host::log as host;
#[cfg(all(target_family = "wasm", feature = "delegated-approval-channel"))]
use crate::bindings::delegated::assent::host::log as host;

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Useful for the plugin's author.
    Debug,
    /// Useful for the operator.
    Info,
    /// A problem that did not stop the plugin's work.
    Warn,
    /// The plugin could not do its work.
    Error,
}

/// Writes a line. It must not contain personal data or secrets.
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

/// Writes a line. It must not contain personal data or secrets.
#[cfg(not(all(
    target_family = "wasm",
    any(
        feature = "claim-mapper",
        feature = "approval-channel",
        feature = "delegated-approval-channel"
    )
)))]
pub fn write(level: Level, message: &str) {
    use std::io::Write;

    // Outside of a component there is no host to write to.
    let _ = writeln!(std::io::stderr(), "{level:?}: {message}");
}

/// Writes the text of a panic to the operator's log, because a component has no standard error.
#[doc(hidden)]
pub fn report_panics() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| write(Level::Error, &panic.to_string())));
}
