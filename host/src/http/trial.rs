//! Where the answer of a trial goes: `/admin/trials/{id}`. What came of it the console tells.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::context::Browser;
use super::pages::TrialPage;
use super::reply::{ErrorReply, broken, layout, page};
use super::texts::Message;
use crate::domain::{Broken, Host, trials};
use crate::id::TrialId;
use crate::model::language::Language;
use crate::model::trial::{OpenTrial, TrialOutcome};
use crate::oidc;
use crate::oidc::parameters::Parameters;
use crate::saml;
use crate::saml::binding::Incoming;

/// The trial that an address or a relay state names, if it is open in this browser.
pub(super) async fn open(host: &Host, browser: &Browser, id: Option<TrialId>) -> Result<Option<OpenTrial>, Broken> {
    let Some(id) = id else { return Ok(None) };
    match browser.signed_in(host).await? {
        Some(signed_in) => trials::open(host, id, browser.digest(), &signed_in).await,
        None => Ok(None),
    }
}

/// `GET /admin/trials/{id}`: the answer of an OpenID Connect trial.
pub(super) async fn answered(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let reply = async {
        let Some(open) = open(&host, &browser, id.parse().ok()).await? else { return Ok(None) };
        let Ok(parameters) = Parameters::parse(query.unwrap_or_default().as_bytes()) else { return Ok(None) };
        if !oidc::trial::is_answer(&host, open.trial(), &parameters)? || !take(&host, &open).await? {
            return Ok(None);
        }
        oidc::trial::take_up(&host, &open, &parameters).await.map(Some)
    };
    shown(&host, browser.language(), reply.await)
}

/// `POST /admin/trials/{id}`: the answer of a SAML trial.
pub(super) async fn answered_by_post(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    browser: Browser,
    body: Bytes,
) -> Response {
    let reply = async {
        let Some(open) = open(&host, &browser, id.parse().ok()).await? else { return Ok(None) };
        let Ok(incoming) = Incoming::read_post(&body) else { return Ok(None) };
        if !saml::trial::is_answer(&host, open.trial(), &incoming, &body)? || !take(&host, &open).await? {
            return Ok(None);
        }
        saml::trial::take_up(&host, &open, &incoming, &body).await.map(Some)
    };
    shown(&host, browser.language(), reply.await)
}

/// Claims the one answer of a trial.
async fn take(host: &Host, open: &OpenTrial) -> Result<bool, Broken> {
    Ok(host.store.take_trial(open.trial().id, host.now()).await?)
}

fn shown(host: &Host, language: Language, outcome: Result<Option<TrialOutcome>, Broken>) -> Response {
    match outcome {
        Ok(Some(outcome)) => {
            let done = outcome == TrialOutcome::Done;
            page(&TrialPage { layout: layout(host, language), done }, None)
        }
        Ok(None) => unknown(host, language),
        Err(error) => broken(host, language, &error),
    }
}

/// There is no open trial in this browser.
pub(super) fn unknown(host: &Host, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: Message::of("error-trial"),
        what_happened: Message::of("error-trial-happened"),
        what_to_do: Message::of("error-trial-advice"),
    }
    .render(host, language, &"no such trial is open in this browser's session")
}
