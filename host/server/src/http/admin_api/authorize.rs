//! The authentication of callers: with an operator token, with a console session, or as a service account.

use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, OriginalUri, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::domain::admin::action_approvals::Console;
use crate::domain::admin::{self, AdminError, AdminTokenCheck, Caller, Principal};
use crate::domain::approvals::channel;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::fetch_metadata::is_cross_site;
use crate::http::oidc::client_certificate::ClientCertificate;
use crate::http::oidc::dpop_header::{PROOF, dpop_challenge, proof_header, with_nonce};
use crate::http::operations::rate_limits;
use crate::http::problem::{Problem, ProblemKind};
use crate::oidc::bearer::{self, BearerError, BearerToken, ProofUse};
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::id::{SessionId, UserId};
use assent_model::login::LocalPage;
use assent_model::token::{TokenScopes, prefix};

/// The header with the token that proves that a request comes from the console's own page.
pub(super) const CSRF: &str = "x-assent-csrf";

/// The header with the id of the user for whom the browser rendered the page. Another user may have signed in since, in
/// another tab.
pub(super) const USER: &str = "x-assent-user";

/// The console session of the caller, with the values that its page needs for requests other than reads.
#[derive(Clone, Debug)]
pub(super) struct ConsoleSession {
    /// The value of the header [`CSRF`].
    pub(super) csrf: String,
    /// The administrator and the browser.
    pub(super) console: Console,
}

/// Rejects calls of other sites' pages, and limits the requests of an address without a valid token or session.
pub(in crate::http) async fn limit_failures(
    State(services): State<Arc<Services>>,
    from: Network,
    request: Request,
    next: Next,
) -> Response {
    if is_cross_site(request.headers()) {
        let detail = "a page of another site cannot call the admin API";
        return Problem::with_kind(ProblemKind::CrossSite, detail).into_response();
    }
    let too_many = || {
        let detail =
            "too many requests without a valid token; try again after the time in Retry-After";
        Problem::with_kind(ProblemKind::TooMany, detail).into_response()
    };
    let failed = |response: &Response| response.status() == ProblemKind::Unauthenticated.status();
    rate_limits::limit_failures(
        &services,
        &services.rate_limits.admin_failures,
        from,
        request,
        next,
        failed,
        too_many,
    )
    .await
}

/// Authenticates the caller, and adds the caller to the request for the handlers. Rejects unknown callers.
pub(in crate::http) async fn authorize(
    State(services): State<Arc<Services>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let has_proof = parts.headers.contains_key(PROOF);
    let (caller, session) = match caller(&services, &mut parts).await {
        Ok(known) => known,
        Err(rejection) => return with_nonce(&services, has_proof, rejection.into_response()),
    };
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(caller.by.clone());
    request.extensions_mut().insert(caller);
    if let Some(session) = session {
        request.extensions_mut().insert(session);
    }
    with_nonce(&services, has_proof, next.run(request).await)
}

/// The rejection of a caller.
enum Rejection {
    Problem(Problem),
    /// The DPoP proof is missing or not valid.
    Proof(BearerError),
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        match self {
            Self::Problem(problem) => problem.into_response(),
            Self::Proof(error) => {
                let mut response = unauthenticated(&error.to_string()).into_response();
                if let Ok(challenge) = HeaderValue::from_str(&dpop_challenge(&error)) {
                    let headers = response.headers_mut();
                    headers.insert(header::WWW_AUTHENTICATE, challenge);
                }
                response
            }
        }
    }
}

/// Prevents caches from storing responses of the API.
pub(in crate::http) async fn never_stored(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn caller(
    services: &Arc<Services>,
    parts: &mut axum::http::request::Parts,
) -> Result<(Caller, Option<ConsoleSession>), Rejection> {
    let Ok(browser) = Browser::from_request_parts(parts, services).await;
    let from = browser.origin();
    if !parts.headers.contains_key(header::AUTHORIZATION) {
        let (caller, session) = by_session(services, &browser, parts).await?;
        return Ok((caller, Some(session)));
    }
    let header = parts
        .headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let Ok((scheme, token)) = bearer::token_of(header) else {
        return Err(unknown_token().into());
    };
    let token = &token.to_owned();
    let found = if token.starts_with(prefix::ACCESS) {
        let certificate =
            <ClientCertificate as OptionalFromRequestParts<Arc<Services>>>::from_request_parts(
                parts, services,
            );
        let certificate = certificate.await.map_err(|_| unknown_token())?;
        let path = parts
            .extensions
            .get::<OriginalUri>()
            .map_or(&parts.uri, |uri| &uri.0);
        let shown = BearerToken {
            token,
            scheme,
            certificate: certificate.as_ref().map(ClientCertificate::der),
            proof: proof_header(&parts.headers),
            method: parts.method.as_str(),
            path: path.path(),
            proof_use: ProofUse::OnEveryInstance,
        };
        by_service_account(services, shown, from).await?
    } else {
        match admin::admin_token(services, token)
            .await
            .map_err(Problem::from)?
        {
            AdminTokenCheck::Valid(token) => Some(Caller {
                by: AuditContext::new(Actor::AdminToken(token), from),
                principal: Principal::AdminToken,
            }),
            AdminTokenCheck::Damaged => return Err(unauthenticated(DAMAGED).into()),
            AdminTokenCheck::Expired => return Err(unauthenticated(EXPIRED).into()),
            AdminTokenCheck::Unknown => None,
        }
    };
    let caller = found.ok_or_else(unknown_token)?;
    Ok((caller, None))
}

const DAMAGED: &str = "the token is damaged: a part of it is missing or was changed; copy the whole output of \
                       `assent admin token` again";
const EXPIRED: &str = "the token has expired; `assent admin token` prints a new one";

fn unknown_token() -> Problem {
    unauthenticated(
        "a token of `assent admin token` or of a service account is required: Authorization: Bearer ...; in a browser \
         a session of the console",
    )
}

fn unauthenticated(detail: &str) -> Problem {
    Problem::with_kind(ProblemKind::Unauthenticated, detail)
}

/// Authenticates a service account by its access token for the admin API.
async fn by_service_account(
    services: &Services,
    shown: BearerToken<'_>,
    from: Origin,
) -> Result<Option<Caller>, Rejection> {
    let grant = match bearer::accept(services, shown).await {
        Ok(found) => found.grant,
        Err(BearerError::Internal(error)) => return Err(Problem::from(error).into()),
        Err(error @ (BearerError::InvalidProof(_) | BearerError::UseNonce)) => {
            return Err(Rejection::Proof(error));
        }
        Err(_) => return Ok(None),
    };
    match &grant.scopes {
        TokenScopes::Admin(scopes) => {
            let found = admin::service_account(services, grant.application, scopes, from).await;
            Ok(found.map_err(Problem::from)?)
        }
        TokenScopes::Oidc(_) => Ok(None),
    }
}

/// Authenticates a user by the session of the browser. The session must be sufficient for the console, and the user
/// must have a role in it.
async fn by_session(
    services: &Services,
    browser: &Browser,
    parts: &axum::http::request::Parts,
) -> Result<(Caller, ConsoleSession), Problem> {
    let signed_in = browser
        .signed_in(services)
        .await?
        .ok_or_else(unknown_token)?;
    // This comes before all other checks, so that a response never describes another user's rights.
    check_user(signed_in.user.id, parts)?;
    let authentication = &signed_in.session.authentication;
    if !channel::is_enough_here(services, LocalPage::Console, authentication) {
        let detail =
            "the session does not permit the console; sign in at /admin, with an enrolled device";
        return Err(Problem::with_kind(ProblemKind::Unauthenticated, detail));
    }
    let Some(role) = signed_in.user.console_role else {
        return Err(AdminError::Forbidden(
            "you have no role in the console; an owner can give you one",
        )
        .into());
    };
    let csrf = csrf::token(services, browser, &purpose(signed_in.session.id))?;
    if is_forged(
        services,
        browser,
        signed_in.session.id,
        &parts.method,
        &parts.headers,
    )? {
        let detail = "a request of a browser must come from a page of the console; a request that changes something \
                      also needs the header X-Assent-CSRF with the value from GET /me";
        return Err(Problem::with_kind(ProblemKind::CrossSite, detail));
    }
    let by = AuditContext::new(Actor::User(signed_in.user.id), browser.origin());
    let console = Console {
        browser: browser.digest(),
        context: browser.context(services),
        origin: browser.origin(),
        signed_in,
    };
    Ok((
        Caller {
            by,
            principal: Principal::User(role),
        },
        ConsoleSession { csrf, console },
    ))
}

/// Rejects a request of a page that was rendered for another user than the signed-in one. Only the request with which a
/// page asks who is signed in needs no header.
fn check_user(signed_in: UserId, parts: &axum::http::request::Parts) -> Result<(), Problem> {
    let mut named = parts.headers.get_all(USER).iter();
    let (first, further) = (named.next(), named.next());
    let Some(first) = first else {
        // The router has removed the path of the API.
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        let asks_who = reads && parts.uri.path() == "/me";
        return if asks_who {
            Ok(())
        } else {
            let detail =
                "a request with a session needs the header X-Assent-User with the id from GET /me";
            Err(Problem::with_kind(ProblemKind::Malformed, detail))
        };
    };
    let is_same = first.to_str().ok().and_then(|id| id.parse::<UserId>().ok()) == Some(signed_in);
    if is_same && further.is_none() {
        return Ok(());
    }
    let detail = "another user is signed in in this browser now; load the page again";
    Err(Problem::with_kind(ProblemKind::OtherUser, detail))
}

fn purpose(session: SessionId) -> String {
    format!("admin-api {session}")
}

/// Whether a page of another site may have sent this request. Current browsers send the origin of a request. Changes
/// also need the token, which no other site can read.
fn is_forged(
    services: &Services,
    browser: &Browser,
    session: SessionId,
    method: &Method,
    headers: &HeaderMap,
) -> Result<bool, InternalError> {
    // A GET or HEAD changes nothing, and other sites cannot read the response.
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(false);
    }
    if headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "same-origin")
    {
        return Ok(true);
    }
    let shown = headers
        .get(CSRF)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    Ok(!csrf::is_token(
        services,
        browser,
        &purpose(session),
        shown,
    )?)
}
