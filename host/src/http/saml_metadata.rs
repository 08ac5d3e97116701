//! The metadata of SAML, for whoever sets up a service provider.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::reply::{ErrorReply, broken};
use super::texts::Message;
use crate::domain::{Broken, Host};
use crate::model::language::Language;
use crate::saml::metadata;
use crate::saml::partner::find;

/// `GET /sso/metadata/{applicationId}`
pub(super) async fn metadata(
    State(host): State<Arc<Host>>,
    Path(application): Path<String>,
    language: Language,
) -> Response {
    let document = async {
        let Some(provider) = find(&host, &application).await? else { return Ok(None) };
        metadata::document(&host, &provider).await.map(Some)
    };
    match document.await {
        Ok(Some(document)) => {
            ([(CONTENT_TYPE, "text/xml"), (CACHE_CONTROL, "public, max-age=300")], document).into_response()
        }
        Ok(None) => unknown(&host, language),
        Err::<_, Broken>(error) => broken(&host, language, &error),
    }
}

fn unknown(host: &Host, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: Message::of("error-metadata"),
        what_happened: Message::of("error-metadata-happened"),
        what_to_do: Message::of("error-metadata-advice"),
    }
    .render(host, language, &"metadata was asked for an unknown application")
}
