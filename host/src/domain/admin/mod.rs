//! What an administrator does: applications, users, accounts, enrolments.

mod accounts;
mod activity;
mod applications;
mod approval_addresses;
mod caller;
mod changes;
mod claims_preview;
mod custom_attributes;
mod directory;
mod import;
mod import_accounts;
mod import_users;
mod logos;
mod names;
mod overview;
mod service_providers;
pub mod steps;
mod users;

pub use accounts::{
    AccountChange, account, accounts, accounts_of_user, change_account, create_account, delete_account, new_account,
};

pub use activity::{consents, end_session, end_sessions, sessions, withdraw_consent};
pub use applications::{
    ApplicationChange, ApplicationQuery, AuthenticationChange, application, applications, change_application,
    create_application, create_secret, delete_application, find_applications, foresee_application,
    foresee_application_change, registered,
};
pub use approval_addresses::{approval_addresses, remove_approval_address, set_approval_address};
pub use caller::{Caller, Standing, service_account};
pub(super) use changes::Settings;
pub use claims_preview::{
    Comparison, Deed, Difference, Origin, Preview, PreviewRequest, PreviewedName, PreviewedToken, Stopped, Told,
    compare, preview,
};
pub use custom_attributes::notes_of as service_provider_notes;
pub use directory::{AccountQuery, UserQuery, find_accounts, find_users};
pub use import::{ImportReport, ImportRow, RowError};
pub use import_accounts::{ACCOUNT_COLUMNS, account_cells, import_accounts};
pub use import_users::{USER_COLUMNS, import_users, user_cells};
pub use logos::{logo, remove_logo, set_logo};
pub use names::Names;
pub use overview::{Overview, Range, SignIns, count_sign_ins, overview};
pub use service_providers::{
    AcsChange, ServiceProviderChange, SingleLogoutChange, certificate_digest, change_service_provider,
    changed_service_provider, create_service_provider, foresee_service_provider_change, renew_saml_certificate,
    replace_service_provider, saml_certificates, service_provider, use_saml_certificate, withdraw_saml_certificate,
};

pub use users::{
    UserChange, change_user, create_enrolment, create_user, delete_user, devices, erase_user, foresee_user, new_user,
    revoke_device, user,
};

use std::time::Duration;

use super::{Broken, Host, audit, seconds};
use crate::clock::Timestamp;
use crate::id::{Did, TokenId};
use crate::keys::fresh_ed25519_public_key;
use crate::model::audit::{By, Event};
use crate::model::token::prefix;
use crate::secret::Token;
use crate::store::StoreError;

/// Why an administrator's request was not done. The message says what would do.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A value does not fit.
    #[error("{field}: {expected}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What is expected of it.
        expected: String,
    },
    /// There is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It can't be done as things stand.
    #[error("{0}")]
    Conflict(&'static str),
    /// Whoever calls may not do it.
    #[error("{0}")]
    Forbidden(&'static str),
    /// It is another version than the one that the change was made for.
    #[error("it was changed since it was read; read it again, and make the change to what is there now")]
    Stale,
    /// It is there already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The value of a field is taken: somebody has it.
    #[error("{0}: {1}")]
    TakenAt(&'static str, &'static str),
    /// The host broke.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Taken(what) => Self::Taken(what),
            StoreError::Overtaken(how) => Self::Conflict(how),
            StoreError::Stale => Self::Conflict("the user was changed, or deleted, at this moment; try again"),
            error => Self::Broken(error.into()),
        }
    }
}

/// What must hold of what is changed, as it is at the moment of the change: that whoever asks may reach it, and that it is the
/// version that they know.
pub type Guard<'a, T> = &'a (dyn Fn(&T) -> Result<()> + Send + Sync);

/// Nothing must hold: for whoever holds the machine.
pub fn whatever_it_is<T>(_: &T) -> Result<()> {
    Ok(())
}

type Result<T> = std::result::Result<T, Refused>;

fn invalid(field: &'static str, expected: impl Into<String>) -> Refused {
    Refused::Invalid { field, expected: expected.into() }
}

/// A fresh token for the admin API, and until when it is good.
pub async fn issue_admin_token(host: &Host, by: &By) -> std::result::Result<(Token, Timestamp), Broken> {
    issue_admin_token_for(host, seconds(host.settings.lifetimes.admin_token), by).await
}

/// A token for the admin API that is good for so long.
pub async fn issue_admin_token_for(
    host: &Host,
    life: Duration,
    by: &By,
) -> std::result::Result<(Token, Timestamp), Broken> {
    let now = host.now();
    let id = TokenId::new(now, &*host.entropy);
    let token = Token::new(prefix::ADMIN, id.as_bytes(), &*host.entropy);
    let until = now + life;
    // The id is what entries name as the actor; the secret is another part of the token.
    let entry = audit::entry(host, Event::AdminTokenMade, by);
    let entry = entry.with("token", id.to_string()).with("until", until.seconds());
    host.store.insert_admin_token(id, token.digest(), now, until, entry).await?;
    Ok((token, until))
}

/// The token for the admin API that a text is, if it is still good.
pub async fn admin_token(host: &Host, text: &str) -> std::result::Result<Option<TokenId>, Broken> {
    let Some(token) = Token::parse(prefix::ADMIN, text) else { return Ok(None) };
    let id = TokenId::from_bytes(token.id());
    let kept = host.store.open_admin_token(id, host.now()).await?;
    Ok(kept.filter(|digest| *digest == token.digest()).map(|_| id))
}

/// A fresh decentralized identifier.
pub(super) fn fresh_did() -> Result<Did> {
    let key = fresh_ed25519_public_key().map_err(Broken::from)?;
    Ok(Did::from_ed25519(&key))
}
