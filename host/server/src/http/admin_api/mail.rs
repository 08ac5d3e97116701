//! Email: a preview, and a test message.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, Query};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, MailPreview, SendTestMail};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::language::Language;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("mail", "The email that the server sends.")
        .route("preview", Permission::SettingsRead, routes!(preview))
        .route("test", Permission::MailSend, routes!(test))
}

/// A language of email.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = MailLanguage)]
enum LanguageView {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// German.
    #[serde(rename = "de")]
    German,
}

/// The email to show.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PreviewQuery {
    /// Its language.
    #[serde(default)]
    #[param(inline, required = false)]
    language: LanguageView,
}

/// An email as its reader sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = MailPreview)]
struct PreviewView {
    /// The sender; `null` if the server sends no email.
    from: Option<String>,
    subject: String,
    /// The body as plain text.
    text: String,
    /// The body as HTML.
    html: String,
}

/// Show the invitation as its reader sees it.
///
/// The link in it does not work.
#[utoipa::path(
    get,
    path = "/mail/preview",
    params(PreviewQuery),
    responses((status = 200, description = "The email.", body = PreviewView))
)]
async fn preview(
    State(services): State<Arc<Services>>,
    Query(PreviewQuery { language }): Query<PreviewQuery>,
) -> Json<PreviewView> {
    let language = match language {
        LanguageView::English => Language::English,
        LanguageView::German => Language::German,
    };
    let MailPreview {
        from,
        subject,
        text,
        html,
    } = admin::mail_preview(&services, language);
    Json(PreviewView {
        from,
        subject,
        text,
        html,
    })
}

/// A test email.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TestMail {
    /// The address of the recipient.
    to: String,
}

/// The result of a test email.
#[derive(Serialize, ToSchema)]
struct TestMailResult {
    /// The reply of the SMTP server.
    answer: String,
}

/// Send a test email.
///
/// The response waits for the SMTP server. If the SMTP server rejects the message, the problem `mail-failed` has its
/// reply.
#[utoipa::path(
    post,
    path = "/mail/test",
    request_body = TestMail,
    responses((status = 200, description = "The SMTP server accepted the message.", body = TestMailResult))
)]
async fn test(
    context: Context,
    Body(TestMail { to }): Body<TestMail>,
) -> Result<Json<TestMailResult>, Problem> {
    let answer = context.run(SendTestMail(to)).await?;
    Ok(Json(TestMailResult { answer }))
}
