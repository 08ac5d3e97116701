//! The applications that a user may use, and the ways to start them.

use std::collections::HashMap;

use url::Url;

use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use assent_model::application::RegisteredApplication;
use assent_model::id::Did;
use assent_model::redirect::RedirectUri;
use assent_model::user::User;

/// The largest number of applications in the list.
const MOST: u32 = 200;

/// An application that a user may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableApplication {
    /// The identifier of the application.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// The digest of its logo, if it has one.
    pub logo: Option<String>,
    /// The way in which a sign-in to it begins at this server.
    pub start: SignInStart,
    /// The origin of its redirect URI, at which a user can open it. `None` for a native application and for a SAML
    /// service provider.
    pub origin: Option<String>,
}

/// The way in which a sign-in to an application begins at this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInStart {
    /// With an unsolicited response (SAML profiles section 4.1.5).
    IdpInitiated,
    /// At a URI of the application, which then sends an authorization request (OpenID Connect Core section 4).
    LoginUri,
    /// Not possible at this server: the user must open the application.
    Elsewhere,
}

/// Returns the applications that a user may use, in the order of their names.
pub async fn applications(
    services: &Services,
    user: &User,
) -> Result<Vec<UsableApplication>, InternalError> {
    let mut logos: HashMap<Did, String> = services
        .store
        .logos_of(user.id)
        .await?
        .into_iter()
        .collect();
    let found = services.store.applications_of(user.id, MOST).await?;
    let enabled = found.into_iter().filter(RegisteredApplication::is_enabled);
    let usable = enabled.map(|application| {
        let start = match &application {
            RegisteredApplication::Client(client)
                if client.settings.initiate_login_uri.is_some() =>
            {
                SignInStart::LoginUri
            }
            RegisteredApplication::ServiceProvider(provider)
                if provider.settings.idp_initiated.enabled =>
            {
                SignInStart::IdpInitiated
            }
            RegisteredApplication::Client(_) | RegisteredApplication::ServiceProvider(_) => {
                SignInStart::Elsewhere
            }
        };
        let id = application.id().clone();
        UsableApplication {
            origin: origin_of(&application),
            logo: logos.remove(&id),
            name: application.name().to_owned(),
            start,
            id,
        }
    });
    Ok(usable.collect())
}

/// Returns the origin of the first redirect URI that is not on the user's own machine.
fn origin_of(application: &RegisteredApplication) -> Option<String> {
    let RegisteredApplication::Client(client) = application else {
        return None;
    };
    let origins = client
        .settings
        .redirect_uris
        .iter()
        .filter_map(RedirectUri::origin);
    origins
        .into_iter()
        .find(|origin| origin.starts_with("https://"))
}

/// Returns the URI at which an application begins a sign-in with this server (OpenID Connect Core section 4). It names
/// the page that the user requested, if that has the origin of a redirect URI of the application: otherwise a link
/// could send the user from the application to a foreign page. Returns `None` if the user may not use the application,
/// or it has no such URI.
pub async fn login_address(
    services: &Services,
    user: &User,
    application: &Did,
    target: Option<&Url>,
) -> Result<Option<Url>, InternalError> {
    let Access::Granted(_) = access(services, user, application).await? else {
        return Ok(None);
    };
    let Some(client) = services.store.application(application).await? else {
        return Ok(None);
    };
    let settings = &client.settings;
    let is_own = |target: &&Url| {
        let origin = target.origin().ascii_serialization();
        let mut origins = settings
            .redirect_uris
            .iter()
            .filter_map(RedirectUri::origin);
        origins.any(|own| own == origin)
    };
    let target = target.filter(is_own);
    Ok(settings
        .initiate_login_uri
        .as_ref()
        .filter(|_| settings.enabled)
        .map(|address| match target {
            None => address.with_issuer(&services.issuer),
            Some(target) => address.with_target(&services.issuer, target),
        }))
}
