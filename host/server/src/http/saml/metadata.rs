//! The SAML metadata of the server, for the configuration of service providers.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::http::page_error::{ErrorTexts, PageError};
use crate::http::page_routes::Visitor;
use crate::messages::Message;
use crate::saml::metadata;
use crate::saml::peer::find;

/// `GET /sso/metadata/{applicationId}`
pub(crate) async fn metadata(
    Visitor { services, .. }: Visitor,
    Path(application): Path<String>,
) -> Result<Response, PageError> {
    let Some(provider) = find(&services, &application).await? else {
        return Err(ErrorTexts {
            status: StatusCode::NOT_FOUND,
            title: Message::new("error-metadata"),
            what_happened: Message::new("error-metadata-happened"),
            what_to_do: Message::new("error-metadata-advice"),
        }
        .caused_by("metadata requested for an unknown application"));
    };
    let document = metadata::document(&services, &provider).await?;
    let headers = [
        (CONTENT_TYPE, "text/xml"),
        (CACHE_CONTROL, "public, max-age=300"),
    ];
    Ok((headers, document.to_string()).into_response())
}
