//! The passkey of a device, as the app asks for it. Options go to `PublicKeyCredential.parseCreationOptionsFromJSON` and
//! `parseRequestOptionsFromJSON`; what the browser makes of them comes as its `toJSON` has it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use crate::domain::devices::passkey;
use crate::domain::devices::passkey::{Added, Confirmed, Offer, Removed};
use crate::http::devices::authenticator::{Failure, Reply, SignedCall, parse};

/// The passkey is to be shown, by these options.
pub(super) fn required(options: Value) -> Failure {
    // Not among the refusals that are counted: it is how each approval with a passkey begins.
    let message = "This phone has a passkey: confirm with it, in the browser that it was added in.";
    Failure::new(StatusCode::CONFLICT, "passkey_required", message).with("options", options)
}

pub(super) const REFUSED: Failure = Failure::new(
    StatusCode::FORBIDDEN,
    "passkey_refused",
    "What this phone's passkey said does not count. Try again.",
);

const HAS_ONE: Failure = Failure::new(
    StatusCode::CONFLICT,
    "has_passkey",
    "This phone has a passkey already. Remove that one first.",
);

/// `POST /authenticator/api/device/passkey`: what the browser is to make a passkey with.
pub(crate) async fn offer_passkey(call: SignedCall) -> Reply {
    match passkey::offer(&call.host, &call.device).await? {
        Offer::Make(options) => Ok(Json(json!({"options": options})).into_response()),
        Offer::HasOne => Err(HAS_ONE),
        Offer::Impossible => Err(Failure::new(
            StatusCode::CONFLICT,
            "passkeys_impossible",
            "This server has an address in place of a name, and passkeys need a name.",
        )),
    }
}

/// `PUT /authenticator/api/device/passkey`: the passkey that the browser made.
pub(crate) async fn add_passkey(call: SignedCall) -> Reply {
    let made: RegisterPublicKeyCredential = parse(&call.body)?;
    match passkey::add(&call.host, &call.device, &made, &call.by()).await? {
        Added::Added => Ok(done()),
        Added::Refused => Err(REFUSED),
        Added::Taken => Err(HAS_ONE),
    }
}

/// The body of a call that a passkey confirms.
#[derive(Default, Deserialize)]
struct Shown {
    passkey: Option<PublicKeyCredential>,
}

impl Shown {
    fn read(call: &SignedCall) -> Result<Self, Failure> {
        if call.body.is_empty() {
            Ok(Self::default())
        } else {
            parse(&call.body)
        }
    }
}

/// Has the device's passkey confirm this call, where it has one. Without it the answer is `passkey_required`.
pub(crate) async fn confirmed(call: &SignedCall, name: &str) -> Result<(), Failure> {
    let Shown { passkey } = Shown::read(call)?;
    match passkey::confirm(&call.host, &call.device, name, passkey.as_ref(), &call.by()).await? {
        Confirmed::Yes => Ok(()),
        Confirmed::Required(options) => Err(required(options)),
        Confirmed::Refused => Err(REFUSED),
    }
}

/// `POST /authenticator/api/device/passkey/removal`: removes it, once it was shown. Without it the answer is
/// `passkey_required`.
pub(crate) async fn remove_passkey(call: SignedCall) -> Reply {
    let Shown { passkey } = Shown::read(&call)?;
    match passkey::remove(&call.host, &call.device, passkey.as_ref(), &call.by()).await? {
        Removed::Removed | Removed::None => Ok(done()),
        Removed::Required(options) => Err(required(options)),
        Removed::Refused => Err(REFUSED),
    }
}

fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
