//! The browser that sent a request.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::cookies::Cookie;
use super::header_text;
use super::texts::preferred_language;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::known_browsers::KnownUsers;
use crate::domain::sign_in::login::SignInSource;
use crate::domain::{InternalError, Services, browser_words};
use crate::http::forwarded::address_of;
use assent_model::audit::Origin;
use assent_model::id::SessionId;
use assent_model::language::Language;
use assent_model::login::BrowserContext;
use assent_model::name::LoginName;
use assent_model::secret::{Digest, Secret, Token};
use assent_model::token::prefix;
use assent_store::SignOnState;

/// The query in the address of a page without an automatic return.
pub(crate) const STAY: &str = "stay";

/// The query in the address of a sign-in page that keeps the name of the previous attempt.
pub(crate) const RETRY: &str = "again";

/// The browser that sent a request.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    secret: Secret,
    is_new: bool,
    session: Option<Secret>,
    known: Option<Secret>,
    name: Option<LoginName>,
    origin: Origin,
    agent: String,
    language: Language,
    stays: bool,
    retries: bool,
}

impl Browser {
    /// The value of the cookie that identifies the browser.
    pub(crate) const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The digest of that cookie, which a login stores.
    pub(crate) fn digest(&self) -> Digest {
        self.secret.digest()
    }

    /// The digests of the cookies that can identify the browser later: of its own cookie and of its session's cookie,
    /// whether the session is open or not.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        let session = self
            .session
            .as_ref()
            .and_then(|cookie| Token::parse(prefix::SESSION, cookie.expose()));
        std::iter::once(self.digest())
            .chain(session.map(|token| token.digest()))
            .collect()
    }

    /// The id of the session that its cookie names, whether the session is open or not.
    pub(crate) fn session_id(&self) -> Option<SessionId> {
        let cookie = self.session.as_ref()?;
        let token = Token::parse(prefix::SESSION, cookie.expose())?;
        Some(SessionId::from_bytes(token.id()))
    }

    /// The `Set-Cookie` header for a browser that did not have the cookie.
    pub(crate) fn cookie(&self, services: &Services) -> Option<String> {
        self.is_new
            .then(|| Cookie::Browser.set(services, self.secret.expose()))
    }

    /// The users who signed in in this browser before.
    pub(crate) fn known_users(&self, services: &Services) -> KnownUsers {
        let cookie = self.known.as_ref();
        cookie
            .map(|cookie| KnownUsers::open(services, self.digest(), cookie.expose()))
            .unwrap_or_default()
    }

    /// The session of the browser and its user, or `None` if the browser is not signed in.
    pub(crate) async fn signed_in(
        &self,
        services: &Services,
    ) -> Result<Option<BrowserSession>, InternalError> {
        self.signed_in_by(services, None).await
    }

    /// The same, with the state that [`Browser::sign_on_state`] has read.
    pub(crate) async fn signed_in_by(
        &self,
        services: &Services,
        read: Option<SignOnState>,
    ) -> Result<Option<BrowserSession>, InternalError> {
        match &self.session {
            Some(cookie) => session::current(services, cookie.expose(), read).await,
            None => Ok(None),
        }
    }

    /// The application with this id, and the session that the browser's cookie names, without a check of the cookie.
    /// `None` if there is no such session, or its user has no account there: then each part is read for itself.
    pub(crate) async fn sign_on_state(
        &self,
        services: &Services,
        application: &str,
    ) -> Result<Option<SignOnState>, InternalError> {
        let (Some(session), Ok(application)) = (self.session_id(), application.parse()) else {
            return Ok(None);
        };
        let now = services.now();
        Ok(services
            .store
            .sign_on_state(session, &application, now)
            .await?)
    }

    /// The name that the browser remembers.
    pub(crate) const fn name(&self) -> Option<&LoginName> {
        self.name.as_ref()
    }

    /// Whether the user requested the page without an automatic return, with the query `stay`.
    pub(crate) const fn stays(&self) -> bool {
        self.stays
    }

    /// Whether the user tries a sign-in again, with the query `again`.
    pub(crate) const fn retries(&self) -> bool {
        self.retries
    }

    /// The language of this browser's pages.
    pub(crate) const fn language(&self) -> Language {
        self.language
    }

    /// Replaces the language of the browser's pages by the language that the application requested.
    pub(crate) fn speaking(self, language: Option<Language>) -> Self {
        Self {
            language: language.unwrap_or(self.language),
            ..self
        }
    }

    /// The origin of the request, for the audit log.
    pub(crate) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// The network of the request, for rate limits.
    pub(crate) fn network(&self) -> Network {
        self.origin.address.into()
    }

    pub(crate) fn source(&self, services: &Services) -> SignInSource {
        SignInSource {
            network: self.network(),
            is_known: !self.known_users(services).is_empty(),
        }
    }

    /// The description of the browser, in English, as it is stored.
    pub(crate) fn context(&self, services: &Services) -> BrowserContext {
        browser_words::describe_browser(services, self.origin.address, &self.agent)
    }
}

impl FromRequestParts<Arc<Services>> for Browser {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Infallible> {
        let headers = &parts.headers;
        // A value that this server did not create (43 characters) is replaced.
        let known = Cookie::Browser
            .read(services, headers)
            .filter(|secret| secret.expose().len() == 43);
        let is_new = known.is_none();
        let agent = header_text::first(headers, &USER_AGENT).into_owned();
        let origin = origin_of(services, &parts.extensions, headers);
        Ok(Self {
            secret: known.unwrap_or_else(|| Secret::random(&*services.entropy)),
            is_new,
            session: Cookie::Session.read(services, headers),
            known: Cookie::Known.read(services, headers),
            name: Cookie::Name
                .read(services, headers)
                .and_then(|name| read_name(name.expose())),
            origin,
            agent,
            language: preferred_language(services, headers),
            stays: parts.uri.query() == Some(STAY),
            retries: parts.uri.query() == Some(RETRY),
        })
    }
}

/// Reads the name in the cookie. A value that is not a name is ignored.
fn read_name(cookie: &str) -> Option<LoginName> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cookie).ok()?)
        .ok()?
        .parse()
        .ok()
}

/// The origin of a request, as a handler's argument.
pub(crate) struct RequestOrigin(pub(crate) Origin);

impl FromRequestParts<Arc<Services>> for RequestOrigin {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Infallible> {
        Ok(Self(origin_of(services, &parts.extensions, &parts.headers)))
    }
}

/// The origin of a request with these extensions and headers, for the audit log.
pub(crate) fn origin_of(
    services: &Services,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> Origin {
    let agent = headers.get(USER_AGENT).map(header_text::text);
    Origin {
        address: address_of(services, extensions, headers),
        browser: agent.map(|agent| browser_words::browser(&agent).plain(Language::English)),
    }
}
