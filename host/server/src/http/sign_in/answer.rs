//! The response to the application, which the browser delivers.

use axum::response::Response;
use url::Url;

use crate::domain::Services;
use crate::http::page_error::PageError;
use crate::http::pages::link::Link;
use crate::http::pages::protocol::FormPostPage;
use crate::http::reply::{layout, page_that_posts, see_other};
use crate::messages::Message;
use crate::oidc::authorize::response::{AnswerDelivery, AuthorizationAnswer};
use assent_model::application::Application;
use assent_model::id::LoginId;
use assent_model::language::Language;
use assent_model::redirect::CheckedRedirect;
use assent_model::secret::Digest;

/// Returns a redirect, or the page with the form that the browser posts. `login` is the sign-in with this answer.
pub(crate) async fn deliver(
    services: &Services,
    language: Language,
    answer: &AuthorizationAnswer,
    login: LoginId,
) -> Response {
    let answer = match answer.in_its_form(services).await {
        Ok(answer) => answer,
        Err(error) => return PageError::from(error).render(services, language),
    };
    match answer.delivery() {
        AnswerDelivery::Redirect(location) => see_other(&location),
        AnswerDelivery::Form {
            redirect_uri,
            fields,
        } => {
            // The response exists already. It is sent even if the page cannot name the application.
            let application = services
                .store
                .application(answer.application())
                .await
                .ok()
                .flatten();
            let name = application
                .as_ref()
                .map(|application| application.name.clone());
            let title = match &name {
                Some(name) => Message::new("response-title").text("application", name.clone()),
                None => Message::new("response-title-unknown"),
            };
            let form = FormPostPage {
                layout: layout(services, language),
                title,
                // A sign-in has one answer. Two errors may have the same fields.
                answer: Digest::sha256(format!("answer\n{login}").as_bytes()).to_text(),
                is_granted: answer.is_granted(),
                link: link_to_client(application.as_deref(), redirect_uri),
                application: name,
                action: redirect_uri.as_str().to_owned(),
                fields: fields.to_vec(),
                nonce: None,
            };
            let target = redirect_uri.form_action_source();
            page_that_posts(&form, target.as_deref())
        }
    }
}

/// Returns the link to an application: to its start address, or to the origin of the redirect URI.
pub(crate) fn link_to_client(
    application: Option<&Application>,
    redirect_uri: &CheckedRedirect,
) -> Link {
    let Some(application) = application else {
        return Link::to_start();
    };
    if application.settings.initiate_login_uri.is_some() {
        let path = format!("/applications/{}/start", application.id);
        return link_to(&application.name, path);
    }
    link_to_origin(&application.name, redirect_uri)
}

/// Returns the link to the origin of an address. A custom scheme has none, so the link leads to the start page.
pub(crate) fn link_to_origin(application: &str, address: &CheckedRedirect) -> Link {
    let url = Url::parse(address.as_str()).ok();
    match url.filter(|_| address.takes_forms()) {
        Some(url) => link_to(
            application,
            format!("{}/", url.origin().ascii_serialization()),
        ),
        None => Link::to_start(),
    }
}

pub(crate) fn link_to(application: &str, address: String) -> Link {
    Link {
        address,
        text: Message::new("already-open").text("application", application),
    }
}
