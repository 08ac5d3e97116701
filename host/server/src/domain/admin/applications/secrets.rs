//! Commands about the client secrets of an application. An application may have two at the same time. To rotate
//! secrets, the administrator creates a second one and configures it in the application. The administrator deletes the
//! first one as soon as it is not used any more.

use std::sync::Arc;

use serde::Serialize;

use super::queries::registered_application;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::{Execution, Recorder};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{InternalError, Services};
use crate::keys::client;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::audit::Event;
use assent_model::caller::Authorization;
use assent_model::client_auth::ClientAuthMethod;
use assent_model::client_secret::{ClientSecret, ClientSecrets, TooManySecrets};
use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did};
use assent_model::secret::Secret;
use assent_store::AdminWrite;

/// A client secret, and its last use by the application.
#[derive(Clone, Copy, Debug)]
pub struct ClientSecretUse {
    /// Its identifier.
    pub id: ClientSecretId,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its last use. On other instances it is up to a minute late.
    pub last_used_at: Option<Timestamp>,
}

/// Returns the client secrets of an application, the oldest first.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application, [`AdminError::Invalid`] if it is a SAML application.
///
pub async fn client_secrets(services: &Services, id: &Did) -> Result<Vec<ClientSecretUse>> {
    let client = client_of(services, id).await?;
    let uses = services.store.client_secret_uses(id).await?;
    let secrets = client.secrets.iter().map(|secret| ClientSecretUse {
        id: secret.id,
        created_at: secret.created_at,
        last_used_at: uses.get(&secret.id).copied(),
    });
    Ok(secrets.collect())
}

/// A new client secret and its identifier. Only this response contains the secret.
#[derive(Clone, Debug)]
pub struct NewClientSecret {
    /// The identifier.
    pub id: ClientSecretId,
    /// The secret.
    pub secret: Secret,
}

assent_model::admin_command! {
    /// Creates a client secret for a web application, in addition to an existing one. Only this response contains the
    /// secret.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateClientSecret(target Did);
}

impl AdminCommand for CreateClientSecret {
    type Plan = Application;
    type Outcome = NewClientSecret;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Application>> {
        let (authorization, client) = with_secrets(context, &self.0).await?;
        if !client.secrets.may_have_another() {
            return Err(FULL);
        }
        let action = ProtectedAction::CreateClientSecret {
            application: client.id.clone(),
            is_second: !client.secrets.is_empty(),
        };
        Ok(Planned::protected(authorization, client, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, Application>,
    ) -> Result<Execution<NewClientSecret>> {
        let (mut client, recorder) = approved.into_parts();
        let (stored, made) = new_secret(recorder.services, &client)?;
        client.secrets.add(stored).map_err(|TooManySecrets| FULL)?;
        let stored = store_secrets(&recorder, client, Event::ClientSecretCreated, made.id).await?;
        Ok(stored.map(|()| made))
    }
}

/// The application already has the largest number of secrets.
const FULL: AdminError = AdminError::Conflict(
    "the application has two client secrets; delete the one that it does not use any more, then create another one",
);

assent_model::admin_command! {
    /// Creates a client secret for a web application in place of all others, which are invalid at once. Only this
    /// response contains the secret.
    #[derive(Clone, Debug, Serialize)]
    pub struct RotateClientSecret(target Did);
}

impl AdminCommand for RotateClientSecret {
    type Plan = Application;
    type Outcome = NewClientSecret;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Application>> {
        let (authorization, client) = with_secrets(context, &self.0).await?;
        let action = ProtectedAction::RotateClientSecret(client.id.clone());
        Ok(Planned::protected(authorization, client, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, Application>,
    ) -> Result<Execution<NewClientSecret>> {
        let (mut client, recorder) = approved.into_parts();
        let (stored, made) = new_secret(recorder.services, &client)?;
        client.secrets = ClientSecrets::only(stored);
        let stored = store_secrets(&recorder, client, Event::ClientSecretRotated, made.id).await?;
        Ok(stored.map(|()| made))
    }
}

assent_model::admin_command! {
    /// Deletes a client secret, which is invalid at once.
    #[derive(Clone, Debug, Serialize)]
    pub struct DeleteClientSecret {
        /// The application.
        target application: Did,
        /// The secret.
        target secret: ClientSecretId,
    }
}

impl AdminCommand for DeleteClientSecret {
    type Plan = (Application, ClientSecretId);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(Application, ClientSecretId)>> {
        let (authorization, client) = with_secrets(context, &self.application).await?;
        let known = client
            .secrets
            .iter()
            .find(|known| known.id == self.secret)
            .ok_or(AdminError::NotFound("client secret"))?;
        let action = ProtectedAction::DeleteClientSecret {
            application: client.id.clone(),
            secret: known.id,
            created_at: known.created_at,
        };
        Ok(Planned::protected(
            authorization,
            (client, self.secret),
            action,
        ))
    }

    async fn execute(
        approved: ApprovedPlan<'_, (Application, ClientSecretId)>,
    ) -> Result<Execution<()>> {
        let ((mut client, secret), recorder) = approved.into_parts();
        client.secrets.remove(secret);
        store_secrets(&recorder, client, Event::ClientSecretDeleted, secret).await
    }
}

/// Returns the OpenID Connect client with this identifier.
async fn client_of(services: &Services, id: &Did) -> Result<Application> {
    match registered_application(services, id).await? {
        RegisteredApplication::Client(client) => Ok(Arc::unwrap_or_clone(client)),
        RegisteredApplication::ServiceProvider(_) => Err(invalid(
            "protocol",
            "a SAML application has certificates, and no secret",
        )),
    }
}

/// Returns a client whose secrets the caller may change, if its authentication method uses secrets.
async fn with_secrets(context: &AdminContext, id: &Did) -> Result<(Authorization, Application)> {
    let client = client_of(&context.services, id).await?;
    let authorization = context.caller.authorize_application(&client)?;
    if !client.settings.application_type.is_confidential() {
        return Err(invalid(
            "application_type",
            "only a web application has a client secret",
        ));
    }
    let method = client.settings.auth_method();
    if !method.uses_secret() {
        let expected = format!(
            "the application authenticates with {}, without a secret",
            method.as_str()
        );
        return Err(invalid("token_endpoint_auth_method", expected));
    }
    Ok((authorization, client))
}

/// Stores an application after a change of its secrets.
async fn store_secrets(
    recorder: &Recorder<'_>,
    mut client: Application,
    event: Event,
    secret: ClientSecretId,
) -> Result<Execution<()>> {
    let id = client.id.clone();
    client.updated_at = recorder.services.now();
    let entry = recorder
        .entry(event)
        .in_application(id.clone())
        .with("secret_id", secret.to_string());
    let writes = vec![(AdminWrite::UpdateClient(client), vec![entry])];
    Ok(recorder.write(writes).await?.map(|()| {
        let event = event.as_str();
        tracing::info!(application = %id, secret = %secret, event, "client secrets changed");
    }))
}

/// Removes the credentials that the authentication method of a client does not use: all its secrets, or only their
/// sealed form.
pub(super) fn forget_unfit_secrets(client: &mut Application) {
    let method = client.settings.auth_method();
    if method != ClientAuthMethod::ClientSecretJwt {
        client.secrets.forget_sealed();
    }
    if !method.uses_secret() {
        client.secrets = ClientSecrets::default();
    }
}

/// Creates a secret for a client in place of all others.
pub(super) fn replace_secrets(services: &Services, client: &mut Application) -> Result<Secret> {
    let (stored, made) = new_secret(services, client)?;
    client.secrets = ClientSecrets::only(stored);
    Ok(made.secret)
}

/// Returns a new secret in two forms: for the database, and for the application.
fn new_secret(
    services: &Services,
    client: &Application,
) -> Result<(ClientSecret, NewClientSecret)> {
    let now = services.now();
    let id = ClientSecretId::new(now, &*services.entropy);
    let secret = Secret::random(&*services.entropy);
    let sealed = match client.settings.auth_method() {
        ClientAuthMethod::ClientSecretJwt => {
            let purpose = client::secret_purpose(&client.id);
            let sealed = services.seal(&purpose, secret.expose().as_bytes());
            Some(sealed.map_err(InternalError::from)?)
        }
        _ => None,
    };
    let stored = ClientSecret {
        id,
        digest: secret.digest(),
        sealed,
        created_at: now,
    };
    Ok((stored, NewClientSecret { id, secret }))
}
