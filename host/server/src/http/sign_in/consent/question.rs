//! The page that asks for consent.

use std::iter;

use axum::response::Response;
use url::Url;

use crate::domain::sign_in::login::AuthenticatedUser;
use crate::domain::sign_in::scope_words::{second_words_of, words_of};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::operations::logos;
use crate::http::page_error::PageError;
use crate::http::pages::initial_of;
use crate::http::pages::login::{ConsentPage, InformationLink};
use crate::http::reply::{layout, page};
use crate::messages::Message;
use crate::oidc::authorize::answer::{ConsentQuestion, QuestionKind};
use assent_model::application::information::ApplicationInformation;
use assent_model::id::LoginId;
use assent_model::login::{AuthorizationRequest, Login};
use assent_model::scope::{Scope, Scopes};
use assent_model::user::User;

/// Returns the page that asks the user for consent to an application's request, or only to continue.
pub(crate) async fn ask(
    services: &Services,
    browser: &Browser,
    login: &Login,
    request: &AuthorizationRequest,
    authenticated_user: &AuthenticatedUser,
    ConsentQuestion { application, kind }: ConsentQuestion,
) -> Result<Response, PageError> {
    let id = login.id.to_string();
    let user = &authenticated_user.signed_in.user;
    let client = services.store.application(&request.application).await?;
    let information = client.map(|client| client.settings.information.clone());
    let information = information.unwrap_or_default();
    let asking = ConsentPage {
        layout: layout(services, browser.language()),
        initial: initial_of(&application),
        application,
        logo: logos::address_of(services, Some(&request.application)).await?,
        host: host_of(services, request).await?,
        name: user.display_name().to_owned(),
        scopes: with_values(&request.consent_scopes(), user),
        offline: request.scopes.has(Scope::OfflineAccess),
        details: request
            .authorization_details
            .texts()
            .in_language(browser.language()),
        continues: kind == QuestionKind::Continue,
        links: links_to(&information),
        contacts: information
            .contacts
            .iter()
            .map(|contact| contact.as_str().to_owned())
            .collect(),
        action: format!("/login/{id}/consent"),
        again: format!("/login/{id}/again"),
        csrf: csrf::token(services, browser, &id)?,
        user_token: csrf::token(services, browser, &shown_to(login.id, user))?,
        days: services.settings.lifetimes.consent.whole_seconds() / (24 * 60 * 60),
        is_test_sign_in: !request.purpose.is_application(),
    };
    Ok(page(
        &asking,
        request.redirect_uri.form_action_source().as_deref(),
    ))
}

/// Returns the links to the application's own pages. The logo is not among them: browsers load it from this server.
fn links_to(information: &ApplicationInformation) -> Vec<InformationLink> {
    let ApplicationInformation {
        policy_uri,
        tos_uri,
        client_uri,
        contacts: _,
        logo_uri: _,
    } = information;
    let pages = [
        (Message::new("consent-policy"), policy_uri),
        (Message::new("consent-terms"), tos_uri),
        (Message::new("consent-about"), client_uri),
    ];
    let links = pages.into_iter().filter_map(|(text, uri)| {
        let uri = uri.as_ref()?;
        Some(InformationLink {
            text,
            address: uri.as_str().to_owned(),
            host: uri.host(),
        })
    });
    links.collect()
}

/// The purpose of the token that binds the page to this user. Another user may have signed in since, in another window.
pub(super) fn shown_to(login: LoginId, user: &User) -> String {
    format!("consent {login} {}", user.id)
}

/// The host to which the user returns. A native application's own scheme has no host that is meaningful to users. A
/// test sign-in returns to this server, but its page is that of the application's users.
async fn host_of(
    services: &Services,
    request: &AuthorizationRequest,
) -> Result<Option<String>, InternalError> {
    if !request.purpose.is_application() {
        let application = services.store.application(&request.application).await?;
        return Ok(application.and_then(|application| {
            let first = application.settings.redirect_uris.first()?;
            first.host()
        }));
    }
    let redirect = &request.redirect_uri;
    let url = Url::parse(redirect.as_str()).ok();
    let host = url.as_ref().and_then(Url::host_str);
    Ok(host.filter(|_| redirect.takes_forms()).map(str::to_owned))
}

/// The scopes, each with the values that the directory stores for it, except offline access, which the page shows
/// separately. Additions and removals by plugins are not known here.
fn with_values(scopes: &Scopes, user: &User) -> Vec<Message> {
    let profile = &user.profile;
    let listed = scopes.iter().filter(|scope| *scope != Scope::OfflineAccess);
    let words = listed.flat_map(|scope| {
        let value = match scope {
            Scope::Profile => profile.name.clone(),
            Scope::Email => user.email.as_ref().map(|email| email.as_str().to_owned()),
            Scope::Phone => profile.phone_number.clone(),
            Scope::Address => Some(profile.address.in_lines().join(", ")),
            Scope::OpenId | Scope::Groups | Scope::OfflineAccess => None,
        };
        let first = match value.filter(|value| !value.is_empty()) {
            Some(value) => Message::new("scope-value")
                .message("scope", words_of(scope))
                .text("value", value),
            None => words_of(scope),
        };
        iter::once(first).chain(second_words_of(scope))
    });
    words.collect()
}
