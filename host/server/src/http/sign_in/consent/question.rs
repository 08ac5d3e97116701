//! The page that asks for consent.

use axum::response::Response;

use crate::domain::sign_in::login::AuthenticatedUser;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::operations::logos;
use crate::http::pages::ConsentPage;
use crate::http::reply::{layout, page};
use crate::http::texts::Message;
use assent_model::id::LoginId;
use assent_model::login::{AuthorizationRequest, Login};
use assent_model::scope::{Scope, Scopes};
use assent_model::user::User;

/// The page that asks the person whether the application may have what it asks for.
pub(crate) async fn ask(
    services: &Services,
    browser: &Browser,
    login: &Login,
    request: &AuthorizationRequest,
    person: &AuthenticatedUser,
    application: String,
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    let user = &person.signed_in.user;
    let asking = ConsentPage {
        layout: layout(services, browser.language()),
        application,
        logo: logos::address_of(services, Some(&request.application)).await?,
        name: user.display_name().to_owned(),
        scopes: in_words(&request.consent_scopes()),
        offline: request.scopes.has(Scope::OfflineAccess),
        action: format!("/login/{id}/consent"),
        again: format!("/login/{id}/again"),
        csrf: csrf::token(services, browser, &id)?,
        user_token: csrf::token(services, browser, &shown_to(login.id, user))?,
        days: services.settings.lifetimes.consent.whole_seconds() / (24 * 60 * 60),
    };
    Ok(page(
        &asking,
        request.redirect_uri.form_action_source().as_deref(),
    ))
}

/// What shows that the page was made for this person. Somebody else may have signed in since, in another window.
pub(super) fn shown_to(login: LoginId, user: &User) -> String {
    format!("consent {login} {}", user.id)
}

pub(super) fn in_words(scopes: &Scopes) -> Vec<Message> {
    let words = scopes.iter().map(|scope| match scope {
        Scope::OpenId => Message::new("scope-openid"),
        Scope::Profile => Message::new("scope-profile"),
        Scope::Email => Message::new("scope-email"),
        Scope::Phone => Message::new("scope-phone"),
        Scope::Address => Message::new("scope-address"),
        Scope::Groups => Message::new("scope-groups"),
        Scope::OfflineAccess => Message::new("scope-offline-access"),
    });
    words.collect()
}
