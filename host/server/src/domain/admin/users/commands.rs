//! Commands that create, update, delete and erase users.

use serde::Serialize;

use super::change::{apply_to_user, check_new_name, login_name};
use super::document::{ProtectedUserMembers, UserChange};
use super::entries::{creation, differences};
use super::new_user::new_user;
use super::queries::user;
use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::{Authenticators, ProtectedAction, ProtectedUserChange};
use assent_model::administration::Permission;
use assent_model::audit::Event;
use assent_model::caller::Caller;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::{StoreError, UserAction};

assent_model::admin_command! {
    /// Creates a user. By default the user is invited until there is a device or external authenticator for approvals.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateUser(classified UserChange);
}

impl AdminCommand for CreateUser {
    type Plan = User;
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let Self(change) = self;
        let authorization = change.authorize(&context.caller, None)?;
        let user = described_user(&context.services, change.clone(), &context.caller)?;
        // A concurrent request may set the name before the write. Then the write is rejected.
        must_be_free(&context.services, &user).await?;
        // A new user has no previous name, address or state that a change could overwrite.
        let ProtectedUserMembers {
            name: _,
            email: _,
            email_confirmed: _,
            console_role,
            state: _,
        } = change.protected();
        let console_role = console_role.flatten();
        // Applications receive the name. With the address of another user as the name, this user could act as that one.
        let is_protected = console_role.is_some() || user.is_named_by_other_address();
        let action = is_protected.then(|| ProtectedAction::CreateUser {
            name: user.name.clone(),
            email: user.email.clone(),
            console_role,
        });
        Ok(Planned::new(authorization, user, action))
    }

    async fn execute(approved: ApprovedPlan<'_, User>) -> Result<Execution<User>> {
        let (user, recorder) = approved.into_parts();
        let entries = vec![creation(recorder.services, &user, recorder.by)];
        let insertion = UserAction::Insert(user.clone());
        let written = recorder.write_user(insertion, entries).await?;
        Ok(written.map(|()| {
            tracing::info!(user = %user.id, "user created");
            user
        }))
    }
}

/// Rejects a change that would remove the last owner, before an approval is requested. The write checks it again under
/// a lock.
async fn must_not_be_last_owner(services: &Services, user: &User) -> Result<()> {
    let is_owner = user.console_role == Some(ConsoleRole::Owner);
    match is_owner && services.store.is_last_owner(user.id).await? {
        true => Err(StoreError::LastOwner.into()),
        false => Ok(()),
    }
}

/// Rejects a name or email address with which another user signs in. The error names the member.
async fn must_be_free(services: &Services, user: &User) -> Result<()> {
    for (field, name) in std::iter::once(("name", &user.name))
        .chain(user.email.as_ref().map(|email| ("email", email)))
    {
        if services
            .store
            .user_by_login(name)
            .await?
            .is_some_and(|other| other.id != user.id)
        {
            return Err(AdminError::TakenAt(
                field,
                "another user signs in with it; choose another",
            ));
        }
    }
    Ok(())
}

/// Returns a new user that is not stored yet.
pub(super) fn described_user(
    services: &Services,
    change: UserChange,
    caller: &Caller,
) -> Result<User> {
    let name = change
        .name
        .clone()
        .ok_or_else(|| invalid("name", "expected a name"))?;
    let mut user = new_user(services, login_name("name", &name)?)?;
    // A name may be an address too: see `check_new_name`.
    user.email_confirmed = caller.may(Permission::UsersManage);
    apply_to_user(&mut user, change, caller)?;
    check_new_name(&user, caller)?;
    if user.state == LifecycleState::Terminated {
        return Err(invalid(
            "state",
            "a new user is invited, active or suspended",
        ));
    }
    Ok(user)
}

assent_model::admin_command! {
    /// Updates a user. A change of the state ends the sign-ins, sessions and tokens that began before.
    #[derive(Clone, Debug, Serialize)]
    pub struct UpdateUser {
        /// The user.
        target user: UserId,
        /// The update.
        classified change: UserChange,
    }
}

impl UpdateUser {
    /// Returns the changes that need an approval: those that differ from the stored values.
    async fn action(
        &self,
        services: &Services,
        before: &User,
        after: &User,
    ) -> Result<Option<ProtectedAction>> {
        let ProtectedUserMembers {
            name,
            email,
            email_confirmed: _,
            console_role,
            state,
        } = self.change.protected();
        let mut changes = Vec::new();
        if *state == Some(LifecycleState::Terminated) {
            changes.push(ProtectedUserChange::Terminate);
        }
        if name.is_some() && after.name != before.name {
            changes.push(ProtectedUserChange::Name(after.name.clone()));
        }
        let is_confirmed = after.email_confirmed && !before.email_confirmed;
        if email.is_some() && after.email != before.email {
            changes.push(ProtectedUserChange::Email(after.email.clone()));
        } else if let Some(email) = after.email.clone().filter(|_| is_confirmed) {
            changes.push(ProtectedUserChange::ConfirmEmail(email));
        }
        // The mark covers a name that is another address, too. A new name is in the summary already.
        if is_confirmed && after.is_named_by_other_address() && after.name == before.name {
            changes.push(ProtectedUserChange::ConfirmName);
        }
        // The role comes last, because the text after it in the summary is about the role.
        match console_role {
            Some(Some(role)) => changes.push(ProtectedUserChange::GrantRole {
                role: *role,
                authenticators: Authenticators {
                    devices: services.store.devices_of(before.id).await?.len() as u64,
                    external: services
                        .store
                        .external_authenticators(before.id)
                        .await?
                        .len() as u64,
                },
            }),
            Some(None) => changes.push(ProtectedUserChange::RemoveRole),
            None => {}
        }
        Ok(
            (!changes.is_empty()).then_some(ProtectedAction::UpdateUser {
                user: before.id,
                changes,
            }),
        )
    }
}

/// The user before and after an update.
#[derive(Clone, Debug)]
pub struct UserUpdate {
    before: User,
    after: User,
}

impl AdminCommand for UpdateUser {
    type Plan = UserUpdate;
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<UserUpdate>> {
        let services = &context.services;
        let before = user(services, self.user).await?;
        let caller = &context.caller;
        let authorization = caller
            .authorize_user_access(&before)?
            .and(self.change.authorize(caller, Some(&before))?);
        context.expected.check(before.version)?;
        let mut after = before.clone();
        apply_to_user(&mut after, self.change.clone(), caller)?;
        must_be_free(services, &after).await?;
        let stays_owner = after.console_role == Some(ConsoleRole::Owner) && after.state.is_open();
        if !stays_owner {
            must_not_be_last_owner(services, &before).await?;
        }
        let action = self.action(services, &before, &after).await?;
        Ok(Planned::new(
            authorization,
            UserUpdate { before, after },
            action,
        ))
    }

    async fn execute(approved: ApprovedPlan<'_, UserUpdate>) -> Result<Execution<User>> {
        let (UserUpdate { before, mut after }, recorder) = approved.into_parts();
        let services = recorder.services;
        after.updated_at = services.now();
        let entries = differences(services, &before, &after, recorder.by);
        let update = UserAction::Update(after.clone(), before.state);
        let written = recorder.write_user(update, entries).await?;
        Ok(written.map(|()| {
            tracing::info!(user = %after.id, state = after.state.as_str(), "user updated");
            services.wakeups.send(Wakeup::LoggedOut);
            after.version += 1;
            after
        }))
    }
}

assent_model::admin_command! {
    /// Deletes a user, with the accounts and devices of the user.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct DeleteUser(target UserId);
}

impl AdminCommand for DeleteUser {
    type Plan = User;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let known = user(&context.services, self.0).await?;
        let authorization = context.caller.authorize_user_access(&known)?;
        context.expected.check(known.version)?;
        must_not_be_last_owner(&context.services, &known).await?;
        let action = ProtectedAction::DeleteUser(known.id);
        Ok(Planned::protected(authorization, known, action))
    }

    async fn execute(approved: ApprovedPlan<'_, User>) -> Result<Execution<()>> {
        let (known, recorder) = approved.into_parts();
        let services = recorder.services;
        let entry = recorder.entry(Event::UserDeleted).about(known.id);
        let deletion = UserAction::Delete(known.id, known.version);
        let written = recorder.write_user(deletion, vec![entry]).await?;
        Ok(written.map(|()| {
            services.wakeups.send(Wakeup::LoggedOut);
            tracing::info!(user = %known.id, "user deleted");
        }))
    }
}

assent_model::admin_command! {
    /// Erases the personal data and the belongings of a terminated user. The user remains under an erased name, so that
    /// the `did` and `sub` are never assigned to another user. The audit log remains too, without the personal data.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct EraseUser(target UserId);
}

impl AdminCommand for EraseUser {
    type Plan = (User, LoginName);
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, LoginName)>> {
        let id = self.0;
        let known = user(&context.services, id).await?;
        let authorization = context.caller.authorize_user_access(&known)?;
        context.expected.check(known.version)?;
        if known.state != LifecycleState::Terminated {
            return Err(AdminError::Conflict(
                "only a terminated user can be erased; set the state to \"terminated\" first",
            ));
        }
        let name = login_name("name", &known.erased_name())?;
        let action = ProtectedAction::EraseUser(id);
        Ok(Planned::protected(authorization, (known, name), action))
    }

    async fn execute(approved: ApprovedPlan<'_, (User, LoginName)>) -> Result<Execution<User>> {
        let ((known, name), recorder) = approved.into_parts();
        let services = recorder.services;
        let id = known.id;
        let entry = recorder.entry(Event::UserErased).about(id);
        let erasure = UserAction::Erase(id, known.version, name);
        let Execution::Done(()) = recorder.write_user(erasure, vec![entry]).await? else {
            return Ok(Execution::Overtaken);
        };
        services.wakeups.send(Wakeup::LoggedOut);
        tracing::info!(user = %id, "user erased");
        Ok(Execution::Done(user(services, id).await?))
    }
}
