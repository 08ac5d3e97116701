//! Single logout (SAML profiles section 4.4): the participants of a session, and one logout through them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, LogoutId, UserId};
use crate::redirect::CheckedRedirect;
use crate::saml::name_id::NameId;
use crate::saml::settings::Binding;
use crate::secret::Digest;

/// A service provider's part in a session: what it was told, by which it will speak of the session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participation {
    /// The session's `sid`.
    pub sid: String,
    /// The service provider.
    pub application: Did,
    /// The user.
    pub user_id: UserId,
    /// What it calls the person.
    pub name_id: NameId,
    /// The digest of its `SessionIndex`: the index itself proves to an unsigned LogoutRequest that its sender knows the
    /// session.
    pub session_index: Digest,
}

/// What is left to do of a session that has ended: its service providers can only be told by the browser that held it.
#[derive(Clone, Debug, Default)]
pub struct SessionEnd {
    /// The service providers that took part.
    pub participants: Vec<Participation>,
    /// The cookies that show a browser to be the one.
    pub browsers: Vec<SessionBrowser>,
}

/// A browser that held a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionBrowser {
    /// The session's `sid`.
    pub sid: String,
    /// The digest of a cookie of the browser, as text.
    pub cookie: String,
}

impl SessionEnd {
    /// Lets the browser whose cookie has this digest tell all of them: it has just shown that it holds the session.
    pub fn held_by(mut self, cookie: Digest) -> Self {
        let sids: BTreeSet<&String> = self
            .participants
            .iter()
            .map(|participant| &participant.sid)
            .collect();
        self.browsers = sids
            .into_iter()
            .map(|sid| SessionBrowser {
                sid: sid.clone(),
                cookie: cookie.to_text(),
            })
            .collect();
        self
    }
}

/// A logout whose service providers are told one after the other.
#[derive(Clone, Debug)]
pub struct Logout {
    /// The row's id; it stands in the address of its page.
    pub id: LogoutId,
    /// The browsers that may tell them.
    pub browsers: Vec<SessionBrowser>,
    /// What the browser does when all were told.
    pub continuation: LogoutContinuation,
    /// Until when it can be gone on with.
    pub expires_at: Timestamp,
}

/// What the browser does when all were told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogoutContinuation {
    /// It is shown the page that says that they are signed out.
    Page,
    /// It goes to a registered address of an OpenID Connect client.
    Redirect {
        /// The address.
        redirect: CheckedRedirect,
        /// Goes along.
        state: Option<String>,
    },
    /// The service provider that asked is answered.
    Respond(LogoutAnswer),
}

/// Where a LogoutResponse goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutAnswer {
    /// The service provider.
    pub application: Did,
    /// Its URL.
    pub destination: CheckedRedirect,
    /// How it travels.
    pub binding: Binding,
    /// The `ID` of the LogoutRequest.
    pub in_response_to: String,
    /// Given back as it came.
    pub relay_state: Option<String>,
}

/// A service provider that is to be told of a logout.
#[derive(Clone, Debug)]
pub struct LogoutTurn {
    /// The `ID` of the LogoutRequest.
    pub request: String,
    /// Whom it tells.
    pub application: Did,
    /// The `sid` of the session that ended.
    pub sid: String,
    /// What the service provider calls the person.
    pub name_id: NameId,
    /// When it was sent.
    pub requested_at: Option<Timestamp>,
    /// The result.
    pub outcome: Option<LogoutOutcome>,
}

/// What came of telling a service provider of a logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// It ended its session.
    Told,
    /// It did not, or did not answer in time.
    Failed,
}
