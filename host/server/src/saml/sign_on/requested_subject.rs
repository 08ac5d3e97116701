//! Whether a user is the requested one of a sign-on.

use crate::domain::claims::name_id::name_id_for;
use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::name::is_same_name;
use assent_model::saml::{NameIdFormat, RequestedSubject, ServiceProvider, SignOnRequest};
use assent_model::user::User;

/// Whether the user is the one in the request's `Subject` (SAML core section 3.4.1). Names are compared as at sign-in.
pub(super) fn is_requested_subject(
    services: &Services,
    provider: &ServiceProvider,
    request: &SignOnRequest,
    user: &User,
    account: &Account,
) -> Result<bool, InternalError> {
    let Some(RequestedSubject { format, value }) = &request.subject else {
        return Ok(true);
    };
    let formats: Vec<NameIdFormat> = match format.as_deref().map(NameIdFormat::from_uri) {
        // Only configured formats count: otherwise a service provider could find out the real name behind a pseudonym
        // by trying names.
        Some(Some(format)) if format != NameIdFormat::Unspecified => provider
            .settings
            .name_id
            .formats()
            .filter(|configured| *configured == format)
            .collect(),
        // An unknown format names no user.
        Some(None) => vec![],
        // All formats that the service provider may receive.
        None | Some(Some(_)) => provider.settings.name_id.formats().collect(),
    };
    for format in formats {
        // A transient name is valid only in its session, and a request cannot name a session.
        if format == NameIdFormat::Transient {
            continue;
        }
        if name_id_for(services, provider, user, account, "", format)?
            .is_ok_and(|name| is_same_name(&name.value, value))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
