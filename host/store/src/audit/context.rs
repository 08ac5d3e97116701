//! What the audit log is written with.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::audit::lanes::Lanes;
use crate::{Result, StoreError};
use assent_model::audit::chain::{ChainKey, End, Mark, Root};
use assent_model::entropy::SharedEntropy;
use assent_model::secret::Digest;

/// The key of the audit log, and the lanes that this instance holds.
#[derive(Debug)]
pub struct ChainContext {
    key: ChainKey,
    entropy: SharedEntropy,
    pub(crate) lanes: Lanes,
    /// The number of the newest root that this instance saw.
    pub(crate) newest_root: AtomicI64,
    /// Whether this instance has reported that the log was tampered with.
    reported: AtomicBool,
}

impl ChainContext {
    /// The key of the message authentication codes, and where salts come from.
    pub fn new(key: ChainKey, entropy: SharedEntropy) -> Self {
        Self {
            key,
            entropy,
            lanes: Lanes::default(),
            newest_root: AtomicI64::new(0),
            reported: AtomicBool::new(false),
        }
    }

    pub(crate) fn end_code(&self, end: End, lane: i64, mark: &Mark) -> Result<Digest> {
        self.key
            .end_code(end, lane, mark)
            .map_err(|error| StoreError::Chain(error.to_string()))
    }

    pub(crate) fn root_code(&self, root: &Root) -> Result<Digest> {
        self.key
            .root_code(root)
            .map_err(|error| StoreError::Chain(error.to_string()))
    }

    /// Whether the text is the code of this end.
    pub(crate) fn verify_end(&self, end: End, lane: i64, mark: &Mark, mac: &str) -> Result<bool> {
        Ok(Digest::from_text(mac) == Some(self.end_code(end, lane, mark)?))
    }

    pub(crate) fn salt(&self) -> String {
        hex::encode(self.entropy.bytes::<16>())
    }

    /// Reports, once, that somebody else changed the log.
    pub(crate) fn report_tampering(&self, lane: Option<i64>, reason: &'static str) {
        if !self.reported.swap(true, Ordering::Relaxed) {
            tracing::error!(
                lane,
                reason,
                "audit log tampered with, run `assent audit verify`"
            );
        }
    }
}
