//! The SAML endpoints, under `/sso`: sign-on. The sign-out is in [`crate::http::saml::logout`].

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::context::{NoObserver, SignInContext, log_plugin_denial};
use crate::domain::sign_in::login::{AuthenticatedUser, OpenLogin};
use crate::domain::sign_in::test_sign_in;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::oidc::client_calls::is_form;
use crate::http::operator_details;
use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::page_routes::Visitor;
use crate::http::pages::protocol::{FormPostPage, SamlStartPage};
use crate::http::reply::{Framing, layout, nonce, page, page_with_script, see_other, with_browser};
use crate::http::request_id;
use crate::http::sign_in::answer::{link_to, link_to_origin};
use crate::http::sign_in::login;
use crate::http::sign_in::login::no_login::disabled_application;
use crate::http::sign_in::test_sign_in::open_test_sign_in;
use crate::messages::Message;
use crate::saml::peer::HeaderError;
use crate::saml::sign_on::{
    self, AuthenticatedSignOn, CheckedSignOn, SignOnAnswer, SignOnDenied, SignOnError,
    SignOnOutcome, Unanswerable,
};
use assent_model::clock::Timestamp;
use assent_model::id::{LoginId, SessionId, SignOnId};
use assent_model::language::Language;
use assent_model::login::{GivenAnswer, LoginRequest};
use assent_model::name::QuotedText;
use assent_model::redirect::{CheckedRedirect, RedirectPolicy};
use assent_model::saml::{MessageAnswer, MessageClaim, SignOnRequest};
use assent_model::secret::Digest;
use assent_saml_core::binding::{BindingError, Incoming, MessageKind, post_value};
use assent_store::{ClaimedSignOn, EarlierClaim, ReplayCheck, SignOnState};

/// `GET /sso/SingleSignOnService/{applicationId}`: a request by redirect; without a request, the page that begins a
/// sign-on at this server.
pub(crate) async fn sign_on(
    Visitor { services, browser }: Visitor,
    Path(application): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let query = query.unwrap_or_default();
    let reply = async {
        match Incoming::read_redirect(query.as_bytes()) {
            Ok(incoming) => {
                let tried = incoming.relay_state().and_then(|state| state.parse().ok());
                let tried = open_test_sign_in(&services, &browser, tried).await?;
                let policy = RedirectPolicy::for_browser(tried.as_ref());
                let read = browser.sign_on_state(&services, &application).await?;
                let known = read.as_ref().map(|read| &read.application);
                let checked =
                    sign_on::check(&services, &application, &incoming, policy, known).await?;
                match Box::pin(answer_at_once(&services, &browser, &checked, read)).await? {
                    Some(response) => Ok(response),
                    None => store_request(&services, checked).await,
                }
            }
            Err(BindingError::Missing) => {
                start_page(&services, &browser, &application, &query).await
            }
            Err(error) => Err(error.into()),
        }
    };
    match reply.await {
        Ok(response) => Ok(response),
        Err(rejected) => reject(&services, &browser, &application, rejected).await,
    }
}

/// `POST /sso/SingleSignOnService/{applicationId}`: a request by form, or the button of the page that begins a sign-on
/// at this server.
pub(crate) async fn sign_on_by_post(
    Visitor { services, browser }: Visitor,
    Path(application): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let reply = async {
        if !is_form(&headers) {
            return Err(BindingError::Missing.into());
        }
        match Incoming::read_post(&body) {
            Ok(incoming) => {
                let policy = RedirectPolicy::Registered;
                let checked =
                    sign_on::check(&services, &application, &incoming, policy, None).await?;
                store_request(&services, checked).await
            }
            Err(BindingError::Missing) => {
                Box::pin(start_sign_on(&services, &browser, &application, &body)).await
            }
            Err(error) => Err(error.into()),
        }
    };
    match reply.await {
        Ok(response) => Ok(response),
        Err(rejected) => reject(&services, &browser, &application, rejected).await,
    }
}

/// Stores a checked request. The browser then continues with a GET, because it sends no `SameSite=Lax` cookie when
/// another site posts.
async fn store_request(
    services: &Services,
    checked: CheckedSignOn,
) -> Result<Response, SignOnError> {
    let id = sign_on::store(services, checked).await?;
    Ok(see_other(&format!("/sso/sign-on/{id}")))
}

/// Responds to a request with the browser's session, if that is sufficient, and claims the message in the transaction
/// of the response. The same browser with the same session receives the same response again for a while. Returns `None`
/// if there is no such session, if the message was claimed otherwise, or if a page must show why the user gets no
/// assertion: then the request takes the way of all others.
async fn answer_at_once(
    services: &Services,
    browser: &Browser,
    checked: &CheckedSignOn,
    read: Option<SignOnState>,
) -> Result<Option<Response>, SignOnError> {
    let CheckedSignOn {
        id,
        request,
        once,
        provider,
    } = checked;
    if !request.purpose.is_application() {
        return Ok(None);
    }
    let Some(signed_in) = usable_session(services, browser, request, read).await? else {
        return Ok(None);
    };
    let to = receiver(*id, browser, signed_in.session.id);
    let mut authenticated_user =
        AuthenticatedUser::of_session(signed_in, browser.secret(), browser.origin());
    let login = LoginId::from_bytes(*id.as_bytes());
    // A concurrent request with the same message may claim it first. Then this one repeats the response.
    for _ in 0..2 {
        let now = services.now();
        let earlier = services.store.earlier_claim(once.digest).await;
        let (at, claim) = match earlier.map_err(InternalError::from)? {
            None => {
                let answer = Some(MessageAnswer { at: now, to });
                let claim = MessageClaim { answer, ..*once };
                (now, Some(claim))
            }
            Some(EarlierClaim {
                answer: Some(answer),
            }) if answer.to == to && answer.at + GivenAnswer::REPEATABLE > now => (answer.at, None),
            Some(_) => return Ok(None),
        };
        let authenticated = AuthenticatedSignOn {
            login: OpenLogin::Unstored(login),
            request,
            authenticated_user: &authenticated_user,
            at,
            claim,
            provider: Some(provider),
        };
        let request_id = request_id::current();
        let context = SignInContext {
            services,
            observer: &NoObserver,
            request_id: &request_id,
        };
        let answer = match sign_on::respond(context, authenticated).await? {
            SignOnOutcome::Granted(answer) => answer,
            SignOnOutcome::Failed(answer) if is_claimed(services, claim).await? => answer,
            SignOnOutcome::Failed(_) | SignOnOutcome::AnsweredBefore => {
                authenticated_user.signed_in.forget_account();
                continue;
            }
            // The login page shows the reason.
            SignOnOutcome::Denied(_) => return Ok(None),
        };
        let response = deliver(services, browser.language(), &answer);
        return Ok(Some(with_browser(response, services, browser)));
    }
    Ok(None)
}

/// Claims the message of a failure. Returns `false` if it was claimed meanwhile.
async fn is_claimed(
    services: &Services,
    claim: Option<MessageClaim>,
) -> Result<bool, InternalError> {
    match claim {
        Some(claim) => {
            let check = services.store.claim_message(claim).await?;
            Ok(check == ReplayCheck::FirstUse)
        }
        // A repeated failure.
        None => Ok(true),
    }
}

/// The digest of the receiver of a repeated response: the sign-on, the browser and its session.
fn receiver(id: SignOnId, browser: &Browser, session: SessionId) -> Digest {
    Digest::sha256(format!("{id}\n{}\n{session}", browser.digest().to_text()).as_bytes())
}

/// Returns the browser's session, if it is sufficient for the request.
async fn usable_session(
    services: &Services,
    browser: &Browser,
    request: &SignOnRequest,
    read: Option<SignOnState>,
) -> Result<Option<BrowserSession>, InternalError> {
    let Some(signed_in) = browser.signed_in_by(services, read).await? else {
        return Ok(None);
    };
    let suffices = sign_on::may_continue(services, request, &signed_in).await?;
    Ok(suffices.then_some(signed_in))
}

/// `GET /sso/sign-on/{id}`: continues with a stored request.
pub(crate) async fn proceed(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    browser: Browser,
) -> Response {
    let reply = async {
        let Ok(id) = id.parse::<SignOnId>() else {
            return Err(unusable_request());
        };
        let now = services.now();
        let claimed = services
            .store
            .claim_sign_on_request(id, browser.digest(), browser.session_id(), now)
            .await?;
        let claimed = claimed.ok_or_else(unusable_request)?;
        let login = LoginId::from_bytes(*id.as_bytes());
        Box::pin(continue_request(&services, &browser, login, claimed)).await
    };
    let response = reply
        .await
        .unwrap_or_else(|error| error.render(&services, browser.language()));
    with_browser(response, &services, &browser)
}

/// Continues with a request, whose login has the id of the request. If the first response to this browser was lost, the
/// browser goes to the same login, or receives the same response about the same session.
async fn continue_request(
    services: &Services,
    browser: &Browser,
    login: LoginId,
    claimed: ClaimedSignOn,
) -> Result<Response, PageError> {
    if claimed.repeats {
        if services.store.login(login, services.now()).await?.is_some() {
            return Ok(see_other(&format!("/login/{login}")));
        }
        // The first response may have contained an assertion about this session. Only that session gets it again.
        if let Some(session) = claimed.session {
            let suffices = match browser.signed_in(services).await? {
                Some(signed_in) if signed_in.session.id != session => false,
                Some(signed_in) if !claimed.request.passive => {
                    sign_on::may_continue(services, &claimed.request, &signed_in).await?
                }
                // A passive request gets an error if the session does not suffice.
                _ => claimed.request.passive,
            };
            if !suffices {
                return Err(unusable_request());
            }
        }
    }
    begin(services, browser, claimed.request, login, claimed.at).await
}

/// Begins a login for a request, or responds at once if the session is sufficient.
async fn begin(
    services: &Services,
    browser: &Browser,
    request: SignOnRequest,
    login: LoginId,
    at: Timestamp,
) -> Result<Response, PageError> {
    let session = usable_session(services, browser, &request, None).await?;
    let Some(provider) = services
        .store
        .service_provider(&request.application)
        .await?
    else {
        return Err(unusable_request());
    };
    if !provider.settings.enabled {
        return Err(disabled_application(
            "the application was disabled since the request",
        ));
    }
    if request.passive && session.is_none() {
        let why = SignOnDenied::NoPassive;
        let answer = sign_on::failure_answer(services, &request, &provider, why, login, at).await?;
        return Ok(deliver(services, browser.language(), &answer));
    }
    let login_request = LoginRequest::Saml(Box::new(request.clone()));
    let begun = login::begin::begin(services, browser, login_request, Some(login), session).await?;
    let Some(authenticated_user) = &begun.authenticated_user else {
        return Ok(begun.page(services).await?);
    };
    let authenticated = AuthenticatedSignOn {
        login: begun.open(),
        request: &request,
        authenticated_user,
        at,
        claim: None,
        provider: Some(&provider),
    };
    let observer = test_sign_in::observer::observer(services, request.purpose);
    let request_id = request_id::current();
    let context = SignInContext {
        services,
        observer: &*observer,
        request_id: &request_id,
    };
    Ok(match sign_on::respond(context, authenticated).await? {
        SignOnOutcome::Granted(answer) | SignOnOutcome::Failed(answer) => {
            deliver(services, browser.language(), &answer)
        }
        SignOnOutcome::Denied(why) if request.passive => {
            log_plugin_denial(begun.open(), Some(&request.application), &why, None);
            match sign_on::deny(services, begun.open(), &request, SignOnDenied::GivenUp).await? {
                Some(answer) => deliver(services, browser.language(), &answer),
                None => begun.page(services).await?,
            }
        }
        // The login page shows the failure, and can be reloaded.
        SignOnOutcome::Denied(_) | SignOnOutcome::AnsweredBefore => begun.page(services).await?,
    })
}

/// Returns the page with the form that takes a response to the service provider.
pub(crate) fn deliver(services: &Services, language: Language, answer: &SignOnAnswer) -> Response {
    let mut fields = vec![(
        MessageKind::Response.parameter(),
        post_value(&answer.response),
    )];
    fields.extend(
        answer
            .relay_state
            .clone()
            .map(|state| ("RelayState", state)),
    );
    let link = match &answer.starts_here {
        Some(application) => link_to(&answer.name, start_purpose(application.as_str())),
        None => link_to_origin(&answer.name, &answer.acs),
    };
    let form = FormPostPage {
        is_granted: answer.is_granted,
        link,
        ..message_form(services, language, answer.name.clone(), &answer.acs, fields)
    };
    page_with_form(&form, &answer.acs, Framing::Denied)
}

fn message_form(
    services: &Services,
    language: Language,
    application: String,
    action: &CheckedRedirect,
    fields: Vec<(&'static str, String)>,
) -> FormPostPage {
    // Each message has an `ID`, so the fields differ. A repeated response has the same ones.
    let values: Vec<&str> = fields.iter().map(|(_, value)| value.as_str()).collect();
    let answer = Digest::sha256(values.join("\n").as_bytes()).to_text();
    FormPostPage {
        layout: layout(services, language),
        title: Message::new("saml-title").text("application", application.clone()),
        link: link_to_origin(&application, action),
        application: Some(application),
        action: action.as_str().to_owned(),
        fields,
        answer,
        is_granted: false,
        nonce: Some(nonce(services)),
    }
}

fn page_with_form(form: &FormPostPage, action: &CheckedRedirect, shown: Framing) -> Response {
    let nonce = form.nonce.as_deref().unwrap_or_default();
    page_with_script(form, action.form_action_source().as_deref(), nonce, shown)
}

/// Returns a page that posts a message to a service provider, by script or by its button.
pub(crate) fn message_page(
    services: &Services,
    language: Language,
    application: String,
    action: &CheckedRedirect,
    fields: Vec<(&'static str, String)>,
    shown: Framing,
) -> Response {
    let form = message_form(services, language, application, action, fields);
    page_with_form(&form, action, shown)
}

/// Returns the purpose of the CSRF token that begins a sign-on at this server.
pub(crate) fn start_purpose(application: &str) -> String {
    format!("/sso/SingleSignOnService/{application}")
}

/// Returns the page that asks the user before the sign-on. Any site may link to it, so the link must not sign in a user
/// without a confirmation.
async fn start_page(
    services: &Services,
    browser: &Browser,
    application: &str,
    query: &str,
) -> Result<Response, SignOnError> {
    let parameter = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "RelayState");
    let relay_state = parameter.map(|(_, value)| value.into_owned());
    let (_, provider) =
        sign_on::check_unsolicited(services, application, relay_state.as_deref()).await?;
    let purpose = start_purpose(application);
    let start = SamlStartPage {
        layout: layout(services, browser.language()),
        application: provider.name.clone(),
        csrf: csrf::token(services, browser, &purpose)?,
        action: purpose,
        relay_state,
    };
    Ok(with_browser(page(&start, None), services, browser))
}

/// Begins the sign-on after the user's confirmation.
async fn start_sign_on(
    services: &Services,
    browser: &Browser,
    application: &str,
    body: &[u8],
) -> Result<Response, SignOnError> {
    let field = |name: &str| {
        let mut pairs = form_urlencoded::parse(body);
        pairs
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.into_owned())
    };
    let relay_state = field("RelayState").filter(|state| !state.is_empty());
    let (request, _) =
        sign_on::check_unsolicited(services, application, relay_state.as_deref()).await?;
    let Some(token) = field("csrf") else {
        return Err(BindingError::Missing.into());
    };
    let reply = async {
        let purpose = start_purpose(application);
        // The page that asks for a confirmation has a token of this browser; the start page, one of its user. If the
        // user has signed out since, the sign-in page names the user.
        if !csrf::is_token(services, browser, &purpose, &token)? {
            let signed_in = browser.signed_in(services).await?;
            let user = signed_in.map(|signed_in| signed_in.user.id);
            csrf::require_user(services, browser, &purpose, user, &token, || "/".to_owned())?;
        }
        let (login, now) = (
            LoginId::new(services.now(), &*services.entropy),
            services.now(),
        );
        let response = Box::pin(begin(services, browser, request, login, now)).await?;
        Ok(with_browser(response, services, browser))
    };
    Ok(reply
        .await
        .unwrap_or_else(|error: PageError| error.render(services, browser.language())))
}

fn unusable_request() -> PageError {
    ErrorTexts {
        status: StatusCode::BAD_REQUEST,
        title: Message::new("error-login-replayed"),
        what_happened: Message::new("error-login-replayed-happened"),
        what_to_do: Message::new("error-login-replayed-advice"),
    }
    .caused_by("the stored SAML request is unknown, used or expired")
}

/// The texts for the user about a request without a valid response: the problem, and instructions.
const fn in_words(why: &Unanswerable) -> (Message, Message) {
    const TRY_AGAIN: Message = Message::new("error-request-again");
    const CONTACT_OPERATOR: Message = Message::new("error-request-tell");
    match why {
        Unanswerable::Application => (Message::new("error-request-application"), CONTACT_OPERATOR),
        Unanswerable::Disabled => (
            Message::new("error-application-disabled-happened"),
            Message::new("error-application-disabled-advice"),
        ),
        Unanswerable::Binding(BindingError::RelayStateTooLong) => {
            (Message::new("error-request-relay-state"), CONTACT_OPERATOR)
        }
        Unanswerable::Binding(_) | Unanswerable::Response | Unanswerable::Message(_) => {
            (Message::new("error-request-unreadable"), TRY_AGAIN)
        }
        Unanswerable::Untrusted(_) => (Message::new("error-request-unsigned"), CONTACT_OPERATOR),
        Unanswerable::Header(HeaderError::Old(_) | HeaderError::Early(_)) => {
            (Message::new("error-request-clock"), TRY_AGAIN)
        }
        Unanswerable::Header(_) => (
            Message::new("error-request-wrong-recipient"),
            CONTACT_OPERATOR,
        ),
        Unanswerable::Replay => (Message::new("error-request-replay"), TRY_AGAIN),
        Unanswerable::Acs(_) => (Message::new("error-request-address"), CONTACT_OPERATOR),
        Unanswerable::NotInitiated => (
            Message::new("error-start-there-happened"),
            Message::new("error-start-there-advice"),
        ),
        Unanswerable::RelayState(_) => (
            Message::new("error-request-link"),
            Message::new("error-request-link-advice"),
        ),
    }
}

/// The part of the request at fault, by its name in SAML; `None` for the whole request.
const fn parameter_at_fault(why: &Unanswerable) -> Option<&'static str> {
    Some(match why {
        Unanswerable::Application | Unanswerable::Disabled | Unanswerable::NotInitiated => {
            return None;
        }
        Unanswerable::Binding(BindingError::RelayStateTooLong) | Unanswerable::RelayState(_) => {
            "RelayState"
        }
        Unanswerable::Binding(_) | Unanswerable::Message(_) => "SAMLRequest",
        Unanswerable::Response => "SAMLResponse",
        Unanswerable::Untrusted(_) => "Signature",
        Unanswerable::Header(error) => error.attribute(),
        Unanswerable::Replay => "ID",
        Unanswerable::Acs(_) => "AssertionConsumerServiceURL",
    })
}

/// Returns the status for the service provider, or the error page if there is no valid service provider.
async fn reject(
    services: &Services,
    browser: &Browser,
    application: &str,
    rejected: SignOnError,
) -> Result<Response, PageError> {
    let why = match rejected {
        SignOnError::Answer(answer) => return Ok(deliver(services, browser.language(), &answer)),
        SignOnError::Internal(error) => return Err(error.into()),
        SignOnError::Page(why) => why,
    };
    let (what_happened, what_to_do) = in_words(&why);
    let status = match why {
        Unanswerable::Application => StatusCode::NOT_FOUND,
        Unanswerable::Disabled => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    };
    let title = match why {
        Unanswerable::NotInitiated => Message::new("error-start-there"),
        Unanswerable::Disabled => Message::new("error-application-disabled"),
        _ => Message::new("error-request"),
    };
    let cause = format!(
        "{why}; the application in the address is {}",
        QuotedText::new(application)
    );
    let mut details = operator_details::service_provider(services, application).await;
    if let Unanswerable::Acs(received) = &why {
        details.push(operator_details::address(received));
    }
    details.extend(parameter_at_fault(&why).map(operator_details::parameter));
    let texts = ErrorTexts {
        status,
        title,
        what_happened,
        what_to_do,
    };
    Err(texts.caused_by(cause).with_details(details))
}
