//! The routes of pages. Their handlers return the page or a [`PageError`], which becomes a response for the browser
//! here.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts};
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{self, MethodRouter};

use super::context::Browser;
use super::page_error::PageError;
use crate::domain::Services;
use assent_model::language::Language;

/// The first argument of a page's handler, which determines the form of its replies.
pub(crate) trait PageRequest {
    /// Returns the form of all replies to this request.
    fn reply_form(&self) -> ReplyForm;
}

/// The form of all replies to a request.
pub(crate) struct ReplyForm {
    services: Arc<Services>,
    /// The language of error pages.
    language: Language,
    /// The `Set-Cookie` header of every reply.
    cookie: Option<String>,
}

impl ReplyForm {
    /// Returns the form of replies in the language of the browser, without a cookie.
    pub(crate) fn new(services: &Arc<Services>, browser: &Browser) -> Self {
        Self {
            services: Arc::clone(services),
            language: browser.language(),
            cookie: None,
        }
    }

    /// Adds the cookie of a browser that has none yet.
    pub(crate) fn with_browser(self, browser: &Browser) -> Self {
        Self {
            cookie: browser.cookie(&self.services),
            ..self
        }
    }

    /// Turns the reply of a handler into the response.
    pub(crate) fn response(&self, reply: Result<Response, PageError>) -> Response {
        let mut response =
            reply.unwrap_or_else(|error| error.render(&self.services, self.language));
        let cookie = self.cookie.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(cookie)) = cookie {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

/// The browser that requests a page, whether it is signed in or not.
pub(crate) struct Visitor {
    pub(crate) services: Arc<Services>,
    pub(crate) browser: Browser,
}

impl FromRequestParts<Arc<Services>> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, Infallible> {
        Ok(Self {
            services: Arc::clone(services),
            browser: Browser::from_request_parts(parts, services).await?,
        })
    }
}

impl PageRequest for Visitor {
    fn reply_form(&self) -> ReplyForm {
        ReplyForm::new(&self.services, &self.browser)
    }
}

/// A function that returns a page. Its first argument is the [`PageRequest`].
pub(crate) trait PageHandler<Arguments>: Clone + Send + Sync + 'static {
    /// Returns the response to the request.
    fn respond(self, arguments: Arguments) -> impl Future<Output = Response> + Send;
}

macro_rules! page_handler {
    ($($more:ident),*) => {
        impl<Handler, Reply, Request, $($more),*> PageHandler<(Request, $($more,)*)> for Handler
        where
            Handler: FnOnce(Request, $($more),*) -> Reply + Clone + Send + Sync + 'static,
            Reply: Future<Output = Result<Response, PageError>> + Send,
            Request: PageRequest + Send,
            $($more: Send,)*
        {
            #[allow(non_snake_case, reason = "each type parameter names its argument, too")]
            async fn respond(self, (request, $($more,)*): (Request, $($more,)*)) -> Response {
                let form = request.reply_form();
                let reply = self(request, $($more),*).await;
                form.response(reply)
            }
        }
    };
}

page_handler!();
page_handler!(Second);
page_handler!(Second, Third);
page_handler!(Second, Third, Fourth);

pub(crate) fn get<Arguments, Via>(
    handler: impl PageHandler<Arguments>,
) -> MethodRouter<Arc<Services>>
where
    Arguments: FromRequest<Arc<Services>, Via> + Send + 'static,
    Via: 'static,
{
    routing::get(|arguments: Arguments| handler.respond(arguments))
}

/// Routes POST requests, most of which are forms, to this page.
pub(crate) fn post<Arguments, Via>(
    handler: impl PageHandler<Arguments>,
) -> MethodRouter<Arc<Services>>
where
    Arguments: FromRequest<Arc<Services>, Via> + Send + 'static,
    Via: 'static,
{
    routing::post(|arguments: Arguments| handler.respond(arguments))
}
