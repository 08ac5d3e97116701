//! The portal's forms: their tokens, and the messages about their results.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};

use super::pages::ButtonForm;
use crate::domain::{InternalError, Services};
use crate::http::csrf;
use crate::http::csrf::UserToken;
use crate::http::portal::form_outcome::{FormResult, csrf_purpose};
use crate::http::portal::owner::Owner;
use crate::http::reply::{forged, internal_error, other_user, see_other};
use assent_model::login::LocalPage;

impl Owner {
    /// Returns a form with its token and the target path `action`.
    pub(super) fn form(&self, action: &str) -> Result<ButtonForm, InternalError> {
        let csrf = csrf::user_token(
            &self.services,
            &self.browser,
            action,
            self.signed_in.user.id,
        )?;
        Ok(ButtonForm {
            action: action.to_owned(),
            csrf,
        })
    }

    /// Redirects to a page of the portal, which shows the result.
    pub(super) fn redirect_with_result(
        &self,
        page: LocalPage,
        result: FormResult,
    ) -> Result<Response, InternalError> {
        let token = csrf::token(
            &self.services,
            &self.browser,
            &csrf_purpose(result, &self.signed_in.user),
        )?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("done", result.as_str())
            .append_pair("token", &token);
        Ok(see_other(&format!("{}?{}", page.path(), query.finish())))
    }
}

/// A form of the portal with a verified token.
pub(super) struct PortalForm {
    pub(super) owner: Owner,
    fields: Vec<(String, String)>,
}

impl PortalForm {
    /// A field of the form; empty if it is missing.
    pub(super) fn field(&self, name: &str) -> &str {
        self.fields
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }
}

impl FromRequest<Arc<Services>> for PortalForm {
    type Rejection = Response;

    async fn from_request(request: Request, services: &Arc<Services>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let owner = Owner::from_request_parts(&mut parts, services).await?;
        let action = parts.uri.path().to_owned();
        let body = Bytes::from_request(Request::from_parts(parts, body), services).await;
        let body = body.map_err(IntoResponse::into_response)?;
        let posted = Self {
            owner,
            fields: form_urlencoded::parse(&body).into_owned().collect(),
        };
        let Owner {
            browser, signed_in, ..
        } = &posted.owner;
        let (user, token) = (Some(signed_in.user.id), posted.field("csrf"));
        match csrf::check_user_token(services, browser, &action, user, token) {
            Ok(UserToken::Valid) => Ok(posted),
            Ok(UserToken::OtherUser) => {
                let page = match LocalPage::from_path(&action) {
                    // The device of the other user.
                    LocalPage::RevokeDevice(_) => LocalPage::Devices,
                    page => page,
                };
                let page = page.path().into_owned();
                Err(other_user(services, browser.language(), page))
            }
            Ok(UserToken::Forged) => Err(forged(services, browser.language())),
            Err(error) => Err(internal_error(services, browser.language(), &error)),
        }
    }
}
