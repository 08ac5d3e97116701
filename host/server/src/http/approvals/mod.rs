//! Where other services call about approval requests.

pub(crate) mod callbacks;
