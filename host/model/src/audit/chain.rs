//! The chain of the audit log: each entry names the digest of the one before, so none can be changed, taken out or put
//! in without the rest showing it.
//!
//! A digest is SHA-256 over a name with a version and then each value in its order: numbers as eight bytes, texts with
//! their length before them, and before what may be missing a byte that says whether it is there. So no two entries
//! have one encoding. What is personal is covered by a salted digest of its own: with the salt erased nothing can be
//! guessed from that, and the chain stays whole. Where the chain begins and ends is authenticated by a key that is not
//! in the database.

mod record;
mod verification;

pub use record::{ChainKey, End, Mark, Record, StoredMark, personal_digest};
pub use verification::{Break, VerificationCounts, Walk};
