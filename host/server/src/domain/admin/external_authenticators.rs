//! The identifiers of users at the authenticators of vendors.

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{Result, invalid, user};
use crate::domain::admin::execution::Execution;
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{Services, audit};
use assent_model::audit::Event;
use assent_model::delivery::ExternalAuthenticator;
use assent_model::id::UserId;
use assent_model::name::display_text;
use assent_model::user::{LifecycleState, User};
use assent_plugin_host::Trust;
use assent_store::{AdminWrite, UserAction, UserGuard};

/// The longest identifier, in characters.
const LONGEST: usize = 512;

/// Returns the external authenticators of a user, by the names of their channels.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user.
pub async fn external_authenticators(
    services: &Services,
    id: UserId,
) -> Result<Vec<ExternalAuthenticator>> {
    user(services, id).await?;
    Ok(services.store.external_authenticators(id).await?)
}

assent_model::admin_command! {
    /// Sets a user's identifier at the vendor of a delegated channel. An invited user can sign in from then on.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct SetExternalAuthenticator {
        /// The user.
        target user: UserId,
        /// The channel.
        protected channel: String,
        /// The user's identifier at the vendor.
        protected identifier: String,
    }
}

impl AdminCommand for SetExternalAuthenticator {
    type Plan = (User, ExternalAuthenticator);
    type Outcome = ExternalAuthenticator;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, ExternalAuthenticator)>> {
        let services = &context.services;
        let user = user(services, self.user).await?;
        let mut authorization = context.caller.authorize_user_access(&user)?;
        let identifier = address_there(services, &self.channel, &self.identifier)?;
        if !services.store.had_authenticator(user.id).await? {
            authorization = authorization.and(context.caller.authorize_first_authenticator()?);
        }
        let known = services.store.external_authenticators(user.id).await?;
        let replaced = known
            .into_iter()
            .find(|known| known.channel == identifier.channel);
        let action = ProtectedAction::SetExternalAuthenticator {
            user: user.id,
            channel: identifier.channel.clone(),
            identifier: identifier.identifier.clone(),
            replaced: replaced.map(|known| known.identifier),
        };
        Ok(Planned::protected(
            authorization,
            (user, identifier),
            action,
        ))
    }

    async fn execute(
        approved: ApprovedPlan<'_, (User, ExternalAuthenticator)>,
    ) -> Result<Execution<ExternalAuthenticator>> {
        let ((user, identifier), recorder) = approved.into_parts();
        let entry = |event| recorder.entry(event).about(user.id);
        let activated = audit::of_state(
            entry(Event::UserLifecycleChanged),
            LifecycleState::Invited,
            LifecycleState::Active,
        );
        let set =
            entry(Event::ExternalAuthenticatorSet).with("channel", identifier.channel.as_str());
        let set = set.personal("identifier", identifier.identifier.as_str());
        let setting =
            UserAction::SetExternalAuthenticator(UserGuard::from(&user), identifier.clone());
        let activation = UserAction::Activate(user.id, activated);
        let writes = vec![
            (AdminWrite::User(setting), vec![set]),
            (AdminWrite::User(activation), Vec::new()),
        ];
        Ok(recorder.write(writes).await?.map(|()| {
            let channel = identifier.channel.as_str();
            tracing::info!(user = %user.id, channel, "external authenticator set");
            identifier
        }))
    }
}

/// Validates an identifier for the channel of a vendor.
fn address_there(
    services: &Services,
    channel: &str,
    identifier: &str,
) -> Result<ExternalAuthenticator> {
    let is_vendors = services
        .plugins
        .channel_info(channel)
        .is_some_and(|channel| channel.trust == Trust::Delegated);
    if !is_vendors {
        return Err(invalid(
            "channel",
            "expected the name of an approval channel whose settings have trust = \"delegated\"",
        ));
    }
    let identifier = display_text(identifier, LONGEST).ok_or_else(|| {
        invalid(
            "identifier",
            format!("expected 1 to {LONGEST} characters, without control characters"),
        )
    })?;
    Ok(ExternalAuthenticator {
        channel: channel.to_owned(),
        identifier,
    })
}

assent_model::admin_command! {
    /// Removes a user's identifier for a channel, even if the channel is not configured any more.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct RemoveExternalAuthenticator {
        /// The user.
        target user: UserId,
        /// The channel.
        target channel: String,
    }
}

impl AdminCommand for RemoveExternalAuthenticator {
    type Plan = (User, String);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, String)>> {
        let user = user(&context.services, self.user).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        Ok(Planned::harmless(
            authorization,
            (user, self.channel.clone()),
        ))
    }

    async fn execute(approved: ApprovedPlan<'_, (User, String)>) -> Result<Execution<()>> {
        let ((user, channel), recorder) = approved.into_parts();
        let entry = recorder
            .entry(Event::ExternalAuthenticatorRemoved)
            .about(user.id)
            .with("channel", channel.as_str());
        let guard = UserGuard::from(&user);
        let removal = UserAction::RemoveExternalAuthenticator(guard, channel.clone());
        let written = recorder.write_user(removal, vec![entry]).await?;
        Ok(written.map(|()| {
            tracing::info!(user = %user.id, channel, "external authenticator removed");
        }))
    }
}
