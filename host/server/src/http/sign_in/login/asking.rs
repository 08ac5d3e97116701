//! The application that asks, as a login's pages show it.

use crate::domain::{InternalError, Services};
use crate::http::operations::logos;
use assent_model::application::RegisteredApplication;
use assent_model::login::{Login, LoginRequest, SignInDenied};

/// What a login's pages say of the application that asks.
pub(crate) struct RequestingApplication {
    pub(crate) name: String,
    /// The address of its logo.
    pub(crate) logo: Option<String>,
    pub(crate) form_target: Option<String>,
    /// A browser does not go to a disabled one.
    pub(super) enabled: bool,
}

pub(crate) async fn asking(
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
        // Where its form goes is for the page to say that holds the response.
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

/// Why a sign-in can't go on, if an administrator disabled its application.
pub(super) async fn disabled(
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
