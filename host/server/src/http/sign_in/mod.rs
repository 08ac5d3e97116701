//! The pages of a sign-in and a sign-out.

pub(crate) mod answer;
pub(crate) mod confirm;
pub(crate) mod consent;
pub(crate) mod device_authorization;
pub(crate) mod login;
pub(crate) mod qr_sign_in;
pub(crate) mod session_end;
pub(crate) mod sign_out;
pub(crate) mod test_sign_in;
