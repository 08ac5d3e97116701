//! Commands about the devices of users.

use serde::Serialize;

use super::queries::user;
use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::invitations::{EnrolmentLink, InvitationDelivery, insert_link};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::devices::device;
use crate::domain::devices::device::OwnDevice;
use crate::domain::protected_actions::ProtectedAction;
use assent_model::audit::Event;
use assent_model::device::{Device, OpenLink};
use assent_model::id::{DeviceId, EnrolmentId, UserId};
use assent_model::recovery::CodesOfDevice;
use assent_model::user::User;
use assent_store::{UserAction, UserGuard};

assent_model::admin_command! {
    /// Creates a link with which a user enrols one device.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct EnrolDevice(target UserId);
}

impl AdminCommand for EnrolDevice {
    type Plan = User;
    type Outcome = (User, EnrolmentLink);

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let user = user(&context.services, self.0).await?;
        let services = &context.services;
        let mut authorization = context.caller.authorize_user_access(&user)?;
        if !user.state.is_open() {
            return Err(invalid(
                "state",
                "only an invited or active user can enrol a device",
            ));
        }
        if !services.store.had_authenticator(user.id).await? {
            authorization = authorization.and(context.caller.authorize_first_authenticator()?);
        }
        let action = ProtectedAction::EnrolDevice(user.id);
        Ok(Planned::protected(authorization, user, action))
    }

    async fn execute(approved: ApprovedPlan<'_, User>) -> Result<Execution<(User, EnrolmentLink)>> {
        let (user, recorder) = approved.into_parts();
        let link = insert_link(&recorder, &user, InvitationDelivery::Link).await?;
        Ok(link.map(|link| (user, link)))
    }
}

/// Returns the links with which devices of a user can be enrolled now.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn open_links(services: &Services, id: UserId) -> Result<Vec<OpenLink>> {
    let user = user(services, id).await?;
    Ok(services
        .store
        .open_links_of(user.id, services.now())
        .await?)
}

assent_model::admin_command! {
    /// Ends an open enrolment link of a user.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct EndEnrolmentLink {
        /// The user.
        target user: UserId,
        /// The link.
        target link: EnrolmentId,
    }
}

impl AdminCommand for EndEnrolmentLink {
    type Plan = (User, EnrolmentId);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self::Plan>> {
        let user = user(&context.services, self.user).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        Ok(Planned::harmless(authorization, (user, self.link)))
    }

    async fn execute(approved: ApprovedPlan<'_, Self::Plan>) -> Result<Execution<()>> {
        let ((user, link), recorder) = approved.into_parts();
        let entry = recorder
            .entry(Event::InvitationWithdrawn)
            .about(user.id)
            .with("enrolment", link.to_string());
        let end = UserAction::EndEnrolmentLink(UserGuard::from(&user), link);
        recorder.write_user(end, vec![entry]).await
    }
}

/// Returns the devices of a user that are not revoked.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn devices(services: &Services, id: UserId) -> Result<Vec<OwnDevice>> {
    Ok(device::all_of(services, user(services, id).await?.id).await?)
}

assent_model::admin_command! {
    /// Revokes a device.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct RevokeDevice(target DeviceId);
}

impl AdminCommand for RevokeDevice {
    type Plan = (Device, User);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(Device, User)>> {
        let services = &context.services;
        let found = services.store.device(self.0).await?;
        let found = found.ok_or(AdminError::NotFound("device"))?;
        let owner = user(services, found.user_id).await?;
        let authorization = context.caller.authorize_user_access(&owner)?;
        let has_role = owner.console_role.is_some();
        let action = has_role.then_some(ProtectedAction::RevokeDevice(found.id));
        Ok(Planned::new(authorization, (found, owner), action))
    }

    async fn execute(approved: ApprovedPlan<'_, (Device, User)>) -> Result<Execution<()>> {
        let ((device, owner), recorder) = approved.into_parts();
        let revoked = device::revoke_of(
            recorder.services,
            &device,
            &owner,
            CodesOfDevice::End,
            recorder.by,
        )
        .await;
        match Execution::from_write(revoked)? {
            Execution::Done(Some(_)) => Ok(Execution::Done(())),
            Execution::Done(None) => Err(AdminError::NotFound("device")),
            Execution::Overtaken => Ok(Execution::Overtaken),
        }
    }
}
