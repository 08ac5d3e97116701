//! Single logout (SAML profiles section 4.4): asked for by a service provider, or begun here.
//!
//! The session ends here first. Then its other service providers are told, one after the other: a page of ours holds a
//! frame for each in its turn, which brings it the request and us the answer. One that does not answer in time is
//! passed over, so nobody's broken server keeps a person from signing out, or the one who asked from its answer.

mod incoming;
mod outgoing;
mod principal;
mod propagation;

pub use incoming::{LogoutError, Unanswerable, answered, requested};
pub use outgoing::{Outgoing, respond};
pub use propagation::{LogoutEnd, LogoutStart, LogoutView, ask, begin, view};
