//! Invitations: links by which invited users enrol their first authenticator, and the emails that bring them.

use crate::audit::Actor;
use crate::clock::Timestamp;
use crate::id::{EnrolmentId, UserId};
use crate::user::User;

/// How the email of an invitation fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailDelivery {
    /// It waits for its first or its next attempt.
    Queued,
    /// The SMTP server accepted it.
    Sent,
    /// It was given up.
    Failed,
}

impl MailDelivery {
    /// Its name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }

    /// The delivery with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Queued, Self::Sent, Self::Failed]
            .into_iter()
            .find(|delivery| delivery.as_str() == name)
    }
}

/// The state of an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvitationState {
    /// The user has no link.
    NoLink,
    /// The link is open, and an administrator hands it over.
    Link,
    /// Its email waits to be sent.
    Queued,
    /// Its email was sent.
    Sent,
    /// Its email was given up. The link is still open.
    Failed,
    /// The link expired without being used.
    Expired,
}

impl InvitationState {
    /// Its name, as the store filters by it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoLink => "no_link",
            Self::Link => "link",
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

/// The link of an invitation, without its secret.
#[derive(Clone, Debug)]
pub struct InvitationLink {
    /// The row's id.
    pub id: EnrolmentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// Until when it is valid.
    pub expires_at: Timestamp,
    /// Who created it.
    pub inviter: Option<Actor>,
    /// How its email fares, since when, and why the last attempt failed. `None` if it is handed over otherwise.
    pub mail: Option<(MailDelivery, Timestamp, Option<String>)>,
}

/// An invited user, with the link that was created last and not used.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The user.
    pub user: User,
    /// The link.
    pub link: Option<InvitationLink>,
}

impl Invitation {
    /// Its state at `now`.
    pub fn state_at(&self, now: Timestamp) -> InvitationState {
        match &self.link {
            None => InvitationState::NoLink,
            Some(link) if link.expires_at <= now => InvitationState::Expired,
            Some(InvitationLink { mail: None, .. }) => InvitationState::Link,
            Some(InvitationLink {
                mail: Some((delivery, _, _)),
                ..
            }) => match delivery {
                MailDelivery::Queued => InvitationState::Queued,
                MailDelivery::Sent => InvitationState::Sent,
                MailDelivery::Failed => InvitationState::Failed,
            },
        }
    }
}

/// An email that this instance has leased for one attempt.
#[derive(Clone, Debug)]
pub struct LeasedMail {
    /// The link that it brings.
    pub enrolment: EnrolmentId,
    /// Whose link that is.
    pub user: UserId,
    /// The link, sealed.
    pub sealed_link: String,
    /// Until when the link is valid.
    pub expires_at: Timestamp,
    /// The number of this attempt, from 1.
    pub attempt: u32,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// The SMTP server accepted it.
    Sent,
    /// It failed, and the next attempt is at this time.
    Retry {
        /// When.
        at: Timestamp,
        /// Why.
        why: String,
    },
    /// It failed for good.
    GivenUp {
        /// Why.
        why: String,
    },
}
