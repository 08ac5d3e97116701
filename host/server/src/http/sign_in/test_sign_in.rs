//! The destination of the response of a test sign-in: `/admin/test-sign-ins/{id}`. The console shows the result. A
//! response that the browser sends twice gets the same page for a short time.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::repeat;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::pages::protocol::TestSignInPage;
use crate::http::reply::{ErrorReply, internal_error, layout, page};
use crate::messages::Message;
use crate::oidc::parameters::Parameters;
use crate::test_sign_in::{oidc, saml};
use assent_model::id::TestSignInId;
use assent_model::language::Language;
use assent_model::test_sign_in::{OpenTestSignIn, TestSignIn, TestSignInOutcome};
use assent_saml_core::binding::Incoming;
use assent_store::Transition;

/// Returns the test sign-in that an address or a relay state names, if it is open in this browser.
pub(crate) async fn open(
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
async fn claimed(
    services: &Services,
    browser: &Browser,
    id: Option<TestSignInId>,
) -> Result<Option<TestSignIn>, InternalError> {
    let Some(id) = id else { return Ok(None) };
    match browser.signed_in(services).await? {
        Some(signed_in) => repeat::claimed(services, id, browser.digest(), &signed_in).await,
        None => Ok(None),
    }
}

/// `GET /admin/test-sign-ins/{id}`: the response of an OpenID Connect test sign-in.
pub(crate) async fn answered(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let reply = async {
        let Ok(parameters) = Parameters::parse(query.unwrap_or_default().as_bytes()) else {
            return Ok(None);
        };
        let id = id.parse().ok();
        if let Some(open) = open(&services, &browser, id).await? {
            if !oidc::is_answer(&services, open.test_sign_in(), &parameters)? {
                return Ok(None);
            }
            if claim_answer(&services, &open).await?.is_done() {
                return oidc::take_up(&services, &open, &parameters).await.map(Some);
            }
        }
        match claimed(&services, &browser, id).await? {
            Some(claimed) if oidc::is_answer(&services, &claimed, &parameters)? => {
                repeat::outcome(&services, claimed.id).await
            }
            _ => Ok(None),
        }
    };
    outcome_page(&services, browser.language(), reply.await)
}

/// `POST /admin/test-sign-ins/{id}`: the response of a SAML test sign-in.
pub(crate) async fn answered_by_post(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    browser: Browser,
    body: Bytes,
) -> Response {
    let reply = async {
        let Ok(incoming) = Incoming::read_post(&body) else {
            return Ok(None);
        };
        let id = id.parse().ok();
        if let Some(open) = open(&services, &browser, id).await? {
            if !saml::is_answer(&services, open.test_sign_in(), &incoming, &body)? {
                return Ok(None);
            }
            if claim_answer(&services, &open).await?.is_done() {
                return saml::take_up(&services, &open, &incoming, &body)
                    .await
                    .map(Some);
            }
        }
        match claimed(&services, &browser, id).await? {
            Some(claimed) if saml::is_answer(&services, &claimed, &incoming, &body)? => {
                repeat::outcome(&services, claimed.id).await
            }
            _ => Ok(None),
        }
    };
    outcome_page(&services, browser.language(), reply.await)
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

fn outcome_page(
    services: &Services,
    language: Language,
    outcome: Result<Option<TestSignInOutcome>, InternalError>,
) -> Response {
    match outcome {
        Ok(Some(outcome)) => {
            let done = outcome == TestSignInOutcome::Completed;
            page(
                &TestSignInPage {
                    layout: layout(services, language),
                    done,
                },
                None,
            )
        }
        Ok(None) => unknown(services, language),
        Err(error) => internal_error(services, language, &error),
    }
}

/// Returns the page for a browser without an open test sign-in.
pub(crate) fn unknown(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-test-sign-in"),
        what_happened: Message::new("error-test-sign-in-happened"),
        what_to_do: Message::new("error-test-sign-in-advice"),
    }
    .render(
        services,
        language,
        &"no such test sign-in is open in this browser's session",
    )
}
