//! The part of the authenticator's interface for sign-ins that begin with the phone: it scanned the code of a login page.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;

use crate::domain::sign_in::qr_sign_in;
use crate::domain::sign_in::qr_sign_in::Scanned;
use crate::http::devices::authenticator::{Failure, Reply, SignedCall, parse};

#[derive(Deserialize)]
struct Scan {
    token: String,
}

/// `POST /authenticator/api/qr-sign-ins/preview`: what the person would sign in to, and the browser that they would let in. Its page
/// learns nothing of it.
pub(crate) async fn preview(call: SignedCall) -> Reply {
    let Scan { token } = parse(&call.body)?;
    let look = qr_sign_in::preview(&call.host, &token)
        .await?
        .ok_or(NO_SUCH_LOGIN)?;
    let shown = json!({
        "application": {"name": look.application},
        "place": look.context.place,
        "browser": look.context.browser,
    });
    Ok(Json(shown).into_response())
}

/// `POST /authenticator/api/qr-sign-ins`: the person scanned the code of a login page, and so says who signs in there. What
/// follows is an approval like any other.
pub(crate) async fn scan(call: SignedCall) -> Reply {
    let SignedCall {
        host,
        device,
        body,
        origin,
    } = call;
    let Scan { token } = parse(&body)?;
    match qr_sign_in::scan(&host, &device, &token, origin).await? {
        Scanned::Asked => Ok(StatusCode::NO_CONTENT.into_response()),
        Scanned::NotOpen => Err(NO_SUCH_LOGIN),
        Scanned::Closed => Err(Failure::new(
            StatusCode::FORBIDDEN,
            "closed",
            "Your account can't be used. Ask your administrator.",
        )),
        Scanned::TooMany(exhausted) => {
            Err(TOO_MANY_SIGN_INS.with("retry_after", json!(exhausted.seconds())))
        }
    }
}

const NO_SUCH_LOGIN: Failure = Failure::new(
    StatusCode::GONE,
    "no_such_login",
    "This code was used already, or its time is over. Load the sign-in page again.",
);

const TOO_MANY_SIGN_INS: Failure = Failure::new(
    StatusCode::TOO_MANY_REQUESTS,
    "too_many_sign_ins",
    "This phone scanned so many codes that this one was refused. Wait a minute and try again.",
);
