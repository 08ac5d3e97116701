//! The pages of a login, under `/login/{id}`.

mod begin;
mod ended;

pub(crate) use begin::{BegunLogin, begin};
pub(crate) use ended::{answered_before, leave, return_by_itself};
use ended::{ended_page, refused, unknown};

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, Path, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Form, RequestExt};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use crate::domain::approvals::{approval, channels};
use crate::domain::operations::rate_limits::Exhausted;
use crate::domain::sessions::session::SignedIn;
use crate::domain::sign_in::context::{Agreement, SignInContext};
use crate::domain::sign_in::known_browsers::Standing;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{Approved, Ended, Outcome, Person, View};
use crate::domain::sign_in::{qr_sign_in, test_sign_in};
use crate::domain::{Host, InternalError};
use crate::http::context::Browser;
use crate::http::cookies::Cookie;
use crate::http::csrf;
use crate::http::operations::rate_limits::{too_many_pages, try_again};
use crate::http::pages::{Choice, Ended as EndedKind, LoginPage, Scan, WaitingPage};
use crate::http::reply::{
    forged, internal_error, layout, page, see_other, with_browser, with_session,
};
use crate::http::saml;
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::{confirm, consent};
use crate::http::texts::Message;
use crate::oidc::authorize::{self, Answer, ConsentQuestion, Question};
use crate::saml::sign_on;
use assent_model::approval::Approval;
use assent_model::id::{IdError, LoginId, SessionId, UserId};
use assent_model::login::{Login, LoginRequest, Refusal};
use assent_model::name::LoginName;
use assent_model::saml::SignOnRequest;
use assent_model::secret::Token;
use assent_store::RequestOutcome;

/// A form of these pages.
#[derive(Debug, Deserialize)]
pub(crate) struct LoginForm {
    #[serde(default)]
    csrf: String,
    /// What the person typed.
    #[serde(default)]
    name: String,
    /// Whether the browser shall remember that; empty for no.
    #[serde(default)]
    remember: String,
    /// A token that shows for whom the page was made.
    #[serde(default)]
    pub(crate) person: String,
    /// The button that was pressed.
    #[serde(default)]
    pub(crate) decision: String,
}

/// `GET /login/{id}`: the page for how far the login has come. Once it was approved, the answer.
pub(crate) async fn show(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    browser: Browser,
) -> Response {
    let (browser, found) = find(&host, &id, browser).await;
    let reply = match found {
        Ok(view) => Box::pin(show_view(&host, &browser, view)).await,
        Err(error) => Err(error),
    };
    reply.unwrap_or_else(|error| internal_error(&host, browser.language(), &error))
}

/// The login as this browser finds it, and the browser, whose pages then speak the language that the login is in.
async fn find(host: &Host, id: &str, browser: Browser) -> (Browser, Result<View, InternalError>) {
    let id: Result<LoginId, IdError> = id.parse();
    let found = match id {
        Ok(id) => login::view(host, id, browser.digest()).await,
        Err(IdError) => Ok(View::Unknown),
    };
    let login = found.as_ref().ok().and_then(View::login);
    let asked = login.and_then(|login| login.request.language());
    (browser.speaking(asked), found)
}

async fn show_view(host: &Host, browser: &Browser, view: View) -> Result<Response, InternalError> {
    match view {
        View::Identify(login) => identify_page(host, browser, &login, None).await,
        View::Waiting(login, approval) => waiting_page(host, browser, &login, &approval),
        View::Ended(login, why) => {
            let kind = match why {
                Ended::Denied => EndedKind::Denied,
                Ended::Expired => EndedKind::Expired,
                Ended::Cancelled => EndedKind::Cancelled,
                Ended::Conflict => EndedKind::Conflict,
                Ended::Replaced => EndedKind::Replaced,
                Ended::WrongNumber => EndedKind::Refused(Message::of("refused-wrong-number")),
            };
            ended_page(host, browser, &login, kind).await
        }
        View::SignedIn(login, session) => match resumed(host, browser, &login, session).await? {
            Some(person) => finish(host, browser, &login, &person, None, Agreement::Open).await,
            None => {
                login::again(host, &login).await?;
                identify_page(host, browser, &login, None).await
            }
        },
        View::Approved(login, approved) => approved_reply(host, browser, &login, &approved).await,
        View::Answered(_) => Ok(answered_before(host, browser.language())),
        View::Unknown => Ok(unknown(host, browser.language())),
    }
}

async fn approved_reply(
    host: &Host,
    browser: &Browser,
    login: &Login,
    approved: &Approved,
) -> Result<Response, InternalError> {
    let old = session_before(host, browser, login).await?;
    match login::person(host, approved, old.as_ref(), browser.origin()).await? {
        Some(person)
            if confirm::is_needed(host, browser, approved, &person.signed_in.user).await? =>
        {
            confirm::ask(host, browser, login, &person.signed_in.user).await
        }
        Some(person) => finish(host, browser, login, &person, old.as_ref(), Agreement::Open).await,
        // Suspended between approval and use.
        None => ended_page(host, browser, login, refused(Refusal::PersonClosed)).await,
    }
}

/// The browser's session, which ends where a sign-in begins another one. A test sign-in's leaves it alone.
pub(crate) async fn session_before(
    host: &Host,
    browser: &Browser,
    login: &Login,
) -> Result<Option<SignedIn>, InternalError> {
    if !login.request.purpose().is_application() {
        Ok(None)
    } else {
        browser.signed_in(host).await
    }
}

/// Whoever has the session that a login goes on with, if it is still this browser's, and still enough.
pub(crate) async fn resumed(
    host: &Host,
    browser: &Browser,
    login: &Login,
    session: SessionId,
) -> Result<Option<Person>, InternalError> {
    let found = browser
        .signed_in(host)
        .await?
        .filter(|signed_in| signed_in.session.id == session);
    let Some(signed_in) = found else {
        return Ok(None);
    };
    let enough = match &login.request {
        LoginRequest::Oidc(request) => authorize::may_go_on(host, request, &signed_in).await?,
        LoginRequest::Saml(request) => sign_on::may_go_on(host, request, &signed_in).await?,
        LoginRequest::Local { .. } => false,
    };
    Ok(enough.then_some(Person {
        signed_in,
        cookie: None,
        origin: browser.origin(),
    }))
}

/// Answers the login for this person, or asks them for their consent.
pub(crate) async fn finish(
    host: &Host,
    browser: &Browser,
    login: &Login,
    person: &Person,
    old: Option<&SignedIn>,
    agreement: Agreement,
) -> Result<Response, InternalError> {
    let request = match &login.request {
        LoginRequest::Oidc(request) => request,
        LoginRequest::Saml(request) => {
            return finish_saml(host, browser, login, request, person, old).await;
        }
        LoginRequest::Local { page } => {
            let outcome = Outcome {
                person,
                old,
                given: None,
                consent: None,
            };
            let answered = login::answer(host, login.id, outcome).await?;
            return match answered {
                true => with_session(see_other(&page.path()), host, browser, session_of(person)),
                false => Ok(answered_before(host, browser.language())),
            };
        }
    };
    // Nobody gets the cookie of a test sign-in's session.
    let session = session_of(person).filter(|_| request.purpose.is_application());
    let question = Question {
        login: login.id,
        request,
        person,
        old,
        agreement,
    };
    let observer = test_sign_in::observer(host, request.purpose);
    let context = SignInContext {
        host,
        observer: &*observer,
    };
    match authorize::respond(context, question).await? {
        Answer::Granted(answer) => with_session(
            deliver(host, browser.language(), &answer).await,
            host,
            browser,
            session,
        ),
        Answer::Failed(answer) => Ok(deliver(host, browser.language(), &answer).await),
        Answer::AskConsent(ConsentQuestion { application }) => {
            consent::ask(host, browser, login, request, person, application)
        }
        Answer::Refused(reason) => ended_page(host, browser, login, refused(reason)).await,
        Answer::AnsweredBefore => Ok(answered_before(host, browser.language())),
    }
}

/// The session that began, with its user.
fn session_of(person: &Person) -> Option<(UserId, &Token)> {
    person
        .cookie
        .as_ref()
        .map(|cookie| (person.signed_in.user.id, cookie))
}

/// Answers the login of a service provider for this person.
async fn finish_saml(
    host: &Host,
    browser: &Browser,
    login: &Login,
    request: &SignOnRequest,
    person: &Person,
    old: Option<&SignedIn>,
) -> Result<Response, InternalError> {
    let session = session_of(person).filter(|_| request.purpose.is_application());
    let question = sign_on::Question {
        login: login.id,
        request,
        person,
        old,
    };
    let observer = test_sign_in::observer(host, request.purpose);
    let context = SignInContext {
        host,
        observer: &*observer,
    };
    match sign_on::respond(context, question).await? {
        sign_on::Answer::Granted(answer) => with_session(
            saml::sign_on::deliver(host, browser.language(), &answer),
            host,
            browser,
            session,
        ),
        sign_on::Answer::Failed(answer) => {
            Ok(saml::sign_on::deliver(host, browser.language(), &answer))
        }
        sign_on::Answer::Refused(reason) => ended_page(host, browser, login, refused(reason)).await,
        sign_on::Answer::AnsweredBefore => Ok(answered_before(host, browser.language())),
    }
}

/// A form that one of these pages posted, with our token in it: the login as this browser finds it.
pub(crate) struct Posted {
    pub(crate) host: Arc<Host>,
    pub(crate) browser: Browser,
    pub(crate) form: LoginForm,
    pub(crate) view: View,
    id: String,
}

impl FromRequest<Arc<Host>> for Posted {
    type Rejection = Response;

    async fn from_request(mut request: Request, host: &Arc<Host>) -> Result<Self, Response> {
        let Path(id) = request
            .extract_parts::<Path<String>>()
            .await
            .map_err(IntoResponse::into_response)?;
        let Ok(browser) = request.extract_parts_with_state::<Browser, _>(host).await;
        let Form(form) = Form::<LoginForm>::from_request(request, host)
            .await
            .map_err(IntoResponse::into_response)?;
        match csrf::is_token(host, &browser, &id, &form.csrf) {
            Ok(true) => {}
            Ok(false) => return Err(forged(host, browser.language())),
            Err(error) => return Err(internal_error(host, browser.language(), &error)),
        }
        let (browser, found) = find(host, &id, browser).await;
        match found {
            Ok(View::Unknown) => Err(unknown(host, browser.language())),
            Ok(view) => Ok(Self {
                host: Arc::clone(host),
                browser,
                form,
                view,
                id,
            }),
            Err(error) => Err(internal_error(host, browser.language(), &error)),
        }
    }
}

impl Posted {
    /// Back to the page for how far the login has come.
    pub(crate) fn shown(&self) -> Response {
        see_other(&self.address())
    }

    /// The address of that page.
    fn address(&self) -> String {
        format!("/login/{}", self.id)
    }

    pub(crate) fn reply(&self, reply: Result<Response, InternalError>) -> Response {
        reply.unwrap_or_else(|error| internal_error(&self.host, self.browser.language(), &error))
    }
}

/// `POST /login/{id}`: the person says who they are.
pub(crate) async fn identify(posted: Posted) -> Response {
    let Posted {
        host,
        browser,
        form,
        view,
        ..
    } = &posted;
    let reply = async {
        // A second click, or a stale page: show how far it has come.
        let View::Identify(login) = view else {
            return Ok(posted.shown());
        };
        let Ok(valid) = form.name.parse::<LoginName>() else {
            let mut reply = identify_page(host, browser, login, Some(form.name.clone())).await?;
            *reply.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(reply);
        };
        // Counted before anything is looked for, so that it says nothing of who has an account.
        let (limits, now) = (&host.rate_limits, host.now());
        let from = limits
            .sign_ins_per_ip
            .take(&browser.origin().address.into(), now);
        let from = from.and_then(|()| {
            limits
                .sign_ins_per_browser
                .take(&browser.digest().into(), now)
        });
        let from = from.map_err(|exhausted| (exhausted, Message::of("error-too-many-here")));
        let too_many = |(exhausted, refused)| {
            let next = try_again(&posted.address());
            Ok(too_many_pages(
                host,
                browser.language(),
                exhausted,
                refused,
                next,
            ))
        };
        if let Err(refused) = from {
            approval::refuse(host, login, &valid).await?;
            return too_many(refused);
        }
        let by_name = || Message::of("error-too-many-name");
        // What others do with the name does not count in a browser in which its user signed in before. Nor does it in one whose
        // trust a report revoked: the refusal would show the report.
        let standing = browser.known_users(host).standing(host, &valid).await?;
        if standing == Standing::Unknown
            && let Err(exhausted) = limits.sign_ins_per_user_name.take(&(&valid).into(), now)
        {
            approval::refuse(host, login, &valid).await?;
            return too_many((exhausted, by_name()));
        }
        let asked = approval::ask(
            host,
            login,
            (&valid, standing),
            browser.context(host),
            browser.origin(),
        )
        .await?;
        if asked == RequestOutcome::TooMany {
            let wait = host.settings.lifetimes.approval.get();
            return too_many((Exhausted::within(wait), by_name()));
        }
        Ok(remembering(
            posted.shown(),
            host,
            browser,
            (!form.remember.is_empty()).then_some(&valid),
        ))
    };
    posted.reply(reply.await)
}

/// Has the browser remember the name that was typed, or forget the one that it has.
fn remembering(
    mut response: Response,
    host: &Host,
    browser: &Browser,
    name: Option<&LoginName>,
) -> Response {
    let cookie = match name {
        Some(name) => Some(Cookie::Name.set(host, &URL_SAFE_NO_PAD.encode(name.as_str()))),
        None => browser.name().map(|_| Cookie::Name.remove(host)),
    };
    if let Some(Ok(cookie)) = cookie.map(|cookie| HeaderValue::from_str(&cookie)) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// `POST /login/{id}/cancel`: the person gives up waiting.
pub(crate) async fn cancel(posted: Posted) -> Response {
    let reply = async {
        if let View::Waiting(login, _) = &posted.view {
            login::cancel(&posted.host, login).await?;
        }
        Ok(posted.shown())
    };
    posted.reply(reply.await)
}

/// `POST /login/{id}/again`: the person tries again.
pub(crate) async fn again(posted: Posted) -> Response {
    let reply = async {
        if let View::Ended(login, _) | View::Approved(login, _) | View::SignedIn(login, _) =
            &posted.view
        {
            login::again(&posted.host, login).await?;
        }
        Ok(posted.shown())
    };
    posted.reply(reply.await)
}

/// `POST /login/{id}/continue`: the person goes on as whom they are signed in as.
pub(crate) async fn go_on(posted: Posted) -> Response {
    let Posted {
        host,
        browser,
        form,
        view,
        ..
    } = &posted;
    let reply = async {
        if let View::Identify(login) = view
            && let Some(signed_in) = choice(host, browser, login).await?
            && csrf::is_token(host, browser, &chosen(login, &signed_in), &form.person)?
        {
            login::go_on(host, login, &signed_in).await?;
        }
        Ok(posted.shown())
    };
    posted.reply(reply.await)
}

/// Whom the person may go on as, where the application leaves them the choice.
async fn choice(
    host: &Host,
    browser: &Browser,
    login: &Login,
) -> Result<Option<SignedIn>, InternalError> {
    let LoginRequest::Oidc(request) = &login.request else {
        return Ok(None);
    };
    if !request.select_account {
        return Ok(None);
    }
    let Some(signed_in) = browser.signed_in(host).await? else {
        return Ok(None);
    };
    Ok(authorize::may_go_on(host, request, &signed_in)
        .await?
        .then_some(signed_in))
}

/// What shows that the page offered to go on as this person.
fn chosen(login: &Login, signed_in: &SignedIn) -> String {
    format!("continue {} {}", login.id, signed_in.user.id)
}

/// `GET /login/{id}/events`: one event, `changed`, as soon as the page has something new to show.
pub(crate) async fn events(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
    browser: Browser,
) -> Response {
    let (browser, found) = find(&host, &id, browser).await;
    let view = match found {
        Ok(View::Unknown) => return StatusCode::NOT_FOUND.into_response(),
        Ok(view) => view,
        Err(error) => return internal_error(&host, browser.language(), &error),
    };
    let Some(holding) = host
        .rate_limits
        .told_pages
        .hold(browser.origin().address.into())
    else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let once = stream::once(async move {
        let _holding = holding;
        let news = match view {
            View::Waiting(_, approval) => {
                approval::decided(&host, approval.id).await.map(|()| true)
            }
            View::Identify(login) => qr_sign_in::scanned(&host, login.id).await,
            _ => Ok(true),
        };
        if let Err(error) = &news {
            tracing::error!(%error, "a waiting page could not be told");
        }
        // Without news the stream ends, and the browser asks again.
        news.unwrap_or(true)
            .then(|| Ok::<_, Infallible>(Event::default().event("changed").data("changed")))
    })
    .filter_map(std::future::ready);
    let mut response = Sse::new(once)
        .keep_alive(KeepAlive::default())
        .into_response();
    // Proxies that hold answers back would hold this one back too.
    response.headers_mut().insert(
        "x-accel-buffering",
        axum::http::HeaderValue::from_static("no"),
    );
    response
}

/// What a login's pages say of the application that asks.
pub(crate) struct Asking {
    pub(crate) name: String,
    pub(crate) form_target: Option<String>,
}

pub(crate) async fn asking(host: &Host, login: &Login) -> Result<Asking, InternalError> {
    Ok(match &login.request {
        LoginRequest::Oidc(request) => Asking {
            name: host
                .store
                .application(&request.application)
                .await?
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            form_target: request.redirect_uri.form_action_source(),
        },
        // Where its form goes is for the page to say that holds the response.
        LoginRequest::Saml(request) => Asking {
            name: host
                .store
                .service_provider(&request.application)
                .await?
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            form_target: None,
        },
        LoginRequest::Local { .. } => Asking {
            name: host.settings.operator.clone(),
            form_target: None,
        },
    })
}

/// The name that the application gave, or that of the browser's own session where the application's ID token names its user.
async fn hinted_name(
    host: &Host,
    browser: &Browser,
    login: &Login,
) -> Result<Option<LoginName>, InternalError> {
    match &login.request {
        LoginRequest::Oidc(request) if request.login_hint.is_some() => {
            Ok(request.login_hint.clone())
        }
        LoginRequest::Oidc(request) if request.hinted_subject.is_some() => {
            match browser.signed_in(host).await? {
                Some(signed_in) => authorize::hinted_name(host, request, &signed_in).await,
                None => Ok(None),
            }
        }
        LoginRequest::Saml(request) => Ok(request.login_hint.clone()),
        LoginRequest::Oidc(_) | LoginRequest::Local { .. } => Ok(None),
    }
}

async fn identify_page(
    host: &Host,
    browser: &Browser,
    login: &Login,
    rejected: Option<String>,
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    let asking = asking(host, login).await?;
    let hint = hinted_name(host, browser, login).await?.map(String::from);
    let unfit = rejected.is_some();
    let known = browser.name().map(|name| name.as_str().to_owned());
    let remembered = known.is_some();
    let name = rejected.or(hint).or(known).unwrap_or_default();
    let choice = match choice(host, browser, login).await? {
        Some(signed_in) => Some(Choice {
            name: signed_in.user.display_name().to_owned(),
            action: format!("/login/{id}/continue"),
            person: csrf::token(host, browser, &chosen(login, &signed_in))?,
        }),
        None => None,
    };
    let login_page = LoginPage {
        layout: layout(host, browser.language()),
        application: asking.name,
        action: format!("/login/{id}"),
        leave: format!("/login/{id}/leave"),
        csrf: csrf::token(host, browser, &id)?,
        name,
        unfit,
        remembered,
        choice,
        scan: Scan::new(&host.settings.origin(), qr_sign_in::path(host, login)?),
        events: format!("/login/{id}/events"),
    };
    Ok(with_browser(
        page(&login_page, asking.form_target.as_deref()),
        host,
        browser,
    ))
}

fn waiting_page(
    host: &Host,
    browser: &Browser,
    login: &Login,
    approval: &Approval,
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    // Rounded up, so that the page does not say zero while there is time.
    let seconds_left = approval.remaining(host.now()).as_millis().div_ceil(1000);
    let delegation = channels::delegation(host, &login.request);
    let waiting = WaitingPage {
        layout: layout(host, browser.language()),
        application: approval.shown.application_name.clone(),
        name: approval
            .scanned_by
            .is_none()
            .then(|| approval.shown.account.clone()),
        number: approval.number.to_string(),
        // They depend on the request only, and so reveal nothing about the name.
        delegated: delegation.possible,
        binding: delegation
            .with_letters
            .then(|| channels::binding(host, approval.id))
            .transpose()?,
        seconds_left: u32::try_from(seconds_left).unwrap_or(u32::MAX),
        seconds_total: host.settings.lifetimes.approval.whole_seconds(),
        events: format!("/login/{id}/events"),
        // Whoever typed a name may scan instead, whether the request was sent or not.
        scan: match approval.scanned_by {
            None => Scan::new(&host.settings.origin(), qr_sign_in::path(host, login)?),
            Some(_) => None,
        },
        cancel: format!("/login/{id}/cancel"),
        csrf: csrf::token(host, browser, &id)?,
    };
    Ok(page(&waiting, None))
}
