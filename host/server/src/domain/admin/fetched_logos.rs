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

/// The logo that a client has before a change of its `logo_uri`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LogoBefore {
    /// The change leaves `logo_uri` as it is.
    Unchanged,
    /// The plan read the digest of this logo; `None` without a logo.
    Known(Option<String>),
}

impl LogoBefore {
    /// Returns the logo before a planned update. The write fails if the client has another one by then, so that no
    /// concurrent upload is replaced without a new plan.
    pub(super) async fn of_update(
        services: &Services,
        before: &Application,
        after: &Application,
    ) -> Result<Self> {
        let uri = |client: &Application| client.settings.information.logo_uri.clone();
        match uri(before) == uri(after) {
            true => Ok(Self::Unchanged),
            false => Ok(Self::Known(services.store.logo_digest(&before.id).await?)),
        }
    }
}

/// Returns the writes of the logo of a client that is created or updated. Without a new address, the logo of the
/// earlier one is removed.
///
/// # Errors
/// As [`fetch_logo`].
pub(super) async fn logo_of_change(
    recorder: &Recorder<'_>,
    before: LogoBefore,
    after: &Application,
) -> Result<Writes> {
    let LogoBefore::Known(before) = before else {
        return Ok(Writes::new());
    };
    let logo = match &after.settings.information.logo_uri {
        Some(uri) => Some(fetch_logo(recorder.services, uri).await?),
        None => None,
    };
    Ok(replaced_logo(recorder, &after.id, before, logo))
}

/// Returns the writes that replace the logo with the digest `before`, or remove it. Without a difference there is no
/// entry, but the write still fails if the application has another logo by then.
pub(super) fn replaced_logo(
    recorder: &Recorder<'_>,
    application: &Did,
    before: Option<String>,
    logo: Option<ApplicationLogo>,
) -> Writes {
    let is_same = before.as_ref() == logo.as_ref().map(|logo| &logo.digest);
    let mut writes = logo_change(recorder, application, before, logo);
    if is_same {
        for (_, entries) in &mut writes {
            entries.clear();
        }
    }
    writes
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
