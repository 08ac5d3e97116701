//! What became of the last requests, for the app.

use axum::Json;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::domain::devices::device_activity;
use crate::domain::devices::device_activity::PastRequest;
use crate::domain::protected_actions::{ActionTarget, PastAction};
use crate::http::devices::authenticator::{Reply, SignedCall};
use assent_model::statement::application_identifier;

/// `GET /authenticator/api/history`: at most fifty requests of the device's owner that are over, the latest first.
pub(crate) async fn history(call: SignedCall) -> Reply {
    let SignedCall { host, device, .. } = call;
    let item = |past: PastRequest| -> Value {
        json!({
            "outcome": past.outcome.as_str(),
            "application": {
                "id": application_identifier(past.application.as_ref(), &host.issuer),
                "name": past.application_name,
            },
            "account": past.account,
            "place": past.place,
            "browser": past.browser,
            "protected_action": past.action.as_ref().map(action),
            "at": past.at.seconds(),
        })
    };
    let items: Vec<Value> = device_activity::past_requests(&host, &device)
        .await?
        .into_iter()
        .map(item)
        .collect();
    Ok(Json(json!({"items": items})).into_response())
}

/// A protected action: its kind, and the current name of what it concerned. `gone` says that this was erased or deleted since.
fn action(action: &PastAction) -> Value {
    let target = match &action.target {
        ActionTarget::Named(name) => Some(name),
        ActionTarget::None | ActionTarget::Gone => None,
    };
    json!({
        "kind": action.kind.as_str(),
        "target": target,
        "gone": action.target == ActionTarget::Gone,
    })
}
