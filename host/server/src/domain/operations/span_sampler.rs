//! Which requests are traced. One that is not has no spans, so it costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::Span;

/// Chooses the share of the requests that is traced.
#[derive(Debug, Default)]
pub struct SpanSampler {
    /// Of 2^32, how many are traced; 0 without an exporter.
    share: u64,
    /// Where the last decision stands in a sequence that is spread evenly.
    position: AtomicU64,
}

/// The step of the sequence: 2^32 divided by the golden ratio, so that each share is spread evenly over the requests.
const STEP: u64 = 0x9E37_79B9;
const ALL: u64 = 1 << 32;

impl SpanSampler {
    /// A sampler that traces this share of the requests, from 0 to 1.
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

    /// Whether any request is traced.
    pub const fn is_on(&self) -> bool {
        self.share > 0
    }

    /// The span of work in the background, which is disabled if that is not traced.
    pub fn background(&self, span: impl FnOnce() -> Span) -> Span {
        if self.decide(None) {
            span()
        } else {
            Span::none()
        }
    }

    /// Whether the next request is traced. `parent` says whether the trace that it belongs to is, where a proxy began
    /// one.
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
