//! Sign-on (SAML profiles section 4.1): checking the request, and answering it once the person is known.
//!
//! A request is checked when it comes, by whichever binding, and kept; the browser is sent on to where it brings its
//! cookies along, which it does not when another site posts.

mod checks;
mod denied;
mod requested_subject;
mod respond;
mod response;
mod session;

pub use checks::{AcceptedSignOn, SignOnError, Unanswerable, check, unsolicited};
pub use denied::SignOnDenied;
pub use respond::{AuthenticatedSignOn, SignOnAnswer, SignOnOutcome, deny, failed, respond};
pub use response::{Assertion, Envelope, PHISHING_RESISTANT, failure as failure_response, success};
pub use session::may_go_on;
