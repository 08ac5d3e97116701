//! The claims about a user that an application receives, as the user sees them in the portal. They are created by the
//! same code as for the application.

use serde_json::{Map, Value};

use crate::domain::admin::{self, AdminError, MapperStop, PreviewContent};
use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::application::{ConsentPolicy, RegisteredApplication};
use assent_model::id::Did;
use assent_model::scope::{Scope, Scopes};
use assent_model::user::User;
use assent_plugin_host::{SamlAttribute, Sink};

/// The claims that an application receives.
#[derive(Clone, Debug)]
pub struct VisibleClaims {
    /// The application's name.
    pub application: String,
    /// The claims in the ID token or at UserInfo, or the plugin that prevents the response.
    pub claims: Result<Vec<(String, Vec<Value>)>, MapperStop>,
    /// Whether the user has not consented yet. Then the claims are those after a consent.
    pub after_consent: bool,
}

/// Returns the claims about a user that an application receives. Returns `None` if the user may not use the
/// application.
pub async fn seen_by(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Option<VisibleClaims>, InternalError> {
    let Access::Granted(account) = access(services, user, application).await? else {
        return Ok(None);
    };
    let Some(registered) = services.store.registered(application).await? else {
        return Ok(None);
    };
    let name = registered.name().to_owned();
    let (sinks, scopes, after_consent) = match &registered {
        RegisteredApplication::Client(client) => {
            let agreed = services
                .store
                .consented_scopes(user.id, application, services.now())
                .await?;
            let settings = &client.settings;
            // With a consent to `openid`, the application receives only the claims of the agreed scopes. Without one,
            // the view has the claims after a consent.
            let after_consent =
                settings.consent == ConsentPolicy::Ask && !agreed.has(Scope::OpenId);
            let all = settings.consent == ConsentPolicy::Implied || after_consent;
            let scopes = if all { settings.scopes.clone() } else { agreed };
            (
                &[Sink::IdToken, Sink::Userinfo][..],
                Some(scopes),
                after_consent,
            )
        }
        RegisteredApplication::ServiceProvider(_) => (&[Sink::SamlAssertion][..], None, false),
    };
    let mut seen: Vec<(String, Vec<Value>)> = Vec::new();
    for sink in sinks {
        match claims_for_sink(services, user, &account, scopes.as_ref(), *sink).await? {
            None => return Ok(None),
            Some(Err(stopped)) => {
                return Ok(Some(VisibleClaims {
                    application: name,
                    claims: Err(stopped),
                    after_consent,
                }));
            }
            Some(Ok(claims)) => claims
                .into_iter()
                .for_each(|(name, value)| add(&mut seen, name, value)),
        }
    }
    Ok(Some(VisibleClaims {
        application: name,
        claims: Ok(seen),
        after_consent,
    }))
}

/// Returns the names and values for one sink. Returns `None` if the account or the application was deleted in the
/// meantime.
async fn claims_for_sink(
    services: &Services,
    user: &User,
    account: &Account,
    scopes: Option<&Scopes>,
    sink: Sink,
) -> Result<Option<Result<Vec<(String, Value)>, MapperStop>>, InternalError> {
    let scope = scopes.map(ToString::to_string);
    let (user, account) = (user.clone(), account.clone());
    let previews = admin::preview_of(services, user, account, scope.as_deref(), &[sink]).await;
    let preview = match previews {
        Ok(mut previews) => match previews.pop() {
            Some(preview) => preview,
            None => return Ok(None),
        },
        Err(AdminError::Internal(error)) => return Err(error),
        Err(_) => return Ok(None),
    };
    Ok(Some(preview.content.map(|content| match content {
        PreviewContent::Claims(claims) => of_claims(claims),
        PreviewContent::Attributes(attributes) => {
            attributes.into_iter().flat_map(of_attribute).collect()
        }
    })))
}

fn of_claims(claims: Map<String, Value>) -> Vec<(String, Value)> {
    claims.into_iter().collect()
}

fn of_attribute(attribute: SamlAttribute) -> impl Iterator<Item = (String, Value)> {
    let name = attribute.friendly_name.unwrap_or(attribute.name);
    attribute
        .values
        .into_iter()
        .map(move |value| (name.clone(), Value::String(value)))
}

/// Adds a value to the values with this name, unless it is among them.
fn add(seen: &mut Vec<(String, Vec<Value>)>, name: String, value: Value) {
    match seen.iter_mut().find(|(known, _)| *known == name) {
        Some((_, values)) if values.contains(&value) => {}
        Some((_, values)) => values.push(value),
        None => seen.push((name, vec![value])),
    }
}
