//! The names of users for service providers: the NameID (SAML core section 8.3).

use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::saml::{NameId, NameIdFormat, NameIdSource, ServiceProvider};
use assent_model::user::User;

/// Returns the user's name in this format. `None` if the format is an email address and the user has none.
///
/// Without the root secret, opaque names cannot be distinguished from random texts. They begin with an underscore, so
/// that they are valid as `xs:ID`, which some service providers require.
///
/// # Errors
/// If the cryptographic library fails.
pub fn name_id_for(
    services: &Services,
    provider: &ServiceProvider,
    user: &User,
    account: &Account,
    sid: &str,
    format: NameIdFormat,
) -> Result<Option<NameId>, InternalError> {
    let settings = &provider.settings;
    let opaque = |purpose, of: &str| -> Result<_, InternalError> {
        let message = format!("{}\n{of}", provider.id);
        Ok(Some(format!(
            "_{}",
            hex::encode(services.root_secret.derive(purpose, message.as_bytes())?)
        )))
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
