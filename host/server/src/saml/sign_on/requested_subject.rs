//! Whether a person is who a request for sign-on means.

use crate::domain::claims::name_id::name_id_for;
use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::saml::{NameIdFormat, RequestedSubject, ServiceProvider, SignOnRequest};
use assent_model::user::User;

/// Whether the person is the one that the request's `Subject` names (SAML core section 3.4.1).
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
        // Only by what it may be told: else it could try who somebody is that it is told a pseudonym of.
        Some(Some(format)) if format != NameIdFormat::Unspecified => provider
            .settings
            .name_id
            .formats()
            .filter(|configured| *configured == format)
            .collect(),
        // A format that is not known here names nobody.
        Some(None) => vec![],
        // Whatever it may have been told.
        None | Some(Some(_)) => provider.settings.name_id.formats().collect(),
    };
    for format in formats {
        // A transient name is good in its session alone, and a session can't be asked for.
        if format == NameIdFormat::Transient {
            continue;
        }
        if name_id_for(services, provider, user, account, "", format)?
            .is_some_and(|name| name.value == *value)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
