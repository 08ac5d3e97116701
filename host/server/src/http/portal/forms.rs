//! The portal's forms: their tokens, and the messages about their results.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::response::{IntoResponse, Response};

use super::pages::ButtonForm;
use super::sign_out::{ENDED, repeated_sign_out};
use crate::domain::portal::{self, EndForm};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::page_error::PageError;
use crate::http::page_routes::{PageRequest, ReplyForm};
use crate::http::portal::form_outcome::{FormResult, csrf_purpose};
use crate::http::portal::owner::Owner;
use crate::http::reply::see_other;
use crate::http::sign_in::session_end::ended_with_device;
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
    ) -> Result<Response, PageError> {
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
    /// The id in the address; empty if it has none.
    pub(super) id: String,
    fields: Vec<(String, String)>,
}

impl PortalForm {
    /// A field of the form; empty if it is missing.
    pub(super) fn field(&self, name: &str) -> &str {
        field_of(&self.fields, name)
    }
}

fn field_of<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    fields
        .iter()
        .find(|(known, _)| known == name)
        .map_or("", |(_, value)| value)
}

/// Returns the response to a form that has signed this browser out before. `None` if the browser is signed in, or the
/// form has had no effect.
async fn signed_out_before(
    services: &Services,
    browser: &Browser,
    form: EndForm,
    action: &str,
    token: &str,
) -> Result<Option<Response>, PageError> {
    if browser.signed_in(services).await?.is_some() {
        return Ok(None);
    }
    let Some(user) = csrf::user_of_token(services, browser, action, token)? else {
        return Ok(None);
    };
    if !portal::was_sent(services, user, form).await? {
        return Ok(None);
    }
    let afterwards = match form {
        EndForm::Device(_) => ended_with_device(services, browser)?,
        EndForm::Everywhere | EndForm::Session(_) => ENDED.to_owned(),
    };
    let waits = browser.session_id().is_some();
    let response = repeated_sign_out(services, browser, &afterwards, waits).await?;
    Ok(Some(response))
}

impl FromRequest<Arc<Services>> for PortalForm {
    type Rejection = Response;

    async fn from_request(request: Request, services: &Arc<Services>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Path(segments) =
            Path::<Vec<(String, String)>>::from_request_parts(&mut parts, services)
                .await
                .map_err(IntoResponse::into_response)?;
        let action = parts.uri.path().to_owned();
        let owner = match Owner::from_request_parts(&mut parts, services).await {
            Ok(owner) => Ok(owner),
            // Only the repetition of a form that ends sessions needs no session.
            Err(rejected) => match EndForm::from_path(&action) {
                Some(form) => {
                    let Ok(browser) = Browser::from_request_parts(&mut parts, services).await;
                    Err((rejected, form, browser))
                }
                None => return Err(rejected),
            },
        };
        let body = Bytes::from_request(Request::from_parts(parts, body), services).await;
        let body = body.map_err(IntoResponse::into_response)?;
        let fields: Vec<(String, String)> = form_urlencoded::parse(&body).into_owned().collect();
        let owner = match owner {
            Ok(owner) => owner,
            Err((rejected, form, browser)) => {
                let token = field_of(&fields, "csrf");
                let repeated = signed_out_before(services, &browser, form, &action, token).await;
                return Err(match repeated {
                    Ok(response) => response.unwrap_or(rejected),
                    Err(error) => error.render(services, browser.language()),
                });
            }
        };
        let (browser, user) = (&owner.browser, owner.signed_in.user.id);
        let page = || match LocalPage::from_path(&action) {
            // The device of the other user.
            LocalPage::RevokeDevice(_) => LocalPage::Devices.path().into_owned(),
            page => page.path().into_owned(),
        };
        let token = field_of(&fields, "csrf");
        csrf::require_user(services, browser, &action, Some(user), token, page)
            .map_err(|error| error.render(services, browser.language()))?;
        Ok(Self {
            owner,
            fields,
            id: segments
                .into_iter()
                .next()
                .map(|(_, id)| id)
                .unwrap_or_default(),
        })
    }
}

impl PageRequest for PortalForm {
    fn reply_form(&self) -> ReplyForm {
        self.owner.reply_form()
    }
}
