//! The state of one call.

use std::sync::Arc;
use std::time::Duration;

use super::own_time::OwnTime;
use crate::log_limit::LogLimit;
use crate::log_line::Journal;
use crate::plugin_egress::PluginEgress;
use crate::script::SharedScript;
use assent_model::clock::SharedClock;

/// The log lines of one call.
pub(super) const LOG_LINES: u32 = 32;

/// The HTTP requests of one call.
pub(super) const REQUESTS: u32 = 4;

/// The destinations of a plugin's HTTP requests.
#[derive(Clone)]
pub(crate) enum EgressMode {
    /// No destination.
    Closed,
    /// The hosts that the operator granted.
    Granted(Arc<PluginEgress>),
    /// A script in place of the network, for tests.
    Scripted(Arc<SharedScript>),
}

/// The state of one call.
pub(crate) struct CallState {
    pub(super) plugin: Arc<str>,
    pub(super) memory: usize,
    /// The linear memory of the call, in bytes.
    pub(super) used_memory: usize,
    pub(super) deadline: Duration,
    /// The time of the call's own code.
    pub(super) own: Arc<OwnTime>,
    /// The time of its waits for the host.
    pub(super) waited: Duration,
    pub(super) clock: SharedClock,
    pub(super) outside: EgressMode,
    /// The remaining HTTP requests of the call.
    pub(super) requests: u32,
    /// The remaining log lines of the call.
    pub(super) lines: u32,
    /// The rate limit of the plugin's log lines.
    pub(super) limit: Arc<LogLimit>,
    pub(super) journal: Option<Arc<Journal>>,
    /// The latest log line of the call at level `error`. A Rust plugin that panics logs the panic's text there.
    pub(super) last_words: Option<String>,
}
