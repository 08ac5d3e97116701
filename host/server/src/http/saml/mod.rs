//! The endpoints under `/sso`.

pub(crate) mod logout;
pub(crate) mod metadata;
pub(crate) mod sign_on;
