//! The part of the authenticator API for sign-ins that begin with the device, which scans the code of a login page.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::browser_words;
use crate::domain::sign_in::qr_sign_in;
use crate::domain::sign_in::qr_sign_in::ScanOutcome;
use crate::http::devices::{DeviceApiError, ErrorCode, SignedCall, parse};
use crate::http::texts::PageLanguage;

/// The code of a login page.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QrSignInToken {
    /// The part of the code's link after `#login=`.
    pub(crate) token: String,
}

/// The application that a user would sign in to.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QrSignInApplication {
    /// Its name.
    pub(crate) name: String,
}

/// The sign-in of a code.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QrSignInPreview {
    pub(crate) application: QrSignInApplication,
    /// The location of the browser's IP address, in the language that `Accept-Language` prefers.
    pub(crate) place: String,
    /// The browser and operating system, by its own account, in the same language.
    pub(crate) browser: String,
    /// Whether the sign-in is in the browser that sent the call, by its cookie. The user needs no number then.
    pub(crate) same_browser: bool,
}

/// The sign-in that the device began.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct QrSignIn {
    /// The id of the approval request.
    pub(crate) request: String,
    /// The path of the login page, which continues after the approval; `null` if it is in another browser.
    #[schema(required)]
    pub(crate) login_page: Option<String>,
}

/// Preview the sign-in of a code. The login page is not notified.
#[utoipa::path(post, path = "/qr-sign-ins/preview", operation_id = "qr-sign-ins.preview", request_body = QrSignInToken,
    responses((status = 200, description = "The sign-in.", body = QrSignInPreview)))]
pub(crate) async fn preview(
    PageLanguage(language): PageLanguage,
    call: SignedCall,
) -> Result<Json<QrSignInPreview>, DeviceApiError> {
    let QrSignInToken { token } = parse(&call.body)?;
    let look = qr_sign_in::preview(&call.services, &token, call.browser)
        .await?
        .ok_or(ErrorCode::SignInNotFound)?;
    let waiting = browser_words::signed_words(&look.context, language);
    Ok(Json(QrSignInPreview {
        application: QrSignInApplication {
            name: look.application,
        },
        place: waiting.place,
        browser: waiting.browser,
        same_browser: look.is_same_browser,
    }))
}

/// Begin the sign-in of a code as the user of the device. An approval request like any other follows, in the list of
/// the pending ones. If the sign-in is in the browser of the device, no channel carries it. A repeated call returns the
/// same request.
#[utoipa::path(post, path = "/qr-sign-ins", operation_id = "qr-sign-ins.create", request_body = QrSignInToken,
    responses((status = 200, description = "The approval is requested.", body = QrSignIn)))]
pub(crate) async fn scan(call: SignedCall) -> Result<Json<QrSignIn>, DeviceApiError> {
    let SignedCall {
        services,
        device,
        body,
        origin,
        browser,
    } = call;
    let QrSignInToken { token } = parse(&body)?;
    match qr_sign_in::scan(&services, &device, &token, browser, origin).await? {
        ScanOutcome::Asked {
            approval,
            login_page,
        } => Ok(Json(QrSignIn {
            request: approval.to_string(),
            login_page: login_page.map(|login| format!("/login/{login}")),
        })),
        ScanOutcome::NotOpen => Err(ErrorCode::SignInNotFound.into()),
        ScanOutcome::Closed => Err(ErrorCode::UserInactive.into()),
        ScanOutcome::TooMany(exhausted) => {
            Err(DeviceApiError::from(ErrorCode::TooManySignIns).retry_after(exhausted))
        }
    }
}
