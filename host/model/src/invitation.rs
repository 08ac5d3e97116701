//! Invitations: links with which invited users enrol their first authenticator, and the emails that contain them.

use serde::{Deserialize, Serialize};

use crate::audit::Actor;
use crate::clock::Timestamp;
use crate::id::{EnrolmentId, UserId};
use crate::user::User;

/// The state of an invitation's email.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum MailDelivery {
    /// The email waits for its first or next attempt.
    Queued,
    /// The SMTP server accepted the email.
    Sent,
    /// The server stopped its attempts.
    Failed,
}
crate::enum_texts!(MailDelivery);

/// The state of an invitation.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InvitationState {
    /// The user has no link.
    NoLink,
    /// The link is valid, and an administrator gives it to the user.
    Link,
    /// The email of the link is queued.
    Queued,
    /// The email of the link was sent.
    Sent,
    /// The server could not send the email. The link is still valid.
    Failed,
    /// The link expired unused.
    Expired,
}
crate::enum_texts!(InvitationState);

/// The link of an invitation, without its secret.
#[derive(Clone, Debug)]
pub struct InvitationLink {
    /// The row's id.
    pub id: EnrolmentId,
    /// The creation time.
    pub created_at: Timestamp,
    /// The expiry of the link.
    pub expires_at: Timestamp,
    /// The actor that created the link.
    pub inviter: Option<Actor>,
    /// The state of the email, the time of this state, and the error of the last attempt. `None` if the link is not
    /// emailed.
    pub mail: Option<(MailDelivery, Timestamp, Option<String>)>,
}

/// An invited user, with the latest unused link.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The user.
    pub user: User,
    /// The link.
    pub link: Option<InvitationLink>,
}

impl Invitation {
    /// Returns the state at `now`.
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
    /// The link in the email.
    pub enrolment: EnrolmentId,
    /// The invited user.
    pub user: UserId,
    /// The link, sealed.
    pub sealed_link: String,
    /// The expiry of the link.
    pub expires_at: Timestamp,
    /// The number of this attempt, from 1.
    pub attempt: u32,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// The SMTP server accepted it.
    Sent,
    /// The attempt failed, and another one follows.
    Retry {
        /// The time of the next attempt.
        at: Timestamp,
        /// The error.
        why: String,
    },
    /// The attempt failed, and no other one follows.
    GivenUp {
        /// The error.
        why: String,
    },
}
