//! The functions that a plugin may call on the host: log, clock and HTTP.

use std::time::Instant;

use super::state::{CallState, EgressMode, LOG_LINES, REQUESTS};
use crate::bindings::approval::assent::host::{clock, http, log};
use crate::log_line::{one_line, say_suppressed};

impl log::Host for CallState {
    fn write(&mut self, level: log::Level, message: String) {
        let plugin = &*self.plugin;
        let Some(left) = self.lines.checked_sub(1) else {
            return;
        };
        self.lines = left;
        let line = one_line(&message);
        if let Some(journal) = &self.journal {
            let level = match level {
                log::Level::Debug => "debug",
                log::Level::Info => "info",
                log::Level::Warn => "warn",
                log::Level::Error => "error",
            };
            journal.add(level, &line);
        }
        let allowed = self.limit.count(self.clock.now());
        say_suppressed(plugin, allowed.suppressed);
        match level {
            _ if !allowed.line => {}
            log::Level::Debug => tracing::debug!(plugin, %line, "plugin log line"),
            log::Level::Info => tracing::info!(plugin, %line, "plugin log line"),
            log::Level::Warn => tracing::warn!(plugin, %line, "plugin log line"),
            log::Level::Error => tracing::error!(plugin, %line, "plugin log line"),
        }
        if matches!(level, log::Level::Error) {
            self.last_words = Some(line);
        }
        if !allowed.line {
            return;
        }
        if left == 0 {
            tracing::warn!(
                plugin,
                limit = LOG_LINES,
                "plugin log lines dropped: limit of a call exceeded"
            );
        }
    }
}

impl clock::Host for CallState {
    fn now(&mut self) -> u64 {
        u64::try_from(self.clock.now().seconds()).unwrap_or(0)
    }
}

impl http::Host for CallState {
    async fn send(&mut self, request: http::Request) -> Result<http::Response, http::Error> {
        let Some(left) = self.requests.checked_sub(1) else {
            return Err(http::Error::Refused(format!(
                "a call may send at most {REQUESTS} requests"
            )));
        };
        self.requests = left;
        let begun = Instant::now();
        let sent = match &self.outside {
            EgressMode::Closed => Err(http::Error::Refused(
                "the operator granted no host".to_owned(),
            )),
            EgressMode::Granted(egress) => egress.send(request).await,
            EgressMode::Scripted(script) => script.answer(request),
        };
        self.waited += begun.elapsed();
        let plugin = &*self.plugin;
        let failed = matches!(
            &sent,
            Err(http::Error::Refused(_) | http::Error::Unreachable(_))
        );
        let allowed = failed.then(|| self.limit.count(self.clock.now()));
        say_suppressed(
            plugin,
            allowed.as_ref().map_or(0, |allowed| allowed.suppressed),
        );
        match &sent {
            _ if !allowed.is_some_and(|allowed| allowed.line) => {}
            Err(http::Error::Refused(why)) => {
                tracing::warn!(
                    plugin,
                    reason = one_line(why),
                    "HTTP request of a plugin rejected"
                );
            }
            Err(http::Error::Unreachable(why)) => {
                tracing::info!(
                    plugin,
                    reason = one_line(why),
                    "HTTP request of a plugin failed"
                );
            }
            _ => {}
        }
        sent
    }
}
