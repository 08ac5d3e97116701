//! From the first request of a browser to its answer: who signs in, whether the application admits the user, what the
//! user agrees to.
//!
//! - A page behaves the same for a user name that does not exist and for one that exists.
//! - The user is checked again when the sign-in ends, not only when a device approves it.
//! - An observer follows a sign-in; only a test sign-in has one that does something.

pub mod access;
pub mod consent;
pub mod context;
pub mod known_browsers;
pub mod login;
pub mod passkey;
pub mod qr_sign_in;
pub mod test_sign_in;
