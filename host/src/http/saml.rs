//! The SAML endpoints, under `/sso`: sign-on. Signing out is in [`super::saml_logout`].

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::client_calls::is_form;
use super::context::Browser;
use super::csrf;
use super::pages::{Link, SamlPostPage, SamlStartPage};
use super::reply::{ErrorReply, Shown, broken, forged, layout, nonce, page, page_with_script, see_other, with_browser};
use super::texts::Message;
use super::trial;
use crate::domain::login::{self, Person};
use crate::domain::{Broken, Host, trials};
use crate::id::SignOnId;
use crate::model::language::Language;
use crate::model::login::LoginRequest;
use crate::model::name::Quoted;
use crate::model::redirect::CheckedRedirect;
use crate::model::saml::SignOnRequest;
use crate::model::trial::OpenTrial;
use crate::saml::binding::{BindingError, Incoming, Kind, post_value};
use crate::saml::partner::UnfitHeader;
use crate::saml::sign_on::{self, Answer, Failure, Question, Rejected, SignOnAnswer, Unanswerable};

/// `GET /sso/SingleSignOnService/{applicationId}`: a request by redirect; without one, the page that begins a sign-on
/// here.
pub(super) async fn sign_on(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    RawQuery(query): RawQuery,
    browser: Browser,
) -> Response {
    let query = query.unwrap_or_default();
    let reply = async {
        match Incoming::read_redirect(query.as_bytes()) {
            Ok(incoming) => {
                let tried = incoming.relay_state().and_then(|state| state.parse().ok());
                let tried = trial::open(&host, &browser, tried).await?;
                asked(&host, &application, &incoming, tried.as_ref()).await
            }
            Err(BindingError::Missing) => start_page(&host, &browser, &application, &query).await,
            Err(error) => Err(error.into()),
        }
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, browser.language(), &application, rejected))
}

/// `POST /sso/SingleSignOnService/{applicationId}`: a request by form, or the press of the button on the page that begins
/// a sign-on here.
pub(super) async fn sign_on_by_post(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    browser: Browser,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reply = async {
        if !is_form(&headers) {
            return Err(BindingError::Missing.into());
        }
        match Incoming::read_post(&body) {
            Ok(incoming) => asked(&host, &application, &incoming, None).await,
            Err(BindingError::Missing) => started(&host, &browser, &application, &body).await,
            Err(error) => Err(error.into()),
        }
    };
    reply.await.unwrap_or_else(|rejected| refused(&host, browser.language(), &application, rejected))
}

/// A request is checked and kept. The browser comes again to where it brings its cookies: it sends us no `SameSite=Lax`
/// cookie when another site posts.
async fn asked(
    host: &Host,
    application: &str,
    incoming: &Incoming,
    trial: Option<&OpenTrial>,
) -> Result<Response, Rejected> {
    let accepted = sign_on::check(host, application, incoming, trial).await?;
    Ok(see_other(&format!("/sso/sign-on/{}", accepted.id)))
}

/// `GET /sso/sign-on/{id}`: goes on with a request that was kept.
pub(super) async fn go_on(State(host): State<Arc<Host>>, Path(id): Path<String>, browser: Browser) -> Response {
    let reply = async {
        let kept = match id.parse::<SignOnId>() {
            Ok(id) => host.store.take_sign_on(id, host.now()).await.map_err(Broken::from)?,
            Err(_) => None,
        };
        match kept {
            Some(request) => begin(&host, &browser, request).await,
            None => Ok(gone(&host, browser.language())),
        }
    };
    let response = reply.await.unwrap_or_else(|error| broken(&host, browser.language(), &error));
    with_browser(response, &host, &browser)
}

/// Begins a login for a request, or answers at once where a session is enough.
async fn begin(host: &Host, browser: &Browser, request: SignOnRequest) -> Result<Response, Broken> {
    let session = match browser.signed_in(host).await? {
        Some(signed_in) if sign_on::may_go_on(host, &request, &signed_in).await? => Some(signed_in),
        _ => None,
    };
    let Some(provider) = host.store.service_provider(&request.application).await? else {
        return Ok(gone(host, browser.language()));
    };
    if request.passive && session.is_none() {
        let answer = sign_on::failed(host, &request, &provider, Failure::NoPassive).await?;
        return Ok(deliver(host, browser.language(), &answer));
    }
    let session_id = session.as_ref().map(|signed_in| signed_in.session.id);
    let login = login::begin(
        host,
        LoginRequest::Saml(Box::new(request.clone())),
        browser.digest(),
        browser.context(host),
        session_id,
        Some(browser.network()),
    )
    .await?;
    if !trials::login_began(host, &login).await? {
        return Ok(trial::unknown(host, browser.language()));
    }
    let page = see_other(&format!("/login/{}", login.id));
    let Some(signed_in) = session else { return Ok(page) };
    let person = Person { signed_in, cookie: None, origin: browser.origin() };
    let question = Question { login: login.id, request: &request, person: &person, old: None };
    Ok(match sign_on::respond(host, question).await? {
        Answer::Granted(answer) | Answer::Failed(answer) => deliver(host, browser.language(), &answer),
        Answer::Refused(_) if request.passive => {
            match sign_on::deny(host, login.id, &request, Failure::GivenUp).await? {
                Some(answer) => deliver(host, browser.language(), &answer),
                None => page,
            }
        }
        // The login's own page says so, and can be loaded again.
        Answer::Refused(_) | Answer::AnsweredBefore => page,
    })
}

/// The page whose form takes a response to the service provider.
pub(super) fn deliver(host: &Host, language: Language, answer: &SignOnAnswer) -> Response {
    let mut fields = vec![(Kind::Response.parameter(), post_value(&answer.response))];
    fields.extend(answer.relay_state.clone().map(|state| ("RelayState", state)));
    posted(host, language, answer.name.clone(), &answer.acs, fields, Shown::Alone)
}

/// A page that posts a message to a service provider, by itself or by its button.
pub(super) fn posted(
    host: &Host,
    language: Language,
    application: String,
    action: &CheckedRedirect,
    fields: Vec<(&'static str, String)>,
    shown: Shown,
) -> Response {
    let nonce = nonce(host);
    let form = SamlPostPage {
        layout: layout(host, language),
        application,
        action: action.as_str().to_owned(),
        fields,
        nonce: nonce.clone(),
    };
    page_with_script(&form, action.form_action_source().as_deref(), &nonce, shown)
}

/// What a CSRF token is for that begins a sign-on at this host.
pub(super) fn start_purpose(application: &str) -> String {
    format!("/sso/SingleSignOnService/{application}")
}

/// The question whether to go to an application: a link of anybody's may lead here, and signs nobody in by itself.
async fn start_page(host: &Host, browser: &Browser, application: &str, query: &str) -> Result<Response, Rejected> {
    let asked = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "RelayState");
    let relay_state = asked.map(|(_, value)| value.into_owned());
    let (_, provider) = sign_on::unsolicited(host, application, relay_state.as_deref()).await?;
    let purpose = start_purpose(application);
    let start = SamlStartPage {
        layout: layout(host, browser.language()),
        application: provider.name.clone(),
        csrf: csrf::token(host, browser, &purpose)?,
        action: purpose,
        relay_state,
    };
    Ok(with_browser(page(&start, None), host, browser))
}

/// The person wants to go to an application.
async fn started(host: &Host, browser: &Browser, application: &str, body: &[u8]) -> Result<Response, Rejected> {
    let field = |name: &str| {
        let mut pairs = form_urlencoded::parse(body);
        pairs.find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
    };
    let relay_state = field("RelayState").filter(|state| !state.is_empty());
    let (request, _) = sign_on::unsolicited(host, application, relay_state.as_deref()).await?;
    let Some(token) = field("csrf") else { return Err(BindingError::Missing.into()) };
    if !csrf::is_token(host, browser, &start_purpose(application), &token)? {
        return Ok(forged(host, browser.language()));
    }
    Ok(with_browser(begin(host, browser, request).await?, host, browser))
}

fn gone(host: &Host, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::BAD_REQUEST,
        title: Message::of("error-login-used"),
        what_happened: Message::of("error-login-used-happened"),
        what_to_do: Message::of("error-login-used-advice"),
    }
    .render(host, language, &"the kept SAML request is unknown, used or over")
}

/// What a person is told of a request that can't be answered: what happened, and what to do.
const fn in_words(why: &Unanswerable) -> (Message, Message) {
    const AGAIN: Message = Message::of("error-request-again");
    const TELL: Message = Message::of("error-request-tell");
    match why {
        Unanswerable::Application => (Message::of("error-request-application"), TELL),
        Unanswerable::Binding(BindingError::RelayStateTooLong) => (Message::of("error-request-relay-state"), TELL),
        Unanswerable::Binding(_) | Unanswerable::Response | Unanswerable::Message(_) => {
            (Message::of("error-request-unreadable"), AGAIN)
        }
        Unanswerable::Untrusted(_) => (Message::of("error-request-unsigned"), TELL),
        Unanswerable::Header(UnfitHeader::Old(_) | UnfitHeader::Early(_)) => {
            (Message::of("error-request-clock"), AGAIN)
        }
        Unanswerable::Header(_) => (Message::of("error-request-elsewhere"), TELL),
        Unanswerable::Replay => (Message::of("error-request-replay"), AGAIN),
        Unanswerable::Acs(_) => (Message::of("error-request-address"), TELL),
        Unanswerable::NotInitiated => {
            (Message::of("error-start-there-happened"), Message::of("error-start-there-advice"))
        }
        Unanswerable::RelayState(_) => (Message::of("error-request-link"), Message::of("error-request-link-advice")),
    }
}

fn refused(host: &Host, language: Language, application: &str, rejected: Rejected) -> Response {
    let why = match rejected {
        Rejected::Answer(answer) => return deliver(host, language, &answer),
        Rejected::Broken(error) => return broken(host, language, &error),
        Rejected::Page(why) => why,
    };
    let (what_happened, what_to_do) = in_words(&why);
    let status = match why {
        Unanswerable::Application => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    let title = match why {
        Unanswerable::NotInitiated => Message::of("error-start-there"),
        _ => Message::of("error-request"),
    };
    let cause = format!("{why}; the application in the address is {}", Quoted::new(application));
    let page = ErrorReply { status, title, what_happened, what_to_do };
    page.render_with(host, language, &cause, Some(Link::to_start()))
}
