//! The state of one call.

use std::sync::Arc;
use std::time::Duration;

use super::own_time::OwnTime;
use crate::log_limit::LogLimit;
use crate::log_line::Journal;
use crate::plugin_egress::PluginEgress;
use crate::script::SharedScript;
use assent_model::clock::SharedClock;

/// Lines that one call may write to the log.
pub(super) const LOG_LINES: u32 = 32;

/// Requests that one call may send.
pub(super) const REQUESTS: u32 = 4;

/// Where the requests of a plugin go.
#[derive(Clone)]
pub(crate) enum EgressMode {
    /// Nowhere.
    Closed,
    /// To the hosts that the operator granted.
    Granted(Arc<PluginEgress>),
    /// To whoever tries the plugin out.
    Scripted(Arc<SharedScript>),
}

/// The state of one call.
pub(crate) struct CallState {
    pub(super) plugin: Arc<str>,
    pub(super) memory: usize,
    /// Bytes of linear memory that it has.
    pub(super) used_memory: usize,
    pub(super) deadline: Duration,
    /// How long its code ran.
    pub(super) own: Arc<OwnTime>,
    /// What it waited for the host.
    pub(super) waited: Duration,
    pub(super) clock: SharedClock,
    pub(super) outside: EgressMode,
    /// Requests that it may still send.
    pub(super) requests: u32,
    /// Lines that it may still write to the log.
    pub(super) lines: u32,
    /// Lines that the plugin may have in the log.
    pub(super) limit: Arc<LogLimit>,
    pub(super) journal: Option<Arc<Journal>>,
    /// The last line of it that was an error. A Rust plugin that panics says so in one.
    pub(super) last_words: Option<String>,
}
