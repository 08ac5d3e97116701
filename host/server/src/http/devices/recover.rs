//! Recovery, at `/recover`: a user without a device exchanges a name and a recovery code for a link that enrols another
//! device. The query `login` names the sign-in that led here, to which the pages lead back.

use axum::Form;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::devices::recovery;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, RETRY};
use crate::http::csrf;
use crate::http::operations::rate_limits::try_again;
use crate::http::page_error::PageError;
use crate::http::page_routes::Visitor;
use crate::http::pages::link::Link;
use crate::http::pages::{RecoverPage, RecoveredPage};
use crate::http::reply::{layout, page, see_other, with_browser};
use crate::messages::Message;
use assent_model::id::LoginId;
use assent_model::name::LoginName;

const RECOVER: &str = "/recover";
const RECOVERED: &str = "/recover/done";

/// The address of the form, with the way back to this sign-in.
pub(crate) fn recover_address(login: LoginId) -> String {
    format!("{RECOVER}?login={login}")
}

fn form_address(login: Option<LoginId>) -> String {
    login.map_or_else(|| RECOVER.to_owned(), recover_address)
}

/// The query with the sign-in that led here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RecoverQuery {
    #[serde(default)]
    login: String,
}

/// Returns this sign-in, if it is still open in this browser.
async fn open_login(
    services: &Services,
    browser: &Browser,
    login: &str,
) -> Result<Option<LoginId>, InternalError> {
    let Ok(id) = login.parse() else {
        return Ok(None);
    };
    Ok(
        match login::view::view(services, id, browser.digest()).await? {
            LoginView::Unknown | LoginView::Answered(..) => None,
            _ => Some(id),
        },
    )
}

/// The link back to a sign-in. A name that the user typed there stays.
fn to_sign_in(login: LoginId) -> Link {
    Link {
        address: format!("/login/{login}?{RETRY}"),
        text: Message::new("recover-back"),
    }
}

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
pub(crate) async fn show(
    Visitor { services, browser }: Visitor,
    query: Result<Query<RecoverQuery>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(RecoverQuery { login }) = query.unwrap_or_default();
    let login = open_login(&services, &browser, &login).await?;
    let typed = match login {
        Some(login) => view::typed_name(&services, login).await?,
        None => None,
    };
    let remembered = || browser.name().map(|name| name.as_str().to_owned());
    let name = typed.or_else(remembered).unwrap_or_default();
    recovery_form(&services, &browser, login, &name, false)
}

/// `POST /recover`: the response for an unknown name is the same as for an invalid code.
pub(crate) async fn redeem(
    Visitor { services, browser }: Visitor,
    query: Result<Query<RecoverQuery>, QueryRejection>,
    Form(RecoverForm { csrf, name, code }): Form<RecoverForm>,
) -> Result<Response, PageError> {
    let Query(RecoverQuery { login }) = query.unwrap_or_default();
    let login = open_login(&services, &browser, &login).await?;
    csrf::require(&services, &browser, RECOVER, &csrf)?;
    let from = browser.origin().address.into();
    let failures = &services.rate_limits.recovery_failures;
    failures.check(&from, services.now()).map_err(|exhausted| {
        let limit = Message::new("error-too-many-here");
        PageError::too_many(exhausted, limit, try_again(&form_address(login)))
    })?;
    let redeemed = match name.parse::<LoginName>() {
        Ok(valid) => {
            recovery::redeem(&services, &valid, &code, browser.digest(), browser.origin()).await?
        }
        Err(_) => None,
    };
    let Some(link) = redeemed else {
        // The result is not needed here, because the next attempt checks the limit.
        let _ = failures.count_call(&from, services.now());
        let mut reply = recovery_form(&services, &browser, login, &name, true)?;
        *reply.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(reply);
    };
    // The page has an address of its own, so that a reload does not use up another code.
    let address = link_page_address(&services, &browser, &link, login)?;
    Ok(see_other(&address))
}

/// Returns the address of the page after a valid code. It contains the link, which only this page can open, and only in
/// this browser.
fn link_page_address(
    services: &Services,
    browser: &Browser,
    link: &str,
    login: Option<LoginId>,
) -> Result<String, InternalError> {
    let sealed = services.seal(&purpose(browser), link.as_bytes())?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("link", &sealed);
    if let Some(login) = login {
        query.append_pair("login", &login.to_string());
    }
    Ok(format!("{RECOVERED}?{}", query.finish()))
}

fn purpose(browser: &Browser) -> String {
    format!("recovered {}", browser.digest().to_text())
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct RecoveredQuery {
    #[serde(default)]
    link: String,
    #[serde(default)]
    login: String,
}

/// `GET /recover/done?link=..`
pub(crate) async fn show_link(
    Visitor { services, browser }: Visitor,
    query: Result<Query<RecoveredQuery>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(RecoveredQuery { link, login }) = query.unwrap_or_default();
    let opened = services.sealing_keys.open(&purpose(&browser), &link).ok();
    let Some(link) = opened.and_then(|link| String::from_utf8(link.to_vec()).ok()) else {
        return Ok(see_other(RECOVER));
    };
    let login = open_login(&services, &browser, &login).await?;
    let template = RecoveredPage {
        layout: layout(&services, browser.language()),
        link,
        back: login.map(to_sign_in),
    };
    Ok(page(&template, None))
}

/// The recovery form. It never shows the typed code again.
fn recovery_form(
    services: &Services,
    browser: &Browser,
    login: Option<LoginId>,
    name: &str,
    rejected: bool,
) -> Result<Response, PageError> {
    let template = RecoverPage {
        layout: layout(services, browser.language()),
        action: form_address(login),
        back: login.map_or_else(Link::to_start, to_sign_in),
        csrf: csrf::token(services, browser, RECOVER)?,
        name: name.chars().take(254).collect(),
        rejected,
    };
    Ok(with_browser(page(&template, None), services, browser))
}
