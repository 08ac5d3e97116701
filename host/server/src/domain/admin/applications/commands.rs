//! Commands about OpenID Connect clients, and about applications of both protocols.

use serde::Serialize;

use super::change::apply;
use super::document::{ClientChange, ProtectedClientMembers};
use super::queries::{application, registered_application};
use super::secrets::{forget_unfit_secrets, replace_secrets};
use crate::domain::Services;
use crate::domain::admin::changes::{application_deletion, client_creation, client_update};
use crate::domain::admin::command::{
    AdminCommand, AdminContext, ApprovedPlan, Planned, changed_members,
};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::fetched_logos::{LogoBefore, logo_of_change};
use crate::domain::admin::{Result, invalid};
use crate::domain::protected_actions::{ClientState, ProtectedAction};
use crate::keys::fresh_did;
use assent_model::administration::Permission;
use assent_model::application::{Application, OidcSettings, RegisteredApplication};
use assent_model::application_type::ApplicationType;
use assent_model::audit::Event;
use assent_model::caller::{Authorization, Caller, Denied};
use assent_model::client_auth::ClientAuthMethod;
use assent_model::client_secret::ClientSecrets;
use assent_model::command::{Change, MemberClass};
use assent_model::id::Did;
use assent_model::secret::Secret;

assent_model::admin_command! {
    /// Creates an OpenID Connect client. Its Client ID is a new DID.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateClient(classified ClientChange);
}

impl AdminCommand for CreateClient {
    type Plan = Application;
    type Outcome = Application;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Application>> {
        let Self(change) = self;
        let authorization = authorize(&context.caller, change)?;
        let kind = change
            .application_type
            .ok_or_else(|| invalid("application_type", "expected web, spa or native"))?;
        let application = new_client(&context.services, kind, change.clone())?;
        // No user uses a new application yet, so the data that it receives and the receiving addresses are harmless.
        // Its permissions in the admin API are not.
        let ProtectedClientMembers {
            admin_scopes,
            application_type: _,
            name: _,
            enabled: _,
            redirect_uris: _,
            post_logout_redirect_uris: _,
            scopes: _,
            grant_types: _,
            token_endpoint_auth_method: _,
            jwks: _,
            jwks_uri: _,
            public_key: _,
            certificate: _,
            request_uris: _,
            require_signed_request_object: _,
            request_object_signing_alg: _,
            backchannel_authentication_request_signing_alg: _,
            backchannel_binding: _,
            backchannel_longest_expiry: _,
            second_approver_group: _,
            token_endpoint_auth_signing_alg: _,
            security_profile: _,
            tls_client_auth_subject_dn: _,
            tls_client_auth_san_dns: _,
            tls_client_auth_san_uri: _,
            tls_client_auth_san_ip: _,
            tls_client_auth_san_email: _,
            id_token_signed_response_alg: _,
            authorization_signed_response_alg: _,
            userinfo_signed_response_alg: _,
            introspection_signed_response_alg: _,
            subject_type: _,
            sector_identifier: _,
            consent: _,
            passkey_sign_in: _,
            backchannel_logout_uri: _,
            frontchannel_logout_uri: _,
            initiate_login_uri: _,
            lenient_assertion_audience: _,
            policy_uri: _,
            tos_uri: _,
            client_uri: _,
            contacts: _,
            logo_uri: _,
            require_pkce: _,
            require_pushed_authorization_requests: _,
            tls_client_certificate_bound_access_tokens: _,
            dpop_bound_access_tokens: _,
            authorization_details_types: _,
            backchannel_token_delivery_mode: _,
            backchannel_client_notification_endpoint: _,
        } = change.protected();
        let action = admin_scopes
            .is_some()
            .then(|| ProtectedAction::CreateApplication(ClientState::from_client(&application)));
        Ok(Planned::new(authorization, application, action))
    }

    async fn execute(approved: ApprovedPlan<'_, Application>) -> Result<Execution<Application>> {
        let (application, recorder) = approved.into_parts();
        let logo = logo_of_change(&recorder, LogoBefore::Known(None), &application).await?;
        let mut writes = client_creation(&recorder, application.clone(), None).await?;
        writes.extend(logo);
        let written = recorder.write(writes).await?;
        Ok(written.map(|()| {
            tracing::info!(application = %application.id, "application created");
            application
        }))
    }
}

/// Authorizes the caller to set all members of this change of a client.
pub(super) fn authorize(
    caller: &Caller,
    change: &ClientChange,
) -> std::result::Result<Authorization, Denied> {
    if has_owner_only(change) {
        caller.authorize(
            Permission::RolesWrite,
            "admin_scopes: only an owner may grant or revoke them",
        )
    } else {
        caller.authorize_application_writes()
    }
}

/// Whether a change has a member that only an owner may set.
fn has_owner_only(change: &ClientChange) -> bool {
    let mut members = change.sent_members().into_iter();
    members.any(|member| member.class == MemberClass::OwnerOnly)
}

/// Returns a new application that is not stored yet.
pub(super) fn new_client(
    services: &Services,
    kind: ApplicationType,
    change: ClientChange,
) -> Result<Application> {
    let now = services.now();
    let mut application = Application {
        id: fresh_did()?,
        name: String::new(),
        settings: OidcSettings::new(kind),
        secrets: ClientSecrets::default(),
        version: 1,
        created_at: now,
        updated_at: now,
    };
    if change.name.is_none() {
        return Err(invalid("name", "expected a name"));
    }
    apply(services, &mut application, change)?;
    Ok(application)
}

assent_model::admin_command! {
    /// Updates a client. A change to `client_secret_jwt` creates a new client secret, which only this response
    /// contains. The stored forms of the previous secrets cannot be used for that method.
    #[derive(Clone, Debug, Serialize)]
    pub struct UpdateClient {
        /// The client.
        target application: Did,
        /// The update.
        classified change: ClientChange,
    }
}

/// A client before and after an update.
#[derive(Clone, Debug)]
pub struct ClientUpdate {
    before: Application,
    after: Application,
    logo: LogoBefore,
}

impl AdminCommand for UpdateClient {
    type Plan = ClientUpdate;
    type Outcome = (Application, Option<Secret>);

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ClientUpdate>> {
        let (services, caller, change) = (&context.services, &context.caller, &self.change);
        let before = application(services, &self.application).await?;
        let authorization = caller
            .authorize_application(&before)?
            .and(authorize(caller, change)?);
        if change.application_type.is_some() {
            return Err(invalid(
                "application_type",
                "it cannot be changed; create a new application",
            ));
        }
        context.expected.check(before.version)?;
        let mut after = before.clone();
        apply(services, &mut after, change.clone())?;
        let logo = LogoBefore::of_update(services, &before, &after).await?;
        // For a service account, every change is protected.
        let is_service = |client: &Application| client.settings.is_service_account();
        let are_shown = is_service(&before) || is_service(&after);
        let members = change.sent_members();
        let is_protected = members
            .iter()
            .any(|member| member.class != MemberClass::Harmless || is_service(&before));
        let action = is_protected.then(|| ProtectedAction::UpdateClient {
            application: before.id.clone(),
            before: ClientState::from_client(&before),
            after: ClientState::from_client(&after),
            members: changed_members(members, are_shown),
            sets_admin_scopes: has_owner_only(change),
        });
        Ok(Planned::new(
            authorization,
            ClientUpdate {
                before,
                after,
                logo,
            },
            action,
        ))
    }

    async fn execute(
        approved: ApprovedPlan<'_, ClientUpdate>,
    ) -> Result<Execution<(Application, Option<Secret>)>> {
        let (plan, recorder) = approved.into_parts();
        let ClientUpdate {
            before,
            mut after,
            logo,
        } = plan;
        let services = recorder.services;
        after.updated_at = services.now();
        let method = after.settings.auth_method();
        let is_new = method != before.settings.auth_method();
        let fresh = (is_new && method == ClientAuthMethod::ClientSecretJwt)
            .then(|| replace_secrets(services, &mut after))
            .transpose()?;
        forget_unfit_secrets(&mut after);
        let logo = logo_of_change(&recorder, logo, &after).await?;
        let mut writes = client_update(&recorder, &before, after.clone(), None).await?;
        if fresh.is_some()
            && let Some((_, entries)) = writes.last_mut()
        {
            let entry = recorder.entry(Event::ClientSecretRotated);
            entries.push(entry.in_application(before.id));
        }
        writes.extend(logo);
        Ok(recorder.write(writes).await?.map(|()| {
            after.version += 1;
            tracing::info!(application = %after.id, "application updated");
            (after, fresh)
        }))
    }
}

assent_model::admin_command! {
    /// Deletes an application with its accounts and tokens.
    #[derive(Clone, Debug, Serialize)]
    pub struct DeleteApplication(target Did);
}

impl AdminCommand for DeleteApplication {
    type Plan = RegisteredApplication;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<RegisteredApplication>> {
        let known = registered_application(&context.services, &self.0).await?;
        let authorization = context.caller.authorize_registered(&known)?;
        context.expected.check(known.version())?;
        let action = ProtectedAction::DeleteApplication(known.id().clone());
        Ok(Planned::protected(authorization, known, action))
    }

    async fn execute(approved: ApprovedPlan<'_, RegisteredApplication>) -> Result<Execution<()>> {
        let (known, recorder) = approved.into_parts();
        let writes = application_deletion(&recorder, &known);
        Ok(recorder.write(writes).await?.map(|()| {
            tracing::info!(application = %known.id(), "application deleted");
        }))
    }
}
