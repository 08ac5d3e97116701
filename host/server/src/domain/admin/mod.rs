//! What an administrator does: applications, users, accounts, enrolments.

mod accounts;
pub mod action_approvals;
mod activity;
mod applications;
mod caller;
mod changes;
mod claims_preview;
mod command;
mod custom_attributes;
mod directory;
mod external_authenticators;
mod import;
mod import_accounts;
mod import_tables;
mod import_users;
mod keys;
mod logos;
mod names;
mod overview;
mod plugins;
mod service_providers;
mod user_table;
mod users;

pub use accounts::{
    AccountChange, CreateAccount, DeleteAccount, NewAccount, UpdateAccount, account, accounts,
    accounts_of_user, new_account,
};
pub use activity::{EndSession, EndSessions, WithdrawConsent, consents, sessions};
pub use applications::{
    ApplicationQuery, ClientChange, CreateClient, DeleteApplication, RotateClientSecret,
    SubjectKind, UpdateClient, application, applications, find_applications, registered,
};
pub use assent_model::caller::{Authorization, Caller, Forbidden, Principal};
pub use assent_model::command::{Field, Member};
pub use caller::service_account;
pub(super) use changes::Settings;
pub use claims_preview::{
    Comparison, Difference, Origin, Preview, PreviewRequest, PreviewedName, PreviewedToken,
    Stopped, Told, TryCandidate, ValueChange, preview,
};
pub use command::{AdminCommand, AdminContext, Execution, ExpectedVersion, NamedApproval, Planned};
pub use custom_attributes::notes_of as service_provider_notes;
pub use directory::{AccountQuery, UserQuery, find_accounts, find_users};
pub use external_authenticators::{
    RemoveExternalAuthenticator, SetExternalAuthenticator, external_authenticators,
};
pub use import::{ImportReport, ImportRow, RowError};
pub use import_accounts::{ACCOUNT_COLUMNS, account_cells, import_accounts};
pub use import_tables::{ImportTable, TablePlan};
pub use import_users::import_users;
pub use keys::{RevokeSigningKey, RotateSigningKeys};
pub use logos::{RemoveLogo, SetLogo, logo};
pub use names::Names;
pub use overview::{Overview, Range, SignIns, count_sign_ins, overview};
pub use plugins::{ReloadPlugins, RollBackPlugins};
pub use service_providers::{
    AcsChange, ActivateCertificate, CertificateOf, CreateServiceProvider, IssueCertificate,
    ServiceProviderChange, SingleLogoutChange, UpdateServiceProvider, WithdrawCertificate,
    changed_service_provider, replace_service_provider, saml_certificates, service_provider,
};
pub use user_table::{USER_COLUMNS, user_cells};

pub use users::{
    CreateUser, DeleteUser, EnrolDevice, EnrolmentLink, EraseUser, RevokeDevice, UpdateUser,
    UserChange, devices, new_user, user,
};

use std::time::Duration;

use self::action_approvals::PendingAction;
use super::protected_actions::SummaryError;
use super::{Host, InternalError, audit};
use crate::keys::fresh_ed25519_public_key;
use assent_model::audit::{AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, TokenId};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_store::StoreError;

/// Why a use case of the administration failed. The message says what the administrator can do.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
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
    #[error(
        "it was changed since it was read; read it again, and make the change to what is there now"
    )]
    Stale,
    /// It is there already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The value of a field is taken: somebody has it.
    #[error("{0}: {1}")]
    TakenAt(&'static str, &'static str),
    /// The action is protected, and the administrator's device was asked about it; with the summary.
    #[error("the action needs an approval")]
    ApprovalRequired(Box<(PendingAction, String)>),
    /// The server does as much of this as it does at a time.
    #[error("{0}")]
    TooMany(&'static str),
    /// The host broke.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

impl From<Forbidden> for AdminError {
    fn from(Forbidden(why): Forbidden) -> Self {
        Self::Forbidden(why)
    }
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Taken(what) => Self::Taken(what),
            StoreError::Overtaken(how) => Self::Conflict(how),
            StoreError::Stale => {
                Self::Conflict("the user was changed, or deleted, at this moment; try again")
            }
            error => Self::Internal(error.into()),
        }
    }
}

impl From<SummaryError> for AdminError {
    fn from(error: SummaryError) -> Self {
        match error {
            SummaryError::Gone(what) => Self::NotFound(what),
            SummaryError::Store(error) => error.into(),
        }
    }
}

/// The result of an administrator's request.
pub type Result<T> = std::result::Result<T, AdminError>;

fn invalid(field: &'static str, expected: impl Into<String>) -> AdminError {
    AdminError::Invalid {
        field,
        expected: expected.into(),
    }
}

/// A fresh token for the admin API, and until when it is good.
///
/// # Errors
/// If the database fails.
pub async fn issue_admin_token(
    host: &Host,
    by: &AuditContext,
) -> std::result::Result<(Token, Timestamp), InternalError> {
    issue_admin_token_for(host, host.settings.lifetimes.admin_token.get(), by).await
}

/// A token for the admin API that is good for so long.
///
/// # Errors
/// If the database fails.
pub async fn issue_admin_token_for(
    host: &Host,
    life: Duration,
    by: &AuditContext,
) -> std::result::Result<(Token, Timestamp), InternalError> {
    let now = host.now();
    let id = TokenId::new(now, &*host.entropy);
    let token = Token::new(prefix::ADMIN, id.as_bytes(), &*host.entropy);
    let until = now + life;
    // The id is what entries name as the actor; the secret is another part of the token.
    let entry = audit::entry(host, Event::AdminTokenCreated, by);
    let entry = entry
        .with("token", id.to_string())
        .with("until", until.seconds());
    host.store
        .insert_admin_token(id, token.digest(), now, until, entry)
        .await?;
    Ok((token, until))
}

/// The token for the admin API that a text is, if it is still good.
///
/// # Errors
/// If the database fails.
pub async fn admin_token(
    host: &Host,
    text: &str,
) -> std::result::Result<Option<TokenId>, InternalError> {
    let Some(token) = Token::parse(prefix::ADMIN, text) else {
        return Ok(None);
    };
    let id = TokenId::from_bytes(token.id());
    let kept = host.store.open_admin_token(id, host.now()).await?;
    Ok(kept.filter(|digest| *digest == token.digest()).map(|_| id))
}

/// A fresh decentralized identifier.
pub(super) fn fresh_did() -> Result<Did> {
    let key = fresh_ed25519_public_key().map_err(InternalError::from)?;
    Ok(Did::from_ed25519(&key))
}
