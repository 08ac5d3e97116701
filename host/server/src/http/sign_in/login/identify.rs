//! The login page, on which users enter their names.

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::approvals::request;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::sign_in::login::OpenLogin;
use crate::domain::sign_in::login::view;
use crate::domain::sign_in::{login, passkey, qr_sign_in};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::cookies::Cookie;
use crate::http::csrf;
use crate::http::devices::recover::recover_address;
use crate::http::operations::rate_limits::try_again;
use crate::http::page_error::PageError;
use crate::http::pages::login::{Choice, LoginPage, PasskeyForm, Scan};
use crate::http::portal::owner::is_enough;
use crate::http::reply::{layout, page, see_other, with_browser};
use crate::http::sign_in::login::asking::{disabled_denial, requesting_application};
use crate::http::sign_in::login::followed;
use crate::http::sign_in::login::posted::LoginPost;
use crate::http::sign_in::login::repeat::answered_meanwhile;
use crate::messages::Message;
use crate::oidc::authorize::interaction;
use crate::saml::sign_on;
use assent_model::login::{LocalPage, Login, LoginAnswer, LoginRequest};
use assent_model::name::{LoginName, LoginNameError, described_character};
use assent_store::{RequestOutcome, Transition};

/// `POST /login/{id}`: the user enters a name.
pub(crate) async fn identify(posted: LoginPost) -> Result<Response, PageError> {
    let LoginPost {
        services,
        browser,
        form,
        ..
    } = &posted;
    let login = posted.unidentified_login()?;
    // The user signed in in another tab since this page was shown. With `select_account` the page offers the
    // session from the start.
    if !offers_account(login)
        && !form.name.is_empty()
        && let Some(signed_in) = choice(services, browser, login).await?
        && is_unseen(login, &signed_in)
        && !csrf::is_token(
            services,
            browser,
            &choice_purpose(login, &signed_in),
            &form.user,
        )?
        && !login::has_declined(services, login, &signed_in).await?
    {
        let began = IdentifyError::SessionBegan(form.name.clone());
        return identify_page(services, browser, login, began).await;
    }
    // This check is the same for each name, and comes before any count or query.
    if disabled_denial(services, login).await?.is_some() {
        return Ok(posted.redirect_to_current_page());
    }
    let valid = match form.name.parse::<LoginName>() {
        Ok(valid) => valid,
        Err(why) => {
            let unfit = IdentifyError::Name(form.name.clone(), why);
            return identify_page(services, browser, login, unfit).await;
        }
    };
    let again = try_again(&posted.address());
    if let Err(exhausted) = count_attempt(services, browser) {
        request::refuse(services, login, &valid).await?;
        let limit = Message::new("error-too-many-here");
        return Err(PageError::too_many(exhausted, limit, again));
    }
    let limit = Message::new("error-too-many-name");
    // Requests of other browsers with the same name do not count in a browser in which the user signed in before.
    // They also do not count in a browser whose trust a report revoked, because a rejection would reveal the
    // report.
    let standing = browser
        .known_users(services)
        .status_for(services, &valid)
        .await?;
    if standing == BrowserStatus::Unknown
        && let Err(exhausted) = services
            .rate_limits
            .sign_ins_per_user_name
            .count_call(&(&valid).into(), services.now())
    {
        request::refuse(services, login, &valid).await?;
        return Err(PageError::too_many(exhausted, limit, again));
    }
    let outcome = request::ask(
        services,
        login,
        (&valid, standing),
        browser.context(services),
        browser.origin(),
    )
    .await?;
    if outcome == RequestOutcome::TooMany {
        let wait = services.settings.lifetimes.approval.get();
        return Err(PageError::too_many(
            RateLimitError::within(wait),
            limit,
            again,
        ));
    }
    Ok(with_name_cookie(
        posted.redirect_to_current_page(),
        services,
        browser,
        (!form.remember.is_empty()).then_some(&valid),
    ))
}

/// Counts an attempt to sign in from this browser and its network. This comes before any query, so that it does not
/// reveal whether an account exists.
pub(super) fn count_attempt(services: &Services, browser: &Browser) -> Result<(), RateLimitError> {
    let (limits, now) = (&services.rate_limits, services.now());
    limits
        .sign_ins_per_ip
        .count_call(&browser.origin().address.into(), now)?;
    limits
        .sign_ins_per_browser
        .count_call(&browser.digest().into(), now)
}

/// Sets or removes the cookie with the typed name.
fn with_name_cookie(
    mut response: Response,
    services: &Services,
    browser: &Browser,
    name: Option<&LoginName>,
) -> Response {
    let cookie = match name {
        Some(name) => Some(Cookie::Name.set(services, &URL_SAFE_NO_PAD.encode(name.as_str()))),
        None => browser.name().map(|_| Cookie::Name.remove(services)),
    };
    if let Some(Ok(cookie)) = cookie.map(|cookie| HeaderValue::from_str(&cookie)) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// `POST /login/{id}/continue`: the user continues as the signed-in user.
pub(crate) async fn proceed(posted: LoginPost) -> Result<Response, PageError> {
    let LoginPost {
        services, browser, ..
    } = &posted;
    let login = posted.unidentified_login()?;
    if let Some(signed_in) = choice(services, browser, login).await? {
        posted.require_page_of_user(&choice_purpose(login, &signed_in))?;
        if let LoginRequest::Local { page } = &login.request {
            return own_page(services, browser, login, *page, &signed_in).await;
        }
        login::continue_with_session(services, login, &signed_in).await?;
    }
    Ok(posted.redirect_to_current_page())
}

/// Whether the user has not seen the offer of this sufficient session yet. An application's request would have been
/// answered at its beginning if the session had existed then.
fn is_unseen(login: &Login, signed_in: &BrowserSession) -> bool {
    match &login.request {
        LoginRequest::Oidc(_) | LoginRequest::Saml(_) => true,
        LoginRequest::Local { .. } => signed_in.session.authentication.at > login.created_at,
    }
}

/// Whether the application requested that the user chooses an account.
fn offers_account(login: &Login) -> bool {
    matches!(&login.request, LoginRequest::Oidc(request) if request.select_account)
}

/// Ends a sign-in to an own page of the server, for which the session is sufficient.
async fn own_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    page: LocalPage,
    signed_in: &BrowserSession,
) -> Result<Response, PageError> {
    let answer = LoginAnswer::SignedIn {
        session: signed_in.session.id,
        is_new: false,
        code: None,
    };
    let (stored, now) = (OpenLogin::Stored(login.id), services.now());
    match login::end_without_sign_in(services, stored, answer, None, now).await? {
        Transition::Done => Ok(see_other(&page.path())),
        Transition::NotOpen => answered_meanwhile(services, browser, login.id).await,
    }
}

/// Returns the user that the page offers for the continuation: the application requested the choice, or the session
/// began in another tab since the request. The session must be sufficient.
async fn choice(
    services: &Services,
    browser: &Browser,
    login: &Login,
) -> Result<Option<BrowserSession>, InternalError> {
    let Some(signed_in) = browser.signed_in(services).await? else {
        return Ok(None);
    };
    let suffices = match &login.request {
        LoginRequest::Oidc(request) => {
            interaction::may_continue(services, request, &signed_in).await?
        }
        LoginRequest::Saml(request) => sign_on::may_continue(services, request, &signed_in).await?,
        // The user may sign in to an own page although there is a session, because a page requires a recent sign-in, or
        // as another user. So an earlier session is not offered.
        LoginRequest::Local { page } => {
            signed_in.session.authentication.at >= login.created_at
                && is_enough(services, *page, &signed_in)
        }
    };
    Ok(suffices.then_some(signed_in))
}

/// Returns the purpose of the token that proves that the page offered to continue as this user.
fn choice_purpose(login: &Login, signed_in: &BrowserSession) -> String {
    format!("continue {} {}", login.id, signed_in.user.id)
}

/// Returns the name in the application's login hint, or the name of the session's user if the application's ID token
/// names that user.
async fn hinted_name(
    services: &Services,
    browser: &Browser,
    login: &Login,
) -> Result<Option<LoginName>, InternalError> {
    match &login.request {
        LoginRequest::Oidc(request) if request.login_hint.is_some() => {
            Ok(request.login_hint.clone())
        }
        LoginRequest::Oidc(request) if request.hinted_subject.is_some() => {
            match browser.signed_in(services).await? {
                Some(signed_in) => interaction::hinted_name(services, request, &signed_in).await,
                None => Ok(None),
            }
        }
        LoginRequest::Saml(request) => Ok(request.login_hint.clone()),
        LoginRequest::Oidc(_) | LoginRequest::Local { .. } => Ok(None),
    }
}

/// The error on the page.
pub(super) enum IdentifyError {
    /// There is no error.
    None,
    /// The typed text is not a valid name.
    Name(String, LoginNameError),
    /// The passkey did not sign in.
    Passkey,
    /// The user typed this name, and is signed in since.
    SessionBegan(String),
}

/// Returns the sentence about a text that cannot be a name. It names a rejected character, which may be invisible.
fn name_error(why: LoginNameError) -> Message {
    match why {
        LoginNameError::Character {
            character,
            position,
        } if !character.is_whitespace() => Message::new("login-name-character")
            .text("character", described_character(character))
            .number("position", i64::try_from(position).unwrap_or(i64::MAX)),
        LoginNameError::Domain => Message::new("login-name-domain"),
        LoginNameError::Character { .. } | LoginNameError::Length | LoginNameError::Direction => {
            Message::new("login-name-invalid")
        }
    }
}

pub(super) async fn identify_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    error: IdentifyError,
) -> Result<Response, PageError> {
    let id = login.id.to_string();
    let asking = requesting_application(services, login).await?;
    let hint = hinted_name(services, browser, login)
        .await?
        .map(String::from);
    let is_recent = matches!(error, IdentifyError::SessionBegan(_));
    let (typed, unfit, passkey_failed) = match error {
        IdentifyError::None => (None, None, false),
        IdentifyError::Name(name, why) => (Some(name), Some(name_error(why)), false),
        IdentifyError::SessionBegan(name) => (Some(name), None, false),
        IdentifyError::Passkey => (None, None, true),
    };
    let is_rejected = unfit.is_some() || passkey_failed;
    let known = browser.name().map(|name| name.as_str().to_owned());
    let remembered = known.is_some();
    let before = match browser.retries() {
        true => view::typed_name(services, login.id).await?,
        false => None,
    };
    let name = typed.or(before).or(hint).or(known).unwrap_or_default();
    let choice = match choice(services, browser, login).await? {
        Some(signed_in) => Some(Choice {
            name: signed_in.user.display_name().to_owned(),
            action: format!("/login/{id}/continue"),
            user_token: csrf::token(services, browser, &choice_purpose(login, &signed_in))?,
            is_recent,
        }),
        None => None,
    };
    let login_page = LoginPage {
        layout: layout(services, browser.language()),
        application: asking.name,
        logo: asking.logo,
        recover: recover_address(login.id),
        action: format!("/login/{id}"),
        leave: format!("/login/{id}/leave"),
        csrf: csrf::token(services, browser, &id)?,
        name,
        unfit,
        remembered,
        choice,
        passkey: passkey::is_offered(services, login)
            .await?
            .then(|| PasskeyForm {
                action: format!("/login/{id}/passkey"),
                challenge: format!("/login/{id}/passkey/challenge"),
                failed: passkey_failed,
            }),
        scan: Scan::new(
            &services.settings.origin(),
            qr_sign_in::path(services, login)?,
        ),
        follow: followed::login_page(login.id),
    };
    let mut response = with_browser(
        page(&login_page, asking.form_target.as_deref()),
        services,
        browser,
    );
    if is_rejected {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    Ok(response)
}
