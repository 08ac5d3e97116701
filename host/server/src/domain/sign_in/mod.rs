//! From the first request of a browser to its answer: the authentication of the user, the access to the application,
//! and the consent.
//!
//! - A page behaves the same for existing and unknown user names.
//! - The user is checked again when the sign-in ends, not only when a device approves it.
//! - An observer follows a sign-in. Only the observer of a test sign-in has an effect.

pub mod access;
pub mod consent;
pub mod context;
pub mod derived;
pub mod details_types;
pub mod device_authorization;
pub mod known_browsers;
pub mod login;
pub mod passkey;
pub mod qr_sign_in;
pub mod repeat;
pub mod scope_words;
pub mod test_sign_in;
