//! What a service provider calls a person (SAML core section 8.3).

use crate::domain::{Broken, Host};
use crate::model::account::Account;
use crate::model::saml::{NameId, NameIdFormat, NameIdSource, RequestedSubject, ServiceProvider, SignOnRequest};
use crate::model::user::User;

/// The person's name in this format; `None` if it is an e-mail address and there is none.
///
/// The opaque ones can't be told from random texts without the master key. They begin with an underscore, so that they
/// are good as `xs:ID`, which some service providers make of them.
pub(super) fn of(
    host: &Host,
    provider: &ServiceProvider,
    user: &User,
    account: &Account,
    sid: &str,
    format: NameIdFormat,
) -> Result<Option<NameId>, Broken> {
    let settings = &provider.settings;
    let opaque = |purpose, of: &str| -> Result<_, Broken> {
        let message = format!("{}\n{of}", provider.id);
        Ok(Some(format!("_{}", hex::encode(host.master_key.authenticate(purpose, message.as_bytes())?))))
    };
    let value = match format {
        NameIdFormat::Persistent => opaque("persistent name", &user.subject)?,
        NameIdFormat::Transient => opaque("transient name", &format!("{sid}\n{}", user.subject))?,
        NameIdFormat::EmailAddress | NameIdFormat::Unspecified => match settings.name_id.source {
            NameIdSource::UserEmail => user.email.clone().map(Into::into),
            NameIdSource::AccountName => Some(account.name.clone()),
        },
    };
    Ok(value.map(|value| NameId { format, value }))
}

/// Whether the person is the one that the request's `Subject` names (SAML core section 3.4.1).
pub(super) fn is_meant(
    host: &Host,
    provider: &ServiceProvider,
    request: &SignOnRequest,
    user: &User,
    account: &Account,
) -> Result<bool, Broken> {
    let Some(RequestedSubject { format, value }) = &request.subject else { return Ok(true) };
    let formats: Vec<NameIdFormat> = match format.as_deref().map(NameIdFormat::from_uri) {
        // Only by what it may be told: else it could try who somebody is that it is told a pseudonym of.
        Some(Some(format)) if format != NameIdFormat::Unspecified => {
            provider.settings.name_id.formats().filter(|configured| *configured == format).collect()
        }
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
        if of(host, provider, user, account, "", format)?.is_some_and(|name| name.value == *value) {
            return Ok(true);
        }
    }
    Ok(false)
}
