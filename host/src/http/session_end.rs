//! Signing out: the end session endpoint, the question that it may ask, and the page at the end.

use std::sync::Arc;

use axum::Form;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::context::Browser;
use super::cookies::Cookie;
use super::csrf;
use super::pages::{Link, SignOutPage, SignedOutPage};
use super::reply::{ErrorReply, broken, forged, layout, page, see_other, with_browser};
use crate::domain::session::{self, SignedIn};
use crate::domain::{Broken, Host};
use crate::oidc::end_session::{self, EndSession, Rejected};
use crate::oidc::parameters::Parameters;

/// The question whether to sign out, and what the CSRF token is for.
const QUESTION: &str = "/session/end";
/// The page at the end.
const ENDED: &str = "/session/ended";
/// How long a request may be, in bytes: an ID token may be in it.
const LONGEST: usize = 15 * 1024;

/// `GET /oidc/session/end`
pub(super) async fn end(State(host): State<Arc<Host>>, RawQuery(query): RawQuery, browser: Browser) -> Response {
    let query = query.unwrap_or_default();
    let reply = async {
        let request = read(&host, &query).await?;
        match browser.signed_in(&host).await? {
            Some(signed_in) if !request.is_for(&host, &signed_in)? => {
                Ok(question_page(&host, &browser, &signed_in, &request, &query)?)
            }
            signed_in => Ok(signed_out(&host, signed_in.as_ref(), &request).await?),
        }
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, &rejected))
}

/// `POST /oidc/session/end`: the same with the parameters in the body. The browser comes again with GET, since it sends
/// us no `SameSite=Lax` cookie when another site posts.
pub(super) async fn end_by_post(State(host): State<Arc<Host>>, body: Bytes) -> Response {
    match std::str::from_utf8(&body) {
        Ok(query) if query.len() <= LONGEST && query.bytes().all(|b| b.is_ascii_graphic()) => {
            see_other(&format!("/oidc/session/end?{query}"))
        }
        _ => unreadable(&host, &"the body is too long, or not application/x-www-form-urlencoded"),
    }
}

/// `GET /session/end`: the question, for whoever comes without an application.
pub(super) async fn question(State(host): State<Arc<Host>>, browser: Browser) -> Response {
    let reply = async {
        Ok(match browser.signed_in(&host).await? {
            Some(signed_in) => question_page(&host, &browser, &signed_in, &EndSession::default(), "")?,
            None => see_other(ENDED),
        })
    };
    reply.await.unwrap_or_else(|error: Broken| broken(&host, &error))
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    csrf: String,
    /// The application's request, as it came.
    #[serde(default)]
    request: String,
    #[serde(default)]
    answer: String,
}

/// `POST /session/end`: the person's answer.
pub(super) async fn answer(State(host): State<Arc<Host>>, browser: Browser, Form(form): Form<Answer>) -> Response {
    let reply = async {
        if !csrf::is_token(&host, &browser, QUESTION, &form.csrf)? {
            return Ok(forged(&host));
        }
        if form.answer != "yes" {
            return Ok(see_other("/"));
        }
        let request = read(&host, &form.request).await?;
        let signed_in = browser.signed_in(&host).await?;
        Ok(signed_out(&host, signed_in.as_ref(), &request).await?)
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, &rejected))
}

/// `GET /session/ended`: you are signed out.
pub(super) async fn ended(State(host): State<Arc<Host>>) -> Response {
    page(&SignedOutPage { layout: layout(&host) }, None)
}

async fn read(host: &Host, query: &str) -> Result<EndSession, Rejected> {
    end_session::check(host, &Parameters::parse(query.as_bytes())?).await
}

/// Ends the session, if there is one, and sends the browser on. Applications are told behind the person's back: nobody
/// waits for them.
async fn signed_out(host: &Host, signed_in: Option<&SignedIn>, request: &EndSession) -> Result<Response, Broken> {
    match (signed_in, request.sid()) {
        (Some(signed_in), _) => session::end(host, signed_in).await?,
        // The session is over here, and its applications don't know.
        (None, Some(sid)) => session::end_if_over(host, sid).await?,
        (None, None) => {}
    }
    let response = see_other(request.location().as_deref().unwrap_or(ENDED));
    Ok(without_session(response, host))
}

/// Takes the session's cookie from the browser.
pub(super) fn without_session(mut response: Response, host: &Host) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(&Cookie::Session.remove(host)) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

fn question_page(
    host: &Host,
    browser: &Browser,
    signed_in: &SignedIn,
    request: &EndSession,
    query: &str,
) -> Result<Response, Broken> {
    let question = SignOutPage {
        layout: layout(host),
        name: signed_in.user.display_name().to_owned(),
        application: request.application().map(str::to_owned),
        action: QUESTION.to_owned(),
        request: query.to_owned(),
        csrf: csrf::token(host, browser, QUESTION)?,
    };
    Ok(with_browser(page(&question, request.form_target().as_deref()), host, browser))
}

fn refused(host: &Host, rejected: &Rejected) -> Response {
    let what_happened = match rejected {
        Rejected::Broken(error) => return broken(host, error),
        Rejected::Parameters(_) => return unreadable(host, rejected),
        Rejected::BadHint(_) | Rejected::UnfitHint(_) | Rejected::OtherClient => {
            "The application could not show that it is one that you signed in to. You are not signed out."
        }
        Rejected::RedirectUri => {
            "The application asked to send you to an address that is not registered for it. You are not signed out."
        }
    };
    unserved(host, what_happened, rejected)
}

fn unreadable(host: &Host, cause: &dyn std::fmt::Display) -> Response {
    unserved(host, "The application sent a request that can't be read. You are not signed out.", cause)
}

fn unserved(host: &Host, what_happened: &'static str, cause: &dyn std::fmt::Display) -> Response {
    ErrorReply {
        status: StatusCode::BAD_REQUEST,
        title: "This sign-out request is not valid",
        what_happened,
        what_to_do: "You can still sign out here. Tell whoever runs the application, with the reference number.",
    }
    .render_with(host, cause, Some(Link { address: QUESTION.to_owned(), text: "Sign out".to_owned() }))
}
