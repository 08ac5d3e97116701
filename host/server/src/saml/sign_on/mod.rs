//! Sign-on (SAML profiles section 4.1): the check of the request, and the response after the user is known.
//!
//! A request is checked when it arrives, by either binding. If it arrives by redirect, and the browser's session is
//! sufficient, it is answered at once. Otherwise it is stored, and the browser is redirected, because it sends no
//! cookies when another site posts.

mod checks;
mod denied;
mod requested_subject;
mod respond;
mod response;
mod session;

pub use checks::{CheckedSignOn, SignOnError, Unanswerable, check, check_unsolicited, store};
pub use denied::SignOnDenied;
pub use respond::{
    AuthenticatedSignOn, SignOnAnswer, SignOnOutcome, deny, failure_answer, repeated_failure,
    respond,
};
pub use response::{Assertion, Envelope, PHISHING_RESISTANT, failure as failure_response, success};
pub use session::may_continue;
