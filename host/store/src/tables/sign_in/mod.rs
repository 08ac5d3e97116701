//! Sign-ins, until they are answered.

pub(crate) mod consents;
pub(crate) mod logins;
pub(crate) mod open_sign_ins;
pub(crate) mod passkey_sign_ins;
pub(crate) mod pushed_request_row;
pub(crate) mod pushed_requests;
pub(crate) mod replay_cache;
pub(crate) mod sign_on;
pub(crate) mod sign_on_requests;
pub(crate) mod test_sign_ins;
