//! The application that asks, as a login's pages show it.

use crate::domain::{InternalError, Services};
use assent_model::login::{Login, LoginRequest};

/// What a login's pages say of the application that asks.
pub(crate) struct RequestingApplication {
    pub(crate) name: String,
    pub(crate) form_target: Option<String>,
}

pub(crate) async fn asking(
    services: &Services,
    login: &Login,
) -> Result<RequestingApplication, InternalError> {
    Ok(match &login.request {
        LoginRequest::Oidc(request) => RequestingApplication {
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
            name: services
                .store
                .service_provider(&request.application)
                .await?
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            form_target: None,
        },
        LoginRequest::Local { .. } => RequestingApplication {
            name: services.settings.operator.clone(),
            form_target: None,
        },
    })
}
