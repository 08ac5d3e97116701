//! The key and the state with which an instance writes the audit log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::audit::lanes::Lanes;
use crate::{Result, StoreError};
use assent_model::audit::chain::{ChainKey, End, Mark, Root, StoredMark};
use assent_model::entropy::SharedEntropy;
use assent_model::secret::Digest;

crate::engine::sql::row! {
    /// The last entry of a lane, or its anchor.
    pub(crate) struct EndRow {
        seq: i64,
        digest: String,
        known_root: Option<i64>,
        mac: Option<String>,
        pub(crate) id: Option<String>,
    }
}

/// Reads the last entry of a lane.
pub(crate) const HEAD: &str = "SELECT seq, digest, known_root, mac, id FROM audit_entries
                               WHERE lane = $1 ORDER BY seq DESC, id DESC LIMIT 1";
/// Reads the anchor of a lane.
pub(crate) const ANCHOR: &str =
    "SELECT seq, digest, CAST(0 AS BIGINT) AS known_root, mac, CAST(NULL AS TEXT) AS id
     FROM audit_anchors WHERE lane = $1";

impl EndRow {
    /// The position and the digest.
    pub(crate) fn place(&self) -> (i64, &str) {
        (self.seq, &self.digest)
    }

    /// The end before the first entry, for a lane without an end in the database.
    pub(crate) fn before_first() -> Self {
        Self {
            seq: 0,
            digest: String::new(),
            known_root: None,
            mac: None,
            id: None,
        }
    }
}

/// The key of the audit log, and the lanes that this instance holds.
#[derive(Debug)]
pub struct ChainContext {
    key: ChainKey,
    entropy: SharedEntropy,
    pub(crate) lanes: Lanes,
    /// The number of the newest root that this instance has seen.
    newest_root: AtomicI64,
    /// The lanes for which this instance has reported tampering. `None` is the root.
    reported: Mutex<BTreeSet<Option<i64>>>,
}

impl ChainContext {
    /// The context with the key of the message authentication codes and the source of salts.
    pub fn new(key: ChainKey, entropy: SharedEntropy) -> Self {
        Self {
            key,
            entropy,
            lanes: Lanes::default(),
            newest_root: AtomicI64::new(0),
            reported: Mutex::default(),
        }
    }

    pub(crate) fn end_code(
        &self,
        end: End,
        lane: i64,
        mark: &Mark,
        known_root: i64,
    ) -> Result<Digest> {
        self.key
            .end_code(end, lane, mark, known_root)
            .map_err(|error| StoreError::Chain(error.to_string()))
    }

    pub(crate) fn root_code(&self, root: &Root) -> Result<Digest> {
        self.key
            .root_code(root)
            .map_err(|error| StoreError::Chain(error.to_string()))
    }

    pub(crate) fn stored_end(&self, end: End, lane: i64, row: &EndRow) -> Result<StoredMark> {
        let digest = Digest::from_text(&row.digest);
        let mark = Mark {
            seq: row.seq,
            digest: digest.unwrap_or(Mark::START.digest),
        };
        let known_root = row.known_root.unwrap_or(0);
        let code = self.end_code(end, lane, &mark, known_root)?;
        let mac = row.mac.as_deref().and_then(Digest::from_text);
        Ok(StoredMark {
            mark,
            authentic: digest.is_some() && mac == Some(code),
            known_root,
        })
    }

    /// Records the number of a root that this instance wrote or read.
    pub(crate) fn note_root(&self, number: i64) {
        self.newest_root.fetch_max(number, Ordering::AcqRel);
    }

    /// The number of the newest root that this instance knows.
    pub(crate) fn newest_root(&self) -> i64 {
        self.newest_root.load(Ordering::Acquire)
    }

    /// Removes the cached ends of lanes and the number of the root. After a lost connection, the next one may lead to
    /// another database that lacks the last transactions.
    pub(crate) fn forget_ends(&self) {
        self.lanes.take_all();
        self.newest_root.store(0, Ordering::Release);
    }

    pub(crate) fn salt(&self) -> String {
        hex::encode(self.entropy.bytes::<16>())
    }

    /// Reports tampering with the log, once for each lane and the root.
    pub(crate) fn report_tampering(&self, lane: Option<i64>, reason: &'static str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(lane) {
            tracing::error!(
                lane,
                reason,
                "audit log tampered with, run `assent audit verify`"
            );
        }
    }
}
