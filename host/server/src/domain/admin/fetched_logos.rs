//! Logos that the server fetches from the `logo_uri` of a client (OpenID Connect Dynamic Client Registration 1.0
//! section 2), so that no browser of a user calls a foreign server.
//!
//! The server fetches an image once, when the address changes. It does so in the execution of a command, and not in
//! its plan, so that a request without the necessary approval calls no other server.

use url::Url;

use super::execution::{Recorder, Writes};
use super::logos::logo_change;
use super::{Result, invalid};
use crate::domain::Services;
use assent_model::application::Application;
use assent_model::id::Did;
use assent_model::logo::{ApplicationLogo, LARGEST, LogoError};
use assent_plugin_host::egress::EgressError;

/// The member with the address.
const FIELD: &str = "logo_uri";
/// The `Accept` header: the formats of [`LogoFormat`](assent_model::logo::LogoFormat).
const ACCEPT: &str = "image/png, image/jpeg, image/webp";

/// Returns the writes of the logo of a client that is created or updated. They are empty if `logo_uri` stays the same.
/// Without a new address, the logo of the earlier one is removed.
///
/// # Errors
/// As [`fetch_logo`].
pub(super) async fn logo_of_change(
    recorder: &Recorder<'_>,
    before: Option<&Application>,
    after: &Application,
) -> Result<Writes> {
    let was = before.and_then(|before| before.settings.information.logo_uri.as_ref());
    let is = after.settings.information.logo_uri.as_ref();
    if was == is {
        return Ok(Writes::new());
    }
    let logo = match is {
        Some(uri) => Some(fetch_logo(recorder.services, uri).await?),
        None => None,
    };
    replaced_logo(recorder, &after.id, logo).await
}

/// Returns the writes that replace the logo of an application, or remove it. They are empty without a difference.
///
/// # Errors
/// If the current logo cannot be read.
pub(super) async fn replaced_logo(
    recorder: &Recorder<'_>,
    application: &Did,
    logo: Option<ApplicationLogo>,
) -> Result<Writes> {
    let known = recorder.services.store.logo_digest(application).await?;
    let is_known = known.as_ref() == logo.as_ref().map(|logo| &logo.digest);
    Ok(match is_known {
        true => Writes::new(),
        false => logo_change(recorder, application, known, logo),
    })
}

/// Fetches a logo. Its content has the same checks as an uploaded logo.
///
/// # Errors
/// [`AdminError::Invalid`](super::AdminError::Invalid) with the reason: the server may not call the address, receives
/// no image, or a redirect.
pub(super) async fn fetch_logo(services: &Services, uri: &Url) -> Result<ApplicationLogo> {
    let answer = match services.egress.get(uri, ACCEPT, LARGEST).await {
        Ok(answer) => answer,
        Err(EgressError::TooLarge) => return Err(invalid(FIELD, LogoError::TooLarge.to_string())),
        Err(failure) => {
            let expected = format!("the logo cannot be fetched: {failure}");
            return Err(invalid(FIELD, expected));
        }
    };
    match answer.status {
        200 => ApplicationLogo::new(answer.body).map_err(|unfit| invalid(FIELD, unfit.to_string())),
        300..400 => Err(invalid(
            FIELD,
            "it redirects to another address; use that one",
        )),
        status => Err(invalid(
            FIELD,
            format!("the logo cannot be fetched: it was answered with the status {status}"),
        )),
    }
}
