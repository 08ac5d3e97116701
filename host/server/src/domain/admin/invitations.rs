//! Invitations: links for one or many invited users. The administrator delivers them, or the server sends them by
//! email.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::users::named_users;
use super::{AdminError, Result, invalid};
use crate::domain::Services;
use crate::domain::admin::execution::{Execution, Recorder};
use crate::domain::devices::account_notifications;
use crate::domain::devices::device::enrolment;
use crate::domain::mail::outbox;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::{LinkedUser, ProtectedAction};
use assent_model::administration::Permission;
use assent_model::audit::Event;
use assent_model::caller::{Authorization, Caller};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::invitation::{Invitation, InvitationState};
use assent_model::search::Cursor;
use assent_model::user::User;
use assent_store::{NewInvitation, StoreError, UserAction, UserGuard};

/// A link that enrols one device.
#[derive(Clone, Debug)]
pub struct EnrolmentLink {
    /// The link.
    pub link: String,
    /// The time at which the link expires.
    pub expires_at: Timestamp,
}

/// The largest number of users that one request may name.
pub const MOST_INVITATIONS: usize = 100;

/// The way in which a link reaches the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvitationDelivery {
    /// The response has the link, and the administrator delivers it.
    Link,
    /// The server sends it to the user's email address.
    Email,
}

/// The link of a user, or the reason why there is none.
#[derive(Clone, Debug)]
pub struct InvitedUser {
    /// The user.
    pub user: User,
    /// The link, or the reason why the user was skipped.
    pub link: std::result::Result<EnrolmentLink, &'static str>,
}

assent_model::admin_command! {
    /// Creates a link for each of several invited users. An earlier link of the same user is revoked.
    #[derive(Clone, Debug, Serialize)]
    pub struct InviteUsers {
        /// The users.
        target users: Vec<UserId>,
        /// The way in which the links reach the users.
        target delivery: InvitationDelivery,
    }
}

/// The users, each with the reason why it is skipped, if there is one.
type Invitees = Vec<(User, Option<&'static str>)>;

impl AdminCommand for InviteUsers {
    type Plan = (Invitees, InvitationDelivery);
    type Outcome = Vec<InvitedUser>;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self::Plan>> {
        let services = &context.services;
        let by_email = self.delivery == InvitationDelivery::Email;
        if by_email && services.mailer.is_none() {
            return Err(AdminError::Conflict(NO_MAIL));
        }
        let mut authorization = authorize(&context.caller)?;
        if !by_email {
            authorization = authorization.and(context.caller.authorize_first_authenticator()?);
        }
        let mut invitees = Vec::new();
        for user in users(services, &self.users).await? {
            let skipped = match &user {
                user if !user.is_only_invited() => Some(reason(user)),
                user if by_email && user.email.is_none() => Some("the user has no email address"),
                _ => None,
            };
            invitees.push((user, skipped));
        }
        // The holder of a link becomes the user. By email it reaches only the user's own address.
        let receiving = invitees.iter().filter(|(_, skipped)| skipped.is_none());
        let users: Vec<LinkedUser> = receiving.map(|(user, _)| LinkedUser::from(user)).collect();
        let action = (!by_email && !users.is_empty())
            .then_some(ProtectedAction::CreateInvitationLinks { users });
        Ok(Planned::new(
            authorization,
            (invitees, self.delivery),
            action,
        ))
    }

    async fn execute(
        approved: ApprovedPlan<'_, Self::Plan>,
    ) -> Result<Execution<Vec<InvitedUser>>> {
        let ((invitees, delivery), recorder) = approved.into_parts();
        let mut invited = Vec::new();
        for (user, skipped) in invitees {
            let link = match skipped {
                Some(why) => Err(why),
                None => match insert_link(&recorder, &user, delivery).await? {
                    Execution::Done(link) => Ok(link),
                    Execution::Overtaken => Err("the user was changed at the same time; try again"),
                },
            };
            invited.push(InvitedUser { user, link });
        }
        if delivery == InvitationDelivery::Email {
            recorder.services.wakeups.send(Wakeup::MailQueued);
        }
        Ok(Execution::Done(invited))
    }
}

/// The error if the server sends no email.
pub(super) const NO_MAIL: &str =
    "this server sends no email; set the table [mail] in its settings, and restart it";

fn authorize(caller: &Caller) -> Result<Authorization> {
    Ok(caller.authorize(Permission::UsersWrite, "you may not invite users")?)
}

/// Returns the reason why a user receives no invitation.
const fn reason(user: &User) -> &'static str {
    match user.console_role {
        Some(_) => "the user has a role in the console; create the link on the user's own page",
        None => "the user is not invited any more",
    }
}

async fn users(services: &Services, ids: &[UserId]) -> Result<Vec<User>> {
    if ids.is_empty() || ids.len() > MOST_INVITATIONS {
        return Err(invalid(
            "users",
            format!("expected the ids of 1 to {MOST_INVITATIONS} users"),
        ));
    }
    named_users(services, ids).await
}

/// Creates a link for a user in this version. It replaces an earlier link of an invited user.
pub(super) async fn insert_link(
    recorder: &Recorder<'_>,
    user: &User,
    delivery: InvitationDelivery,
) -> Result<Execution<EnrolmentLink>> {
    let services = recorder.services;
    let (enrolment, token) = enrolment::prepare_enrolment(services, user.id);
    let link = enrolment::enrolment_link(services, &token);
    let (id, expires_at) = (enrolment.id, enrolment.expires_at);
    let sealed_link = match delivery {
        InvitationDelivery::Link => None,
        InvitationDelivery::Email => Some(outbox::seal_link(services, id, &link)?),
    };
    let entry = |event| {
        recorder
            .entry(event)
            .about(user.id)
            .with("enrolment", id.to_string())
    };
    let invitation = NewInvitation {
        enrolment,
        inviter: recorder.by.actor.clone(),
        sealed_link,
        resent: Some(entry(Event::InvitationResent)),
    };
    let action = UserAction::Invite(UserGuard::from(user), invitation);
    let entries = vec![entry(Event::EnrolmentLinkCreated)];
    Ok(recorder.write_user(action, entries).await?.map(|()| {
        tracing::info!(user = %user.id, "enrolment link created");
        account_notifications::notify(services, user.id, None);
        EnrolmentLink { link, expires_at }
    }))
}

assent_model::admin_command! {
    /// Revokes the links of several invited users.
    #[derive(Clone, Debug, Serialize)]
    pub struct WithdrawInvitations {
        /// The users.
        target users: Vec<UserId>,
    }
}

impl AdminCommand for WithdrawInvitations {
    type Plan = Vec<User>;
    type Outcome = u64;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Vec<User>>> {
        let mut authorization = authorize(&context.caller)?;
        let users = users(&context.services, &self.users).await?;
        for user in &users {
            authorization = authorization.and(context.caller.authorize_user_access(user)?);
        }
        Ok(Planned::harmless(authorization, users))
    }

    async fn execute(approved: ApprovedPlan<'_, Vec<User>>) -> Result<Execution<u64>> {
        let (users, recorder) = approved.into_parts();
        let services = recorder.services;
        let mut withdrawn = 0;
        for user in users {
            let entry = recorder.entry(Event::InvitationWithdrawn).about(user.id);
            let ended = services
                .store
                .withdraw_invitation(&user, entry, services.now())
                .await;
            match ended {
                Ok(true) => withdrawn += 1,
                // The user enrolled a device or was changed. There is no link to revoke any more, or another request
                // revoked it.
                Ok(false) | Err(StoreError::Stale) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Execution::Done(withdrawn))
    }
}

/// Returns invited users with their links, in the order of their names. With a state, returns only invitations in that
/// state.
pub async fn invitations(
    services: &Services,
    state: Option<InvitationState>,
    after: Option<&Cursor>,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<Invitation>> {
    Ok(services.store.invitations(state, after, limit, now).await?)
}
