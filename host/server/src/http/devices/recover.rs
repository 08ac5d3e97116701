//! The way back for whoever has no authenticator any more, at `/recover`: a name and a recovery code for a link that
//! enrols another.

use std::sync::Arc;

use axum::Form;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::devices::recovery;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::operations::rate_limits::{too_many_pages, try_again};
use crate::http::pages::{RecoverPage, RecoveredPage};
use crate::http::reply::{forged, internal_error, layout, page, see_other, with_browser};
use crate::http::texts::Message;
use assent_model::name::LoginName;

const RECOVER: &str = "/recover";
const RECOVERED: &str = "/recover/done";

#[derive(Debug, Deserialize)]
pub(crate) struct RecoverForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    code: String,
}

/// `GET /recover`
pub(crate) async fn show(State(services): State<Arc<Services>>, browser: Browser) -> Response {
    let name = browser
        .name()
        .map(|name| name.as_str().to_owned())
        .unwrap_or_default();
    form(&services, &browser, &name, false)
        .unwrap_or_else(|error| internal_error(&services, browser.language(), &error))
}

/// `POST /recover`: the answer for a name that nobody has is the one for a code that is not good.
pub(crate) async fn redeem(
    State(services): State<Arc<Services>>,
    browser: Browser,
    Form(RecoverForm { csrf, name, code }): Form<RecoverForm>,
) -> Response {
    let reply = async {
        if !csrf::is_token(&services, &browser, RECOVER, &csrf)? {
            return Ok(forged(&services, browser.language()));
        }
        let from = browser.origin().address.into();
        if let Err(exhausted) = services
            .rate_limits
            .recovery_failures
            .check(&from, services.now())
        {
            let refused = Message::new("error-too-many-here");
            return Ok(too_many_pages(
                &services,
                browser.language(),
                exhausted,
                refused,
                try_again(RECOVER),
            ));
        }
        let redeemed = match name.parse::<LoginName>() {
            Ok(valid) => recovery::redeem(&services, &valid, &code, browser.origin()).await?,
            Err(_) => None,
        };
        match redeemed {
            // Its page has an address of its own: whoever loads it again must not use up another code.
            Some(link) => Ok(see_other(&recovered(&services, &browser, &link)?)),
            None => {
                // Whether this one was still within the limit is for the next to find out.
                let _ = services
                    .rate_limits
                    .recovery_failures
                    .count_call(&from, services.now());
                let mut reply = form(&services, &browser, &name, true)?;
                *reply.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                Ok(reply)
            }
        }
    };
    reply.await.unwrap_or_else(|error: InternalError| {
        internal_error(&services, browser.language(), &error)
    })
}

/// The address of the page of a good code: with its link, which can be read there alone, and in this browser alone.
fn recovered(services: &Services, browser: &Browser, link: &str) -> Result<String, InternalError> {
    let sealed =
        services
            .master_key
            .seal(&purpose(browser), link.as_bytes(), &*services.entropy)?;
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("link", &sealed)
        .finish();
    Ok(format!("{RECOVERED}?{query}"))
}

fn purpose(browser: &Browser) -> String {
    format!("recovered {}", browser.digest().to_text())
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Recovered {
    #[serde(default)]
    link: String,
}

/// `GET /recover/done?link=..`
pub(crate) async fn done(
    State(services): State<Arc<Services>>,
    browser: Browser,
    query: Result<Query<Recovered>, QueryRejection>,
) -> Response {
    let Query(Recovered { link }) = query.unwrap_or_default();
    let opened = services.master_key.open(&purpose(&browser), &link).ok();
    let link = opened.and_then(|link| String::from_utf8(link.to_vec()).ok());
    match link {
        Some(link) => page(
            &RecoveredPage {
                layout: layout(&services, browser.language()),
                link,
            },
            None,
        ),
        None => see_other(RECOVER),
    }
}

/// The form. What was typed as the code is not shown again.
fn form(
    services: &Services,
    browser: &Browser,
    name: &str,
    rejected: bool,
) -> Result<Response, InternalError> {
    let recover = RecoverPage {
        layout: layout(services, browser.language()),
        action: RECOVER.to_owned(),
        csrf: csrf::token(services, browser, RECOVER)?,
        name: name.chars().take(254).collect(),
        rejected,
    };
    Ok(with_browser(page(&recover, None), services, browser))
}
