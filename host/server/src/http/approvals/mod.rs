//! The endpoints for callbacks about approval requests.

pub(crate) mod callbacks;
