//! The part of the authenticator's interface for sign-ins that begin with the phone: it scanned the code of a login page.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;

use super::authenticator::{Failure, Reply, SignedCall, parse};
use crate::domain::scan::{self, Scanned};

#[derive(Deserialize)]
struct Scan {
    token: String,
}

/// `POST /authenticator/api/scans/look`: what the person would sign in to, and the browser that they would let in. Its page
/// learns nothing of it.
pub(super) async fn look(call: SignedCall) -> Reply {
    let Scan { token } = parse(&call.body)?;
    let look = scan::look(&call.host, &token).await?.ok_or(NO_SUCH_LOGIN)?;
    let shown = json!({
        "application": {"name": look.application},
        "place": look.context.place,
        "browser": look.context.browser,
    });
    Ok(Json(shown).into_response())
}

/// `POST /authenticator/api/scans`: the person scanned the code of a login page, and so says who signs in there. What
/// follows is an approval like any other.
pub(super) async fn scan(call: SignedCall) -> Reply {
    let SignedCall { host, device, body, origin } = call;
    let Scan { token } = parse(&body)?;
    match scan::scan(&host, &device, &token, origin).await? {
        Scanned::Asked => Ok(StatusCode::NO_CONTENT.into_response()),
        Scanned::NotOpen => Err(NO_SUCH_LOGIN),
        Scanned::Closed => {
            Err(Failure::new(StatusCode::FORBIDDEN, "closed", "Your account can't be used. Ask your administrator."))
        }
        Scanned::TooMany(exhausted) => Err(TOO_MANY_SIGN_INS.with("retry_after", json!(exhausted.seconds()))),
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
