//! The destination of the response of a test sign-in: `/admin/test-sign-ins/{id}`. The console shows the result. A
//! response that the browser sends twice gets the same page for a short time.

use axum::body::Bytes;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::repeat;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::page_routes::Visitor;
use crate::http::pages::protocol::TestSignInPage;
use crate::http::reply::{layout, page};
use crate::messages::Message;
use crate::oidc::parameters::Parameters;
use crate::test_sign_in::{oidc, saml};
use assent_model::id::TestSignInId;
use assent_model::test_sign_in::{OpenTestSignIn, TestSignIn, TestSignInOutcome};
use assent_saml_core::binding::Incoming;
use assent_store::Transition;

/// Returns the test sign-in that an address or a relay state names, if it is open in this browser.
pub(crate) async fn open_test_sign_in(
    services: &Services,
    browser: &Browser,
    id: Option<TestSignInId>,
) -> Result<Option<OpenTestSignIn>, InternalError> {
    let Some(id) = id else { return Ok(None) };
    match browser.signed_in(services).await? {
        Some(signed_in) => test_sign_in::open(services, id, browser.digest(), &signed_in).await,
        None => Ok(None),
    }
}

/// Returns the test sign-in whose response this browser sent a moment ago.
async fn claimed_test_sign_in(
    services: &Services,
    browser: &Browser,
    id: Option<TestSignInId>,
) -> Result<Option<TestSignIn>, InternalError> {
    let Some(id) = id else { return Ok(None) };
    match browser.signed_in(services).await? {
        Some(signed_in) => {
            repeat::repeated_test_sign_in(services, id, browser.digest(), &signed_in).await
        }
        None => Ok(None),
    }
}

/// `GET /admin/test-sign-ins/{id}`: the response of an OpenID Connect test sign-in.
pub(crate) async fn receive_oidc_response(
    Visitor { services, browser }: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes())
        .map_err(|_| unknown_test_sign_in())?;
    let id = id.parse().ok();
    if let Some(open) = open_test_sign_in(&services, &browser, id).await? {
        if !oidc::is_answer(&services, open.test_sign_in(), &parameters)? {
            return Err(unknown_test_sign_in());
        }
        if claim_answer(&services, &open).await?.is_done() {
            let outcome = oidc::take_up(&services, &open, &parameters).await?;
            return Ok(outcome_page(&services, &browser, outcome));
        }
    }
    match claimed_test_sign_in(&services, &browser, id).await? {
        Some(claimed) if oidc::is_answer(&services, &claimed, &parameters)? => {
            repeated_outcome(&services, &browser, claimed.id).await
        }
        _ => Err(unknown_test_sign_in()),
    }
}

/// `POST /admin/test-sign-ins/{id}`: the response of a SAML test sign-in.
pub(crate) async fn receive_saml_response(
    Visitor { services, browser }: Visitor,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, PageError> {
    let incoming = Incoming::read_post(&body).map_err(|_| unknown_test_sign_in())?;
    let id = id.parse().ok();
    if let Some(open) = open_test_sign_in(&services, &browser, id).await? {
        if !saml::is_answer(&services, open.test_sign_in(), &incoming, &body)? {
            return Err(unknown_test_sign_in());
        }
        if claim_answer(&services, &open).await?.is_done() {
            let outcome = saml::take_up(&services, &open, &incoming, &body).await?;
            return Ok(outcome_page(&services, &browser, outcome));
        }
    }
    match claimed_test_sign_in(&services, &browser, id).await? {
        Some(claimed) if saml::is_answer(&services, &claimed, &incoming, &body)? => {
            repeated_outcome(&services, &browser, claimed.id).await
        }
        _ => Err(unknown_test_sign_in()),
    }
}

/// Claims the single response of a test sign-in.
async fn claim_answer(
    services: &Services,
    open: &OpenTestSignIn,
) -> Result<Transition, InternalError> {
    Ok(services
        .store
        .claim_test_sign_in(open.test_sign_in().id, services.now())
        .await?)
}

fn outcome_page(services: &Services, browser: &Browser, outcome: TestSignInOutcome) -> Response {
    let template = TestSignInPage {
        layout: layout(services, browser.language()),
        done: outcome == TestSignInOutcome::Completed,
    };
    page(&template, None)
}

/// Returns the page again for a response that the browser sends twice.
async fn repeated_outcome(
    services: &Services,
    browser: &Browser,
    id: TestSignInId,
) -> Result<Response, PageError> {
    let outcome = repeat::outcome(services, id).await?;
    let outcome = outcome.ok_or_else(unknown_test_sign_in)?;
    Ok(outcome_page(services, browser, outcome))
}

/// The page for a browser without an open test sign-in.
pub(crate) fn unknown_test_sign_in() -> PageError {
    ErrorTexts {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-test-sign-in"),
        what_happened: Message::new("error-test-sign-in-happened"),
        what_to_do: Message::new("error-test-sign-in-advice"),
    }
    .caused_by("no such test sign-in is open in this browser's session")
}
