//! The audit log as hash chains: each entry contains the digest of the preceding entry, so that a changed, removed or
//! inserted entry is detected.
//!
//! The log has lanes. Each lane is a chain with one writer at a time, so writers never wait for each other. The last
//! entry of each transaction has a message authentication code. So have a lane's anchor (the last entry that retention
//! deleted), and the root (the heads of all lanes, every second). The key of these codes is not in the database.
//!
//! A digest is the SHA-256 of a name with a version, followed by each value in order. Numbers have eight bytes, texts
//! follow their length, and optional values follow a byte that indicates their presence. So two different entries never
//! have the same encoding. A separate salted digest covers personal data. After erasure of the salt, the data cannot be
//! guessed, and the chain remains intact.

mod mark;
mod record;
mod root;
mod verification;

pub use mark::{End, Mark, StoredMark};
pub use record::{ChainKey, Record, personal_digest};
pub use root::{Heads, Positions, PositionsError, Root, StoredRoot};
pub use verification::{Break, LaneBreak, Place, VerificationCounts, Walk};
