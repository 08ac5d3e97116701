//! Randomness as a parameter: no other part of the server requests it from the operating system.

use std::fmt;
use std::sync::Arc;

/// The source of random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `buffer` with random bytes for keys and tokens.
    fn fill(&self, buffer: &mut [u8]);
}

impl dyn Entropy {
    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut buffer = [0; N];
        self.fill(&mut buffer);
        buffer
    }

    /// Returns a uniformly distributed number below `bound`. `bound` must not be zero.
    pub fn below(&self, bound: u32) -> u32 {
        let bound = bound.max(1);
        // Values after the last multiple of `bound` would bias the result towards small numbers, so they are drawn
        // again.
        let limit = u32::MAX - u32::MAX % bound;
        loop {
            let drawn = u32::from_le_bytes(self.bytes());
            if drawn < limit {
                return drawn % bound;
            }
        }
    }
}

impl fmt::Debug for dyn Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// A source of randomness that several parts of the server share.
pub type SharedEntropy = Arc<dyn Entropy>;

/// The generator of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[allow(
        clippy::disallowed_methods,
        clippy::panic,
        reason = "the only place that reads random bytes; without them the server must not continue"
    )]
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            panic!("the operating system returns no random bytes: {error}");
        }
    }
}
