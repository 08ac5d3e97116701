//! Single logout (SAML profiles section 4.4), which a service provider requests, or which begins at this server.
//!
//! The session ends here first. Then the other service providers of the session are notified, one after the other. A
//! page of this server loads the request to each in a frame, through which the response returns. A service provider
//! that does not respond in time is skipped. So no broken server prevents a user from signing out, or a requesting
//! service provider from getting its response.
//!
//! Afterwards the page loads the sign-out pages of the session's OpenID Connect clients, all at the same time (OpenID
//! Connect Front-Channel Logout 1.0). They return no response.

mod end;
mod incoming;
mod outgoing;
mod principal;
mod propagation;

pub use end::{LogoutEnd, LogoutReport};
pub use incoming::{LogoutError, Unanswerable, accept_request, accept_response};
pub use outgoing::{Outgoing, respond};
pub use propagation::{LogoutStart, LogoutView, ask, begin, recent, view};
