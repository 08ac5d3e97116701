//! The audit log as hash chains: each entry names the digest of the one before it, so a changed, removed or inserted
//! entry shows.
//!
//! The log has lanes, each of which is a chain with one writer at a time. So writers never wait for each other. The
//! last entry of each transaction has a message authentication code, and so have a lane's anchor (where retention
//! deleted up to) and the root (the heads of all lanes, every second). Their key is not in the database.
//!
//! A digest is SHA-256 over a name with a version and then each value in order: numbers as eight bytes, texts with
//! their length before them, optional values after a byte that says whether they are present. So no two entries have
//! the same encoding. Personal data is covered by a salted digest of its own. Once the salt is erased, nobody can guess
//! the data, and the chain stays intact.

mod mark;
mod record;
mod root;
mod verification;

pub use mark::{End, Mark, StoredMark};
pub use record::{ChainKey, Record, personal_digest};
pub use root::{Heads, Positions, PositionsError, Root, StoredRoot};
pub use verification::{Break, LaneBreak, Place, VerificationCounts, Walk};
