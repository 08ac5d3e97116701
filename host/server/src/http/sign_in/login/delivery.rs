//! The answer of a sign-in, in the protocol of its request.

use axum::response::Response;

use crate::domain::Services;
use crate::http::context::Browser;
use crate::http::reply::see_other;
use crate::http::saml;
use crate::http::sign_in::answer::deliver;
use crate::oidc::authorize::response::AuthorizationAnswer;
use crate::saml::sign_on::SignOnAnswer;
use assent_model::id::LoginId;
use assent_model::login::LocalPage;

/// The answer of a sign-in, in the protocol of its request.
pub(super) enum ProtocolAnswer {
    /// The response to an OpenID Connect client.
    Oidc(AuthorizationAnswer),
    /// The response to a SAML service provider.
    Saml(SignOnAnswer),
    /// The page of this server that the user opens.
    Local(LocalPage),
}

impl ProtocolAnswer {
    pub(super) async fn deliver(
        &self,
        services: &Services,
        browser: &Browser,
        login: LoginId,
    ) -> Response {
        match self {
            Self::Oidc(answer) => deliver(services, browser.language(), answer, login).await,
            Self::Saml(answer) => saml::sign_on::deliver(services, browser.language(), answer),
            Self::Local(page) => see_other(&page.path()),
        }
    }
}
