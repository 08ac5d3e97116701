//! The SAML metadata of the server, for the configuration of service providers.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::domain::{InternalError, Services};
use crate::http::reply::{ErrorReply, internal_error};
use crate::http::texts::PageLanguage;
use crate::messages::Message;
use crate::saml::metadata;
use crate::saml::peer::find;
use assent_model::language::Language;

/// `GET /sso/metadata/{applicationId}`
pub(crate) async fn metadata(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
    PageLanguage(language): PageLanguage,
) -> Response {
    let document = async {
        let Some(provider) = find(&services, &application).await? else {
            return Ok(None);
        };
        metadata::document(&services, &provider).await.map(Some)
    };
    match document.await {
        Ok(Some(document)) => (
            [
                (CONTENT_TYPE, "text/xml"),
                (CACHE_CONTROL, "public, max-age=300"),
            ],
            document.to_string(),
        )
            .into_response(),
        Ok(None) => unknown(&services, language),
        Err::<_, InternalError>(error) => internal_error(&services, language, &error),
    }
}

fn unknown(services: &Services, language: Language) -> Response {
    ErrorReply {
        status: StatusCode::NOT_FOUND,
        title: Message::new("error-metadata"),
        what_happened: Message::new("error-metadata-happened"),
        what_to_do: Message::new("error-metadata-advice"),
    }
    .render(
        services,
        language,
        &"metadata requested for an unknown application",
    )
}
