//! The confirmation of email addresses.

use serde::Serialize;

use super::entries::differences;
use super::queries::named_users;
use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::protected_actions::{ConfirmedUser, ProtectedAction};
use assent_model::administration::Permission;
use assent_model::id::{Did, UserId};
use assent_model::user::{LifecycleState, User};
use assent_store::{StoreError, UserWrite};

/// The largest number of users that one request may name.
const MOST: usize = 100;

assent_model::admin_command! {
    /// Confirms the email addresses of several users, so that SAML applications receive them. Users without an address,
    /// or with a confirmed one, stay unchanged.
    #[derive(Clone, Debug, Serialize)]
    pub struct ConfirmEmails {
        /// The users.
        target users: Vec<UserId>,
    }
}

impl AdminCommand for ConfirmEmails {
    type Plan = Vec<User>;
    type Outcome = Vec<User>;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Vec<User>>> {
        let caller = &context.caller;
        let mut authorization = caller.authorize(
            Permission::UsersManage,
            "you may not confirm an email address",
        )?;
        if self.users.is_empty() || self.users.len() > MOST {
            return Err(invalid(
                "users",
                format!("expected the ids of 1 to {MOST} users"),
            ));
        }
        let mut users = named_users(&context.services, &self.users).await?;
        users.retain(|user| {
            !user.email_confirmed
                && user.email.is_some()
                && user.state != LifecycleState::Terminated
        });
        for user in &users {
            authorization = authorization.and(caller.authorize_user_access(user)?);
        }
        let addresses: Vec<ConfirmedUser> =
            users.iter().filter_map(ConfirmedUser::from_user).collect();
        let action =
            (!addresses.is_empty()).then_some(ProtectedAction::ConfirmEmails { users: addresses });
        Ok(Planned::new(authorization, users, action))
    }

    async fn execute(approved: ApprovedPlan<'_, Vec<User>>) -> Result<Execution<Vec<User>>> {
        let (mut confirmed, recorder) = approved.into_parts();
        let services = recorder.services;
        let mut writes = Vec::new();
        for user in &mut confirmed {
            let before = user.clone();
            user.email_confirmed = true;
            user.updated_at = services.now();
            writes.push(UserWrite {
                before: Some(before.state),
                entries: differences(services, &before, user, recorder.by),
                user: user.clone(),
            });
        }
        match services.store.save_users(writes).await {
            Ok(()) => {}
            Err(StoreError::Overtaken(_)) => return Ok(Execution::Overtaken),
            Err(error) => return Err(error.into()),
        }
        tracing::info!(count = confirmed.len(), "email addresses confirmed");
        for user in &mut confirmed {
            user.version += 1;
        }
        Ok(Execution::Done(confirmed))
    }
}

/// Returns invited and active users whose email address is missing or not confirmed, in the order of their creation.
/// With an application, only those who have access to it.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application.
pub async fn unconfirmed_users(
    services: &Services,
    application: Option<&Did>,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<User>> {
    if let Some(application) = application
        && services.store.registered(application).await?.is_none()
    {
        return Err(AdminError::NotFound("application"));
    }
    Ok(services
        .store
        .unconfirmed_users(application, after, limit)
        .await?)
}
