//! The outcomes of the last requests.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::browser_words;
use crate::domain::devices::device_activity;
use crate::domain::devices::device_activity::{PastOutcome, PastRequest};
use crate::domain::protected_actions::{ActionTarget, PastAction};
use crate::http::devices::device_api_error::DeviceApiError;
use crate::http::devices::signed_call::SignedCall;
use crate::http::texts::PageLanguage;
use assent_model::administration::ProtectedActionKind;
use assent_model::statement::application_identifier;

/// The application that a user signed in to.
#[derive(Serialize, ToSchema)]
struct PastApplication {
    /// Its identifier, a DID; the issuer's URL for the server's own pages.
    id: String,
    /// Its current name.
    name: String,
}

/// A protected action.
#[derive(Serialize, ToSchema)]
#[schema(as = PastAction)]
struct PastActionView {
    kind: ProtectedActionKind,
    /// The current name of the user, account or application; `null` without one, and where this user may not see it.
    #[schema(required)]
    target: Option<String>,
    /// Whether the target was deleted or its data erased since.
    target_deleted: bool,
}

/// A request that ended.
#[derive(Serialize, ToSchema)]
#[schema(as = PastRequest)]
struct PastRequestView {
    outcome: PastOutcome,
    application: PastApplication,
    /// The name that was typed; empty if it is not known any more.
    account: String,
    /// The location of the browser's IP address, in the language that `Accept-Language` prefers; empty if it is not
    /// known.
    place: String,
    /// The browser and operating system, in the same language; empty if they are not known.
    browser: String,
    /// The protected action; `null` for a sign-in.
    #[schema(required)]
    protected_action: Option<PastActionView>,
    /// Whether the request had no browser: an application asked, or the user entered the code of a device. Then
    /// `browser` is empty. `place` is that of the device with the code, or empty.
    without_browser: bool,
    /// Whether a help desk asked whether the user is on the phone. Then `place` and `browser` are empty.
    caller_check: bool,
    /// When it was decided, or requested if it was not answered, in seconds since the epoch.
    at: i64,
}

/// The requests that ended.
#[derive(Serialize, ToSchema)]
pub(super) struct History {
    /// The latest first, 50 at most.
    items: Vec<PastRequestView>,
}

/// List the outcomes of the user's last requests, on any device.
#[utoipa::path(get, path = "/history", operation_id = "history.list",
    responses((status = 200, description = "The last requests.", body = History)))]
pub(super) async fn list(
    PageLanguage(language): PageLanguage,
    call: SignedCall,
) -> Result<Json<History>, DeviceApiError> {
    let SignedCall {
        services, device, ..
    } = call;
    let item = |past: PastRequest| {
        let browser = browser_words::translated_words(&services, &past.browser, language);
        PastRequestView {
            outcome: past.outcome,
            application: PastApplication {
                id: application_identifier(past.application.as_ref(), &services.issuer).to_owned(),
                name: past.application_name,
            },
            account: past.account,
            place: browser.place,
            browser: browser.browser,
            protected_action: past.action.map(past_action),
            without_browser: past.without_browser,
            caller_check: past.is_caller_check,
            at: past.at.seconds(),
        }
    };
    let items = device_activity::past_requests(&services, &device)
        .await?
        .into_iter()
        .map(item)
        .collect();
    Ok(Json(History { items }))
}

fn past_action(action: PastAction) -> PastActionView {
    let (target, target_deleted) = match action.target {
        ActionTarget::Named(name) => (Some(name), false),
        ActionTarget::None => (None, false),
        ActionTarget::Gone => (None, true),
    };
    PastActionView {
        kind: action.kind,
        target,
        target_deleted,
    }
}
