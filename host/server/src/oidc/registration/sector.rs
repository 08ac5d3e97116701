//! The sector of an application that registers itself (OpenID Connect Dynamic Client Registration 1.0 section 5).

use serde_json::{Map, Value, json};
use url::Url;

use super::error::RegistrationError;
use crate::domain::Services;
use assent_model::application::{OidcSettings, SubjectType};
use assent_model::text::bytes_without_mark;

const URI: &str = "sector_identifier_uri";
/// The largest accepted document at a `sector_identifier_uri`, in bytes.
const LARGEST: usize = 64 * 1024;
/// The longest address, in bytes.
const LONGEST: usize = 2000;

/// Fetches the document at `sector_identifier_uri` and checks that it lists all redirect URIs. Returns the host of the
/// address, which is the sector. `None` if the metadata has no such address.
///
/// # Errors
/// [`RegistrationError::InvalidMetadata`] if the address is not permitted, or its document lacks a redirect URI.
pub(super) async fn proven_sector(
    services: &Services,
    metadata: &Map<String, Value>,
    redirect_uris: Option<&Value>,
) -> Result<Option<String>, RegistrationError> {
    let Some(text) = metadata.get(URI).and_then(Value::as_str) else {
        return Ok(None);
    };
    let invalid = |expected: &str| RegistrationError::of_member(URI, expected);
    let uri = (text.len() <= LONGEST)
        .then(|| Url::parse(text).ok())
        .flatten()
        .ok_or_else(|| invalid("expected an address that starts with https://"))?;
    let fetched = services
        .egress
        .get(&uri, "application/json", LARGEST)
        .await
        .map_err(|error| {
            // The reason would tell a stranger about names and ports that this server can reach.
            tracing::info!(%uri, %error, "sector identifier of a registration not fetched");
            invalid("its document could not be fetched")
        })?;
    let listed: Vec<String> = (fetched.status == 200)
        .then(|| serde_json::from_slice(bytes_without_mark(&fetched.body)).ok())
        .flatten()
        .ok_or_else(|| {
            invalid("expected a document that is a list of redirect URIs, with the status 200")
        })?;
    let mut uris = redirect_uris
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let lists_all = uris.all(|uri| listed.iter().any(|listed| *uri == json!(listed)));
    match (lists_all, uri.host_str()) {
        (true, Some(host)) => Ok(Some(host.to_owned())),
        _ => Err(invalid("its document does not list all redirect URIs")),
    }
}

/// Checks that an update with these redirect URIs stays in the sector of the application.
///
/// # Errors
/// [`RegistrationError::InvalidMetadata`] if the subject type or the sector would change, or a new redirect URI is
/// outside of the sector.
pub(super) fn must_stay(
    settings: &OidcSettings,
    metadata: &Map<String, Value>,
    redirect_uris: Option<&Value>,
    proven: Option<&str>,
) -> Result<(), RegistrationError> {
    const FIELD: &str = "subject_type";
    let fail = || {
        let expected = "the application cannot change its subject type or its sector";
        Err(RegistrationError::of_member(FIELD, expected))
    };
    let (kind, sector) = match &settings.subject_type {
        SubjectType::Public => ("public", None),
        SubjectType::Pairwise { sector } => ("pairwise", Some(sector.as_str())),
    };
    let named = metadata.get(FIELD).and_then(Value::as_str);
    if named.is_some_and(|named| named != kind) {
        return fail();
    }
    let Some(sector) = sector else {
        return Ok(());
    };
    if let Some(proven) = proven {
        return match proven == sector {
            true => Ok(()),
            false => fail(),
        };
    }
    let is_within = |uri: &Value| {
        let text = uri.as_str().unwrap_or_default();
        let is_known = settings
            .redirect_uris
            .iter()
            .any(|known| known.as_str() == text);
        let host = || Url::parse(text).ok()?.host_str().map(str::to_owned);
        is_known || host().as_deref() == Some(sector)
    };
    let uris: Vec<&Value> = redirect_uris
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    match uris.into_iter().all(is_within) {
        true => Ok(()),
        false => fail(),
    }
}
