//! The choice of traced requests. A request that is not traced has no spans, so it costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::Span;

/// The sampler of traced requests.
#[derive(Debug, Default)]
pub struct SpanSampler {
    /// The number of traced requests of 2^32. 0 without an exporter.
    share: u64,
    /// The position of the last decision in an evenly distributed sequence.
    position: AtomicU64,
}

/// The step of the sequence: 2^32 divided by the golden ratio, so that the traced requests are evenly distributed for
/// each share.
const STEP: u64 = 0x9E37_79B9;
const ALL: u64 = 1 << 32;

impl SpanSampler {
    /// Returns a sampler that traces this share of the requests, from 0 to 1.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "the share is between 0 and 1, and 32 bits of it are enough"
    )]
    pub fn new(share: f64) -> Self {
        Self {
            share: (share.clamp(0.0, 1.0) * ALL as f64) as u64,
            position: AtomicU64::new(0),
        }
    }

    /// Returns whether any request is traced.
    pub const fn is_on(&self) -> bool {
        self.share > 0
    }

    /// Returns the span of background work. The span is disabled if the work is not traced.
    pub fn background(&self, span: impl FnOnce() -> Span) -> Span {
        if self.decide(None) {
            span()
        } else {
            Span::none()
        }
    }

    /// Returns whether the next request is traced. `parent` says whether its trace is sampled, if a proxy began one.
    pub fn decide(&self, parent: Option<bool>) -> bool {
        if !self.is_on() {
            return false;
        }
        parent.unwrap_or_else(|| {
            let position = self.position.fetch_add(STEP, Ordering::Relaxed);
            position % ALL < self.share
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_requests_is_traced() {
        for (share, expected) in [
            (0.0, 0..=0),
            (0.1, 98..=102),
            (0.5, 498..=502),
            (1.0, 1000..=1000),
        ] {
            let sampler = SpanSampler::new(share);
            let traced = (0..1000).filter(|_| sampler.decide(None)).count();
            assert!(expected.contains(&traced), "{share}: {traced}");
        }
    }

    #[test]
    fn a_proxys_decision_counts_unless_nothing_is_exported() {
        let sampler = SpanSampler::new(0.000_001);
        assert!(sampler.decide(Some(true)));
        assert!(!sampler.decide(Some(false)));
        assert!(!SpanSampler::default().decide(Some(true)));
    }
}
