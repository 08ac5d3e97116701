//! Email: its texts, and the outbox of invitations.

pub mod letter;
pub mod outbox;
