//! The names of users for service providers: the NameID (SAML core section 8.3).

use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::name::is_same_name;
use assent_model::saml::{NameId, NameIdFormat, NameIdSource, ServiceProvider};
use assent_model::user::User;

/// The reason why a user has no name for a service provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingName {
    /// The name is an email address, and the user has none.
    NoAddress,
    /// The name is an email address that is not confirmed, so that it may be that of another user.
    NotConfirmed,
}

/// Returns the user's name in this format, or the reason why there is none.
///
/// Without the root secret, opaque names cannot be distinguished from random texts. They begin with an underscore, so
/// that they are valid as `xs:ID`, which some service providers require.
pub fn name_id_for(
    services: &Services,
    provider: &ServiceProvider,
    user: &User,
    account: &Account,
    sid: &str,
    format: NameIdFormat,
) -> Result<Result<NameId, MissingName>, InternalError> {
    let settings = &provider.settings;
    let opaque = |purpose, of: &str| -> Result<_, InternalError> {
        let message = format!("{}\n{of}", provider.id);
        Ok(format!(
            "_{}",
            hex::encode(services.root_secret.derive(purpose, message.as_bytes())?)
        ))
    };
    let is_confirmed = |name: &str| {
        let mut unconfirmed = user.unconfirmed_addresses();
        settings.unconfirmed_email || !unconfirmed.any(|address| is_same_name(address, name))
    };
    let value = match format {
        NameIdFormat::Persistent => opaque("persistent name", &user.subject)?,
        NameIdFormat::Transient => opaque("transient name", &format!("{sid}\n{}", user.subject))?,
        NameIdFormat::EmailAddress | NameIdFormat::Unspecified => {
            let name: Option<String> = match settings.name_id.source {
                NameIdSource::UserEmail => user.email.clone().map(Into::into),
                NameIdSource::AccountName => Some(account.name.clone()),
            };
            match name {
                None => return Ok(Err(MissingName::NoAddress)),
                Some(name) if !is_confirmed(&name) => return Ok(Err(MissingName::NotConfirmed)),
                Some(name) => name,
            }
        }
    };
    Ok(Ok(NameId { format, value }))
}
