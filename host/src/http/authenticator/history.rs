//! What became of the last requests, for the app.

use axum::Json;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::{Reply, SignedCall};
use crate::domain::history::{self, Past};
use crate::model::statement::application_identifier;

/// `GET /authenticator/api/history`: at most fifty requests of the device's owner that are over, the latest first.
pub(in super::super) async fn history(call: SignedCall) -> Reply {
    let SignedCall { host, device, .. } = call;
    let item = |past: Past| -> Value {
        json!({
            "outcome": past.outcome.as_str(),
            "application": {
                "id": application_identifier(past.application.as_ref(), &host.issuer),
                "name": past.application_name,
            },
            "account": past.account,
            "place": past.place,
            "browser": past.browser,
            "step": past.step,
            "at": past.at.seconds(),
        })
    };
    let items: Vec<Value> = history::of(&host, &device).await?.into_iter().map(item).collect();
    Ok(Json(json!({"items": items})).into_response())
}
