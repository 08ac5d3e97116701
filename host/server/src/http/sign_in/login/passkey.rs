//! The sign-in with a passkey on the login page.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use webauthn_rs::prelude::PublicKeyCredential;

use crate::domain::InternalError;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::sign_in::passkey;
use crate::domain::sign_in::passkey::{PasskeyAnswer, PasskeySignInOutcome};
use crate::http::operations::rate_limits::try_again;
use crate::http::page_error::PageError;
use crate::http::sign_in::login::asking::disabled_denial;
use crate::http::sign_in::login::identify::{IdentifyError, count_attempt, identify_page};
use crate::http::sign_in::login::posted::LoginPost;
use crate::messages::Message;

/// `POST /login/{id}/passkey/challenge`: a new challenge for the script of the page, as
/// `PublicKeyCredentialRequestOptionsJSON`. The options do not depend on the user.
pub(crate) async fn passkey_challenge(posted: LoginPost) -> Result<Response, PageError> {
    let LoginView::Identify(login) = &posted.view else {
        return Ok(StatusCode::CONFLICT.into_response());
    };
    Ok(match passkey::challenge(&posted.services, login).await? {
        Some(options) => Json(options.public_key).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    })
}

/// The assertion that the script sends: an `AuthenticationResponseJSON`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(flatten)]
    credential: PublicKeyCredential,
    #[serde(default)]
    authenticator_attachment: Option<String>,
}

/// Whether another request of this browser has ended the identification of the user in the meantime.
async fn is_over(posted: &LoginPost) -> Result<bool, InternalError> {
    let view = posted.current_view().await?;
    Ok(!matches!(view, LoginView::Identify(_)))
}

/// Whether the identification ends within a second: by the request that has claimed the challenge, and still verifies
/// the assertion.
async fn is_over_soon(posted: &LoginPost) -> Result<bool, InternalError> {
    for _ in 0..3 {
        if is_over(posted).await? {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    is_over(posted).await
}

/// `POST /login/{id}/passkey`: the assertion of a passkey.
pub(crate) async fn passkey(posted: LoginPost) -> Result<Response, PageError> {
    let LoginPost {
        services,
        browser,
        form,
        ..
    } = &posted;
    let login = posted.unidentified_login()?;
    if disabled_denial(services, login).await?.is_some() {
        return Ok(posted.redirect_to_current_page());
    }
    // Cooldowns and the limits of names do not apply to a passkey or a QR sign-in. They protect against requests
    // that the user did not begin, and an attacker must not lock the user out.
    count_attempt(services, browser).map_err(|exhausted| {
        let limit = Message::new("error-too-many-here");
        PageError::too_many(exhausted, limit, try_again(&posted.address()))
    })?;
    let rejected = || identify_page(services, browser, login, IdentifyError::Passkey);
    let Ok(assertion) = serde_json::from_str::<Assertion>(&form.assertion) else {
        return rejected().await;
    };
    let answer = PasskeyAnswer {
        assertion: assertion.credential,
        is_same_device: assertion.authenticator_attachment.as_deref() == Some("platform"),
    };
    let context = browser.context(services);
    match passkey::answer(services, login, &answer, context, browser.origin()).await? {
        PasskeySignInOutcome::Approved | PasskeySignInOutcome::NotOpen => {
            Ok(posted.redirect_to_current_page())
        }
        PasskeySignInOutcome::Rejected if is_over(&posted).await? => {
            Ok(posted.redirect_to_current_page())
        }
        // The browser sent the assertion twice, and the first one has used up the challenge.
        PasskeySignInOutcome::NoChallenge if is_over_soon(&posted).await? => {
            Ok(posted.redirect_to_current_page())
        }
        PasskeySignInOutcome::Rejected | PasskeySignInOutcome::NoChallenge => rejected().await,
    }
}
