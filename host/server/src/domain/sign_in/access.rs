//! Whether a user may use an application, and with which account.

use std::sync::Arc;

use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::id::Did;
use assent_model::user::{LifecycleState, User};
use assent_store::{FamilyState, UserAccount};

/// The person's account in the application.
#[derive(Clone, Debug)]
pub enum Access {
    /// It may be used. One that was invited is active once it is.
    Granted(Account),
    /// The person has none.
    NoAccount,
    /// The user or the account is suspended or terminated, or the user has nothing to approve with yet.
    Closed,
}

/// What keeps a person out of an application, whatever the plugins say. It is told to administrators alone, with what
/// they can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDenied {
    /// The user was invited, and never had a device.
    NoDevice,
    /// The user is suspended.
    UserSuspended,
    /// The user is terminated.
    UserTerminated,
    /// There is no account.
    NoAccount,
    /// The account is suspended.
    AccountSuspended,
    /// The account is terminated.
    AccountTerminated,
    /// A service provider is to call the person by an e-mail address, and there is none.
    NoName,
}

impl AccessDenied {
    /// What it is, and what to do.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoDevice => "the user has no device: create an enrolment link for the user",
            Self::UserSuspended => "the user is suspended: set the user's state to active",
            Self::UserTerminated => "the user is terminated, which is final: create a new user",
            Self::NoAccount => "there is no account in this application: create one",
            Self::AccountSuspended => {
                "the account in this application is suspended: set its state to active"
            }
            Self::AccountTerminated => {
                "the account in this application is terminated, which is final: delete it and create a new one"
            }
            Self::NoName => {
                "the NameID is to be the person's e-mail address, and there is none: give the person an address, or \
                 change the application's name_id_format or name_id_source"
            }
        }
    }

    /// Whether it is a decision of an administrator's that the person does not get in.
    pub const fn is_decision(self) -> bool {
        matches!(
            self,
            Self::UserSuspended
                | Self::UserTerminated
                | Self::AccountSuspended
                | Self::AccountTerminated
        )
    }
}

/// What keeps a person out who has this account in an application, or none.
pub fn obstacle(user: &User, account: Option<&Account>) -> Option<AccessDenied> {
    match (user.state, account.map(|account| account.state)) {
        (LifecycleState::Invited, _) => Some(AccessDenied::NoDevice),
        (LifecycleState::Suspended, _) => Some(AccessDenied::UserSuspended),
        (LifecycleState::Terminated, _) => Some(AccessDenied::UserTerminated),
        (LifecycleState::Active, None) => Some(AccessDenied::NoAccount),
        (LifecycleState::Active, Some(LifecycleState::Suspended)) => {
            Some(AccessDenied::AccountSuspended)
        }
        (LifecycleState::Active, Some(LifecycleState::Terminated)) => {
            Some(AccessDenied::AccountTerminated)
        }
        (LifecycleState::Active, Some(LifecycleState::Invited | LifecycleState::Active)) => None,
    }
}

/// Whether a person may use an application at this moment.
///
/// # Errors
/// If the database fails.
pub async fn access(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Access, InternalError> {
    // Asked first, so that who is suspended is not told apart by a quicker answer.
    let account = services.store.account_of(user.id, application).await?;
    Ok(match (obstacle(user, account.as_ref()), account) {
        (None, Some(account)) => Access::Granted(account),
        (Some(AccessDenied::NoAccount), _) => Access::NoAccount,
        (_, _) => Access::Closed,
    })
}

/// What keeps a person out of an application at this moment.
///
/// # Errors
/// If the database fails.
pub async fn kept_out(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Option<AccessDenied>, InternalError> {
    let account = services.store.account_of(user.id, application).await?;
    Ok(obstacle(user, account.as_ref()))
}

/// The user and the account of a token family, if they may still use its application.
///
/// # Errors
/// If the database fails.
pub async fn holder_of(
    services: &Services,
    state: &FamilyState,
) -> Result<Option<Arc<UserAccount>>, InternalError> {
    let family = &state.family;
    let found = services.store.holder_of(state).await?;
    Ok(found.filter(|found| {
        found.user.id == family.subject.user_id
            && found.account.application_id == family.application
            && found.user.state == LifecycleState::Active
            && found.account.state == LifecycleState::Active
    }))
}
