//! The response to the application, which the browser delivers.

use axum::response::Response;

use crate::domain::Services;
use crate::http::pages::FormPostPage;
use crate::http::reply::{layout, page_that_posts, see_other};
use crate::oidc::authorize::{AnswerDelivery, AuthorizationAnswer};
use assent_model::language::Language;

/// Returns a redirect, or the page with the form that the browser posts.
pub(crate) async fn deliver(
    services: &Services,
    language: Language,
    answer: &AuthorizationAnswer,
) -> Response {
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
            let form = FormPostPage {
                layout: layout(services, language),
                application: application.map(|application| application.name.clone()),
                action: redirect_uri.as_str().to_owned(),
                fields: fields.to_vec(),
            };
            page_that_posts(&form, redirect_uri.form_action_source().as_deref())
        }
    }
}
