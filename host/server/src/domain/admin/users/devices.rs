//! Commands about the devices of users.

use serde::Serialize;

use super::queries::user;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::devices::device::OwnDevice;
use crate::domain::devices::{account_notifications, device};
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{DeviceId, UserId};
use assent_model::recovery::CodesOfDevice;
use assent_model::user::User;

assent_model::admin_command! {
    /// Creates a link by which a person enrols one authenticator.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct EnrolDevice(target UserId);
}

/// A link that enrols one authenticator.
#[derive(Clone, Debug)]
pub struct EnrolmentLink {
    /// The link.
    pub link: String,
    /// Until when it is valid.
    pub expires_at: Timestamp,
}

impl AdminCommand for EnrolDevice {
    type Plan = User;
    type Outcome = EnrolmentLink;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let user = user(&context.services, self.0).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        if !user.state.is_open() {
            return Err(invalid(
                "state",
                "only an invited or active user can enrol a device",
            ));
        }
        // Nobody could sign in as an invited user yet.
        let action = (!user.is_only_invited()).then_some(ProtectedAction::EnrolDevice(user.id));
        Ok(Planned::new(authorization, user, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<User>,
        by: &AuditContext,
    ) -> Result<Execution<EnrolmentLink>> {
        let user = approved.into_plan();
        let services = &context.services;
        let (enrolment, token) = device::prepare_enrolment(services, user.id);
        let expires_at = enrolment.expires_at;
        let entry = audit::entry(services, Event::EnrolmentLinkCreated, by)
            .about(user.id)
            .with("enrolment", enrolment.id.to_string());
        let inserted = services
            .store
            .insert_enrolment(enrolment, &user, vec![entry], services.now())
            .await;
        let Execution::Done(()) = Execution::from_write(inserted)? else {
            return Ok(Execution::Overtaken);
        };
        tracing::info!(user = %user.id, "enrolment link created");
        account_notifications::notify(services, user.id, None);
        Ok(Execution::Done(EnrolmentLink {
            link: device::enrolment_link(services, &token),
            expires_at,
        }))
    }
}

/// A person's devices that are not revoked.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user. Otherwise if the database fails.
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

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<(Device, User)>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let (device, owner) = approved.into_plan();
        let revoked =
            device::revoke_of(&context.services, &device, &owner, CodesOfDevice::End, by).await;
        match Execution::from_write(revoked)? {
            Execution::Done(Some(_)) => Ok(Execution::Done(())),
            Execution::Done(None) => Err(AdminError::NotFound("device")),
            Execution::Overtaken => Ok(Execution::Overtaken),
        }
    }
}
