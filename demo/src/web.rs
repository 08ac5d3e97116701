//! The demo's web pages and the state of each browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use askama::Template;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, REFERRER_POLICY, SET_COOKIE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use openidconnect::CsrfToken;
use serde::Deserialize;
use url::Url;

use crate::pages::{FailedPage, SignedInPage, SignedOutPage, StartPage};
use crate::relying_party::{Pending, RelyingParty, SignedIn};

/// The cookie that identifies a browser. Ports do not separate cookies, so the demo uses a name of its own.
const COOKIE_NAME: &str = "assent_demo";
/// The lifetime of a browser's pending or completed sign-in.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// The largest number of stored browsers.
const MOST_BROWSERS: usize = 1000;

/// The state of one browser, stored only in memory.
struct Browser {
    since: Instant,
    pending: Option<Pending>,
    signed_in: Option<SignedIn>,
}

struct Demo {
    relying_party: RelyingParty,
    browsers: Mutex<HashMap<String, Browser>>,
}

type Shared = State<Arc<Demo>>;

/// Returns the demo's routes.
pub fn router(relying_party: RelyingParty) -> Router {
    let demo = Arc::new(Demo {
        relying_party,
        browsers: Mutex::default(),
    });
    Router::new()
        .route("/", get(start))
        .route("/login", get(login))
        .route("/callback", get(callback))
        .route("/sign-out", post(sign_out))
        .route("/sign-out-everywhere", post(sign_out_everywhere))
        .route("/signed-out", get(signed_out))
        .route("/demo.css", get(style))
        .with_state(demo)
}

async fn start(State(demo): Shared, headers: HeaderMap) -> Response {
    match demo.signed_in(&headers) {
        Some(signed_in) => page_leading_to(
            signed_in.sign_out.as_ref(),
            StatusCode::OK,
            &SignedInPage::new(&signed_in),
        ),
        None => {
            let file = demo.relying_party.file();
            page(
                StatusCode::OK,
                &StartPage {
                    issuer: file.issuer.clone(),
                    origin: file.origin(),
                },
            )
        }
    }
}

#[derive(Deserialize)]
struct Login {
    /// `login` requests a fresh approval (OpenID Connect Core section 3.1.2.1).
    prompt: Option<String>,
    /// The provider, if one of its pages contains the link (section 4).
    iss: Option<String>,
}

async fn login(State(demo): Shared, Query(login): Query<Login>) -> Response {
    if let Err(error) = demo.relying_party.check_issuer(login.iss.as_deref()) {
        return page(
            StatusCode::BAD_REQUEST,
            &FailedPage::of_failure("The link was rejected.", Some(error.to_string())),
        );
    }
    match demo
        .relying_party
        .begin(login.prompt.as_deref() == Some("login"))
        .await
    {
        Ok((url, pending)) => {
            let id = demo.remember(Browser {
                since: Instant::now(),
                pending: Some(pending),
                signed_in: None,
            });
            (with_cookie(&id), Redirect::to(url.as_str())).into_response()
        }
        Err(error) => {
            tracing::warn!(error = %format_args!("{error:#}"), "sign-in not started");
            let sentence = format!(
                "The provider {} did not answer as expected.",
                demo.relying_party.file().issuer
            );
            page(
                StatusCode::BAD_GATEWAY,
                &FailedPage::of_failure(&sentence, Some(format!("{error:#}"))),
            )
        }
    }
}

/// The authorization response (RFC 6749 section 4.1.2, RFC 9207).
#[derive(Deserialize)]
struct Answer {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

async fn callback(
    State(demo): Shared,
    Query(answer): Query<Answer>,
    headers: HeaderMap,
) -> Response {
    // The pending sign-in is removed, so a response works once, and only in the browser that started it.
    let pending =
        browser_of(&headers).and_then(|id| demo.take_pending(&id, answer.state.as_deref()));
    let Some(pending) = pending else {
        let sentence =
            "This response does not belong to a sign-in of this browser, or was used already.";
        return page(
            StatusCode::BAD_REQUEST,
            &FailedPage::of_failure(sentence, None),
        );
    };
    if let Err(error) = demo.relying_party.check_issuer(answer.iss.as_deref()) {
        return page(
            StatusCode::BAD_REQUEST,
            &FailedPage::of_failure("The response was rejected.", Some(error.to_string())),
        );
    }
    if let Some(code) = answer.error {
        return page(
            StatusCode::OK,
            &FailedPage::of_response(&code, answer.error_description.as_deref()),
        );
    }
    let Some(code) = answer.code else {
        return page(
            StatusCode::BAD_REQUEST,
            &FailedPage::of_failure("The response contains neither a code nor an error.", None),
        );
    };
    match demo.relying_party.finish(pending, code).await {
        Ok(signed_in) => {
            // The cookie gets a new value, because an attacker may know the value from before the sign-in (session
            // fixation).
            let id = demo.remember(Browser {
                since: Instant::now(),
                pending: None,
                signed_in: Some(signed_in),
            });
            (with_cookie(&id), Redirect::to("/")).into_response()
        }
        Err(error) => {
            tracing::warn!(error = %format_args!("{error:#}"), "sign-in failed");
            let sentence = "The provider's response did not pass the checks.";
            page(
                StatusCode::BAD_GATEWAY,
                &FailedPage::of_failure(sentence, Some(format!("{error:#}"))),
            )
        }
    }
}

async fn sign_out(State(demo): Shared, headers: HeaderMap) -> Redirect {
    if is_own(&headers) {
        demo.forget(&headers);
    }
    Redirect::to("/")
}

/// Signs out here and at the provider (OpenID Connect RP-Initiated Logout), which ends the user's session in all
/// applications.
async fn sign_out_everywhere(State(demo): Shared, headers: HeaderMap) -> Redirect {
    let browser = is_own(&headers).then(|| demo.forget(&headers)).flatten();
    let provider = browser.and_then(|browser| browser.signed_in?.sign_out);
    match provider {
        Some(url) => Redirect::to(url.as_str()),
        None => Redirect::to("/"),
    }
}

async fn signed_out(State(demo): Shared, headers: HeaderMap) -> Response {
    match demo.signed_in(&headers) {
        // The browser is still signed in, so this request does not follow a sign-out.
        Some(_) => Redirect::to("/").into_response(),
        None => page(StatusCode::OK, &SignedOutPage),
    }
}

/// Returns whether the form belongs to one of the demo's own pages. Ports do not separate sites, so the browser also
/// sends the cookie with forms of other programs on this machine.
fn is_own(headers: &HeaderMap) -> bool {
    headers
        .get("sec-fetch-site")
        .is_none_or(|site| site == "same-origin")
}

async fn style() -> impl IntoResponse {
    (
        [(CONTENT_TYPE, "text/css; charset=utf-8")],
        include_str!("../assets/demo.css"),
    )
}

impl Demo {
    fn browsers(&self) -> MutexGuard<'_, HashMap<String, Browser>> {
        // Each change is a single call on the map, so the map stays consistent after a panic.
        self.browsers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a browser with a new random identifier, and removes expired ones.
    fn remember(&self, browser: Browser) -> String {
        let id = CsrfToken::new_random().into_secret();
        let mut browsers = self.browsers();
        browsers.retain(|_, known| known.since.elapsed() < REMEMBERED);
        if browsers.len() >= MOST_BROWSERS {
            let oldest = browsers
                .iter()
                .min_by_key(|(_, known)| known.since)
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| browsers.remove(&id));
        }
        browsers.insert(id.clone(), browser);
        id
    }

    /// Returns the signed-in user of the requesting browser.
    fn signed_in(&self, headers: &HeaderMap) -> Option<SignedIn> {
        let id = browser_of(headers)?;
        self.browsers().get(&id)?.signed_in.clone()
    }

    /// Removes the record of the requesting browser, and returns it.
    fn forget(&self, headers: &HeaderMap) -> Option<Browser> {
        let id = browser_of(headers)?;
        self.browsers().remove(&id)
    }

    /// Takes the browser's pending sign-in if its `state` is equal.
    fn take_pending(&self, id: &str, state: Option<&str>) -> Option<Pending> {
        let mut browsers = self.browsers();
        let pending = &mut browsers.get_mut(id)?.pending;
        pending.take_if(|pending| Some(pending.state.as_str()) == state)
    }
}

/// Returns the identifier of this browser, from its cookie.
fn browser_of(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE_NAME)
        .map(|(_, value)| value.to_owned())
}

/// Returns the cookie header. `SameSite` is `Lax`, because the provider's redirect to the callback comes from another
/// site and must carry the cookie.
fn with_cookie(id: &str) -> [(axum::http::HeaderName, String); 1] {
    [(
        SET_COOKIE,
        format!("{COOKIE_NAME}={id}; Path=/; HttpOnly; SameSite=Lax"),
    )]
}

fn page(status: StatusCode, template: &impl Template) -> Response {
    page_leading_to(None, status, template)
}

/// Returns a page with a form that redirects to this address. Browsers check the redirect against the page's policy.
fn page_leading_to(target: Option<&Url>, status: StatusCode, template: &impl Template) -> Response {
    let target = target.map_or_else(String::new, |url| {
        format!(" {}", url.origin().ascii_serialization())
    });
    let headers = [
        (CACHE_CONTROL, "no-store".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (
            CONTENT_SECURITY_POLICY,
            format!(
                "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'{target}; \
                 frame-ancestors 'none'; base-uri 'none'"
            ),
        ),
    ];
    match template.render() {
        Ok(html) => (status, headers, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "page not rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
