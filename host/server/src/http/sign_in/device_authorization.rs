//! Sign-in on a device whose code the user enters (RFC 8628): the page for browsers, and the entry in the
//! authenticator.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::sign_in::device_authorization;
use crate::domain::sign_in::device_authorization::EntryOutcome;
use crate::http::devices::{DeviceApiError, ErrorCode, SignedCall, parse};
use crate::http::page_error::PageError;
use crate::http::page_routes::Visitor;
use crate::http::pages::DevicePage;
use crate::http::pages::login::Scan;
use crate::http::reply::{layout, page};
use assent_model::device_authorization::UserCode;

/// The code that a device shows.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct EnteredUserCode {
    /// The code. Case, spaces and hyphens do not matter.
    pub(crate) user_code: String,
}

/// The approval request of an entered code.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct DeviceAuthorizationEntry {
    /// The id of the approval request.
    pub(crate) request: String,
}

/// Enter the code that another device shows (RFC 8628), as the user of this device. An approval request like any other
/// follows, in the list of the pending ones. The entry decides nothing. A repeated call returns the same request.
#[utoipa::path(post, path = "/device-authorizations", operation_id = "device-authorizations.enter",
    request_body = EnteredUserCode,
    responses((status = 200, description = "The approval is requested.", body = DeviceAuthorizationEntry)))]
pub(crate) async fn enter(
    call: SignedCall,
) -> Result<Json<DeviceAuthorizationEntry>, DeviceApiError> {
    let SignedCall {
        services,
        device,
        body,
        origin,
        ..
    } = call;
    let EnteredUserCode { user_code } = parse(&body)?;
    match device_authorization::enter(&services, &device, &user_code, origin).await? {
        EntryOutcome::Asked(approval) => Ok(Json(DeviceAuthorizationEntry {
            request: approval.to_string(),
        })),
        EntryOutcome::UnknownCode => Err(ErrorCode::UserCodeNotFound.into()),
        EntryOutcome::Closed => Err(ErrorCode::UserInactive.into()),
        EntryOutcome::NoAccess => Err(ErrorCode::NoAccess.into()),
        EntryOutcome::TooMany(exhausted) => {
            Err(DeviceApiError::from(ErrorCode::TooManyCalls).retry_after(exhausted))
        }
    }
}

/// The query of `verification_uri_complete`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct DeviceQuery {
    #[serde(default)]
    user_code: String,
}

/// `GET /device`: the page to which a device leads a browser (RFC 8628 section 3.3). It leads to the authenticator,
/// which asks the user to compare the code. It reads neither a session nor the database, so it neither uses a session
/// silently nor reveals which codes exist.
pub(crate) async fn show(
    Visitor { services, browser }: Visitor,
    query: Result<Query<DeviceQuery>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(DeviceQuery { user_code }) = query.unwrap_or_default();
    let code = UserCode::parse_typed(&user_code);
    let authenticator = match &code {
        Some(code) => format!("/authenticator#device={code}"),
        None => "/authenticator#device".to_owned(),
    };
    let shown = DevicePage {
        layout: layout(&services, browser.language()),
        code: code.map(|code| code.to_string()),
        scan: Scan::new(&services.settings.origin(), authenticator.clone()),
        authenticator,
    };
    Ok(page(&shown, None))
}
