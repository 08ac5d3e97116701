//! The logos of applications, for pages and for the authenticator.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::{InternalError, Services};
use crate::http::assets::FOREVER;
use crate::http::operations::rate_limits::too_many_images;
use crate::http::reply::unavailable;
use assent_model::id::Did;
use assent_model::logo::LogoFormat;
use assent_store::StoreError;

/// The policy of an image that is opened directly: it may load and execute nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");

pub(crate) fn address(application: &Did, digest: &str) -> String {
    format!("/logos/{application}?v={digest}")
}

/// Returns the address of an application's logo, if it has one.
pub(crate) async fn address_of(
    services: &Services,
    application: Option<&Did>,
) -> Result<Option<String>, InternalError> {
    let Some(application) = application else {
        return Ok(None);
    };
    let digest = services.store.logo_digest(application).await?;
    Ok(digest.map(|digest| address(application, &digest)))
}

/// The query with the version of a logo.
#[derive(Debug, Deserialize)]
pub(crate) struct LogoVersion {
    #[serde(default)]
    v: String,
}

/// `GET /logos/{application}`: the logo, or 404 if the application has none. If `v` is its digest, browsers may cache
/// it for a year.
pub(crate) async fn show(
    State(services): State<Arc<Services>>,
    from: Network,
    Path(application): Path<String>,
    version: Result<Query<LogoVersion>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    // A malformed query names no version.
    let v = version.map(|Query(version)| version.v).unwrap_or_default();
    if let Err(exhausted) = services
        .rate_limits
        .logos_per_ip
        .count_call(&from, services.now())
    {
        return too_many_images(exhausted);
    }
    let found = match application.parse::<Did>() {
        Ok(application) => logo_for(&services, &application, &headers).await,
        Err(_) => Ok(None),
    };
    let (kind, digest, bytes) = match found {
        Ok(Some(logo)) => logo,
        Ok(None) => return StatusCode::NOT_FOUND.into_response(),
        Err(error) => {
            tracing::error!(%error, "application logo not read");
            let failed = StatusCode::INTERNAL_SERVER_ERROR.into_response();
            return if error.is_outage() {
                unavailable(failed)
            } else {
                failed
            };
        }
    };
    let Ok(etag) = HeaderValue::from_str(&entity_tag(&digest)) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let cache_control = HeaderValue::from_static(if v == digest { FOREVER } else { "no-cache" });
    let mut response = match bytes {
        None => StatusCode::NOT_MODIFIED.into_response(),
        Some(bytes) => bytes.into_response(),
    };
    let set = response.headers_mut();
    set.insert(ETAG, etag);
    set.insert(CONTENT_TYPE, HeaderValue::from_static(kind.media_type()));
    set.insert(CACHE_CONTROL, cache_control);
    set.insert(CONTENT_SECURITY_POLICY, POLICY);
    response
}

fn entity_tag(digest: &str) -> String {
    format!("\"{digest}\"")
}

/// Returns the format and the digest of a logo, and its content unless the browser has it. The content is read only if
/// it is sent.
async fn logo_for(
    services: &Services,
    application: &Did,
    headers: &HeaderMap,
) -> Result<Option<(LogoFormat, String, Option<Vec<u8>>)>, StoreError> {
    let Some((kind, digest)) = services.store.logo_version(application).await? else {
        return Ok(None);
    };
    let is_current = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == entity_tag(&digest).as_bytes());
    if is_current {
        return Ok(Some((kind, digest, None)));
    }
    let logo = services.store.logo(application).await?;
    Ok(logo.map(|logo| (logo.kind, logo.digest, Some(logo.bytes))))
}
