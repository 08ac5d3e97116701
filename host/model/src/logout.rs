//! The notification of applications about ended sessions.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::id::Did;
use crate::outbox;

/// The delays after the first attempts, in seconds. The last one applies to all further attempts.
const PAUSES: [u64; 5] = [5, 30, 2 * 60, 10 * 60, 60 * 60];
/// The time after which the server stops its attempts to notify an application.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The delivery of a logout token to an application, claimed for one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutDelivery {
    /// The row's id.
    pub id: String,
    /// The application.
    pub application: Did,
    /// The session's id in the application's ID tokens.
    pub sid: String,
    /// The user's subject in the application.
    pub subject: String,
    /// The number of started attempts, including this one.
    pub attempts: u32,
    /// The time at which the session ended.
    pub created_at: Timestamp,
}

/// A client with a front-channel logout URI that took part in an ended session. Only the browser of the session can
/// load the URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontchannelParticipation {
    /// The session's `sid`.
    pub sid: String,
    /// The client.
    pub application: Did,
    /// Whether the client also receives a logout token.
    pub has_backchannel: bool,
}

/// A client that took part in an ended session, for the page of the logout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutClient {
    /// The session's `sid`.
    pub sid: String,
    /// The client.
    pub application: Did,
    /// The known result of its sign-out.
    pub outcome: Option<ClientLogoutOutcome>,
}

/// What is known of the sign-out at a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientLogoutOutcome {
    /// The client accepted a logout token (OpenID Connect Back-Channel Logout 1.0).
    Notified,
    /// The browser loaded the client's sign-out page (OpenID Connect Front-Channel Logout 1.0). The client may not have
    /// found the session, because browsers block third-party cookies.
    Loaded,
}

impl LogoutDelivery {
    /// Returns the time of the next attempt if this one fails at `now`, or `None` if this is the last one.
    pub fn again_after(&self, now: Timestamp) -> Option<Timestamp> {
        outbox::again_after(&PAUSES, self.attempts, self.created_at + LONGEST, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_intervals_grow_and_retries_end_after_a_day() {
        let start = Timestamp::from_seconds(1_800_000_000);
        let did = Did::from_ed25519(&[1; 32]);
        let (sid, subject) = ("sid".to_owned(), "ada".to_owned());
        let mut delivery = LogoutDelivery {
            id: "id".to_owned(),
            application: did,
            sid,
            subject,
            attempts: 1,
            created_at: start,
        };
        let mut now = start;
        let mut pauses = Vec::new();
        while let Some(again) = delivery.again_after(now) {
            pauses.push(again.seconds() - now.seconds());
            now = again;
            delivery.attempts += 1;
        }
        assert_eq!(pauses[..7], [5, 30, 120, 600, 3600, 3600, 3600]);
        assert!(now <= start + LONGEST && now > start + LONGEST - Duration::from_secs(3600));
    }
}
