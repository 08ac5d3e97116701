//! The requesting application on a login's pages.

use crate::domain::{InternalError, Services};
use crate::http::operations::logos;
use assent_model::application::RegisteredApplication;
use assent_model::login::{Login, LoginRequest, SignInDenied};

/// The details of the requesting application for a login's pages.
pub(crate) struct RequestingApplication {
    pub(crate) name: String,
    /// The address of the application's logo.
    pub(crate) logo: Option<String>,
    pub(crate) form_target: Option<String>,
    /// Whether the application is enabled. A browser does not return to a disabled one.
    pub(super) enabled: bool,
}

pub(crate) async fn requesting_application(
    services: &Services,
    login: &Login,
) -> Result<RequestingApplication, InternalError> {
    let logo = logos::address_of(services, login.request.application()).await?;
    let found = match login.request.application() {
        Some(id) => services.store.registered(id).await?,
        None => None,
    };
    let enabled = found.as_ref().is_none_or(RegisteredApplication::is_enabled);
    let name = found.map(|application| application.name().to_owned());
    Ok(match &login.request {
        LoginRequest::Oidc(request) => RequestingApplication {
            logo,
            name: name.unwrap_or_default(),
            form_target: request.redirect_uri.form_action_source(),
            enabled,
        },
        // The page with the response names the target of its form.
        LoginRequest::Saml(_) => RequestingApplication {
            logo,
            name: name.unwrap_or_default(),
            form_target: None,
            enabled,
        },
        LoginRequest::Local { .. } => RequestingApplication {
            logo,
            name: services.settings.operator.clone(),
            form_target: None,
            enabled,
        },
    })
}

/// Returns the reason why a sign-in cannot continue, if an administrator disabled its application.
pub(super) async fn disabled_denial(
    services: &Services,
    login: &Login,
) -> Result<Option<SignInDenied>, InternalError> {
    let Some(id) = login.request.application() else {
        return Ok(None);
    };
    let found = services.store.registered(id).await?;
    let disabled = found.filter(|application| !application.is_enabled());
    Ok(
        disabled
            .map(|application| SignInDenied::ApplicationDisabled(application.name().to_owned())),
    )
}
