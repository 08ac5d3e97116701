//! The application that asks, as a login's pages show it.

use crate::domain::{InternalError, Services};
use crate::http::operations::logos;
use assent_model::login::{Login, LoginRequest};

/// What a login's pages say of the application that asks.
pub(crate) struct RequestingApplication {
    pub(crate) name: String,
    /// The address of its logo.
    pub(crate) logo: Option<String>,
    pub(crate) form_target: Option<String>,
}

pub(crate) async fn asking(
    services: &Services,
    login: &Login,
) -> Result<RequestingApplication, InternalError> {
    let logo = logos::address_of(services, login.request.application()).await?;
    Ok(match &login.request {
        LoginRequest::Oidc(request) => RequestingApplication {
            logo,
            name: services
                .store
                .application(&request.application)
                .await?
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            form_target: request.redirect_uri.form_action_source(),
        },
        // Where its form goes is for the page to say that holds the response.
        LoginRequest::Saml(request) => RequestingApplication {
            logo,
            name: services
                .store
                .service_provider(&request.application)
                .await?
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            form_target: None,
        },
        LoginRequest::Local { .. } => RequestingApplication {
            logo,
            name: services.settings.operator.clone(),
            form_target: None,
        },
    })
}
