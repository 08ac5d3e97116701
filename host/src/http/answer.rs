//! What the application is answered, as the browser carries it there.

use axum::response::Response;

use super::pages::FormPostPage;
use super::reply::{layout, page_that_posts, see_other};
use crate::domain::Host;
use crate::oidc::authorize::{AuthorizationAnswer, Delivery};

/// A redirect, or the page whose form the browser posts.
pub(super) fn deliver(host: &Host, answer: &AuthorizationAnswer) -> Response {
    match answer.delivery() {
        Delivery::Redirect(location) => see_other(&location),
        Delivery::Form { redirect_uri, fields } => {
            let form = FormPostPage {
                layout: layout(host),
                action: redirect_uri.as_str().to_owned(),
                fields: fields.to_vec(),
            };
            page_that_posts(&form, redirect_uri.form_action_source().as_deref())
        }
    }
}
