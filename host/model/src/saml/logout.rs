//! Single logout (SAML profiles section 4.4): the participants of a session, and one logout through them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, LogoutId, UserId};
use crate::logout::FrontchannelParticipation;
use crate::redirect::CheckedRedirect;
use crate::saml::name_id::NameId;
use crate::saml::settings::Binding;
use crate::secret::Digest;

/// A service provider's participation in a session: the identifiers of the session that the service provider received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participation {
    /// The session's `sid`.
    pub sid: String,
    /// The service provider.
    pub application: Did,
    /// The user.
    pub user_id: UserId,
    /// The user's NameID at the service provider.
    pub name_id: NameId,
    /// The digest of the `SessionIndex`. Knowledge of the index proves that the sender of an unsigned LogoutRequest
    /// knows the session.
    pub session_index: Digest,
}

/// The remaining work for an ended session. Only the browser of the session can notify the service providers, and the
/// clients with a front-channel logout URI.
#[derive(Clone, Debug, Default)]
pub struct SessionEnd {
    /// The participating service providers.
    pub participants: Vec<Participation>,
    /// The participating clients with a front-channel logout URI.
    pub frontchannel: Vec<FrontchannelParticipation>,
    /// The cookies that identify the browser of the session.
    pub browsers: Vec<SessionBrowser>,
    /// Whether another request ended the session before.
    pub ended_before: bool,
}

/// A browser of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionBrowser {
    /// The session's `sid`.
    pub sid: String,
    /// The digest of a cookie of the browser, as text.
    pub cookie: String,
}

impl SessionEnd {
    /// Whether the browser has applications to notify.
    pub fn needs_browser(&self) -> bool {
        !(self.participants.is_empty() && self.frontchannel.is_empty())
    }

    /// Whether an application is not notified if the browser of the session does not do it.
    pub fn only_browser_notifies(&self) -> bool {
        !self.participants.is_empty() || self.frontchannel.iter().any(|one| !one.has_backchannel)
    }

    /// Adds the remaining work of another session, which ended with this one.
    pub fn add(&mut self, other: Self) {
        self.participants.extend(other.participants);
        self.frontchannel.extend(other.frontchannel);
        self.browsers.extend(other.browsers);
    }

    /// Separates the applications of the session with this `sid` from the others. The parts name no browsers.
    pub fn split(self, sid: &str) -> (Self, Self) {
        let (here, elsewhere) = self
            .participants
            .into_iter()
            .partition(|one| one.sid == sid);
        let (frames_here, frames_elsewhere) = self
            .frontchannel
            .into_iter()
            .partition(|one| one.sid == sid);
        let part = |participants, frontchannel| Self {
            participants,
            frontchannel,
            ..Self::default()
        };
        (part(here, frames_here), part(elsewhere, frames_elsewhere))
    }

    /// Lets the browser with this cookie digest notify all applications. The browser has proved that it has the
    /// session.
    pub fn held_by(mut self, cookie: Digest) -> Self {
        let participants = self.participants.iter().map(|one| &one.sid);
        let clients = self.frontchannel.iter().map(|one| &one.sid);
        let sids: BTreeSet<&String> = participants.chain(clients).collect();
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

/// A logout that notifies service providers one after the other, and then clients at the same time.
#[derive(Clone, Debug)]
pub struct Logout {
    /// The row's id. The address of the logout page contains it.
    pub id: LogoutId,
    /// The browsers that may notify the applications.
    pub browsers: Vec<SessionBrowser>,
    /// The digest of the cookie of the browser that signed out, if a browser did.
    pub browser: Option<Digest>,
    /// The continuation after all notifications.
    pub continuation: LogoutContinuation,
    /// The end of the time for the frames of the clients, after the browser loaded the page with them;
    /// [`Logout::REPORTED`] after its report.
    pub frames_until: Option<Timestamp>,
    /// The expiry of the logout.
    pub expires_at: Timestamp,
}

impl Logout {
    /// The end of the time for the frames, if the browser reported which it loaded. A further report changes nothing.
    pub const REPORTED: Timestamp = Timestamp::from_millis(0);
}

/// The continuation of the browser after all service providers were notified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogoutContinuation {
    /// The browser shows the page that confirms the logout.
    Page,
    /// The browser goes to a registered address of an OpenID Connect client.
    Redirect {
        /// The address.
        redirect: CheckedRedirect,
        /// The `state` parameter of the redirect.
        state: Option<String>,
    },
    /// The server answers the service provider that requested the logout.
    Respond(LogoutAnswer),
    /// The server rejects the request of a service provider. No session ended.
    Reject {
        /// The recipient.
        answer: LogoutAnswer,
        /// The status code of the first level: a URI.
        code: String,
        /// The status code of the second level: a URI.
        second: Option<String>,
    },
}

/// The recipient of a LogoutResponse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutAnswer {
    /// The service provider.
    pub application: Did,
    /// The URL of the service provider.
    pub destination: CheckedRedirect,
    /// The binding of the response.
    pub binding: Binding,
    /// The `ID` of the LogoutRequest.
    pub in_response_to: String,
    /// Returned unchanged.
    pub relay_state: Option<String>,
}

/// The notification of one service provider about a logout.
#[derive(Clone, Debug)]
pub struct LogoutTurn {
    /// The `ID` of the LogoutRequest.
    pub request: String,
    /// The service provider.
    pub application: Did,
    /// The `sid` of the session that ended.
    pub sid: String,
    /// The user's NameID at the service provider.
    pub name_id: NameId,
    /// The time at which the request was sent.
    pub requested_at: Option<Timestamp>,
    /// The result.
    pub outcome: Option<LogoutOutcome>,
}

/// The result of the notification of a service provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// The service provider ended its session.
    Ended,
    /// The service provider did not end its session, or did not answer in time.
    Failed,
}
