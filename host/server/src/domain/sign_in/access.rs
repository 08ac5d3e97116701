//! The decision whether a user may use an application, and with which account.
//!
//! A user has access with an own account, by a group to which the application is assigned, or because it is assigned to
//! everyone. The roles are the union of all of these. A suspended or terminated account denies access, regardless of
//! the assignments.

use std::sync::Arc;

use crate::domain::accounts::implied_account;
use crate::domain::claims::name_id::MissingName;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services, audit};
use assent_model::account::Account;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::Did;
use assent_model::login::SignInDenied;
use assent_model::user::{LifecycleState, User};
use assent_store::{AccountAccess, EffectiveAccess, FamilyState, UserAccount};

/// The user's access to an application.
#[derive(Clone, Debug)]
pub enum Access {
    /// The account may be used. An invited account becomes active by its use. An account that only an assignment
    /// implies is not stored yet.
    Granted(Account),
    /// The user has no account, and no assignment grants access.
    NoAccount,
    /// The user or the account is suspended or terminated, or the user has no authenticator yet.
    Closed,
}

impl Access {
    /// Returns the account in the application with this name.
    ///
    /// # Errors
    /// The reason that the user sees, if there is no access.
    pub fn into_account(self, application: &str) -> Result<Account, SignInDenied> {
        match self {
            Self::Granted(account) => Ok(account),
            Self::NoAccount => Err(SignInDenied::NoAccount(application.to_owned())),
            Self::Closed => Err(SignInDenied::AccountClosed(application.to_owned())),
        }
    }
}

/// The reason why a user has no access to an application, apart from the plugins. Only administrators see it, with a
/// remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AccessDenied {
    /// The user was invited, and has no device yet.
    NoDevice,
    /// The user is suspended.
    UserSuspended,
    /// The user is terminated.
    UserTerminated,
    /// There is neither an account nor an assignment.
    NoAccount,
    /// The account is suspended.
    AccountSuspended,
    /// The account is terminated.
    AccountTerminated,
    /// The NameID of the service provider is an email address, and the user has none.
    NoName,
    /// The NameID of the service provider is an email address, and that of the user is not confirmed.
    UnconfirmedAddress,
}
assent_model::enum_texts!(AccessDenied);

impl AccessDenied {
    /// Returns the reason and its remedy.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoDevice => "the user has no device: create an enrolment link for the user",
            Self::UserSuspended => "the user is suspended: set the user's state to active",
            Self::UserTerminated => "the user is terminated, which is final: create a new user",
            Self::NoAccount => {
                "there is no account in this application: create one, or add the user to a group that has access"
            }
            Self::AccountSuspended => {
                "the account in this application is suspended: set its state to active"
            }
            Self::AccountTerminated => {
                "the account in this application is terminated, which is final: delete it and create a new one"
            }
            Self::NoName => {
                "the NameID needs an email address, and the user has none: add one, or change the application's \
                 name_id_format or name_id_source (Format and Source in the console)"
            }
            Self::UnconfirmedAddress => {
                "the user's email address is not confirmed: confirm it on the page of the user"
            }
        }
    }

    /// Returns the reason for a missing name.
    pub const fn of_missing_name(why: MissingName) -> Self {
        match why {
            MissingName::NoAddress => Self::NoName,
            MissingName::NotConfirmed => Self::UnconfirmedAddress,
        }
    }

    /// Returns whether an administrator decided that the user has no access.
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

/// Returns the reason why a user with this account, or without one, has no access.
pub fn obstacle(user: &User, account: Option<&Account>) -> Option<AccessDenied> {
    let account = account.map(|account| (account.state, account.gives_access()));
    obstacle_of(user.state, account)
}

/// Returns the decision of an administrator that denies access to a user to whom something grants it. Lists show the
/// same decision as a sign-in makes. An invited user is treated like an active one, and needs only a device.
pub fn denial_of(access: &EffectiveAccess) -> Option<AccessDenied> {
    let account = match &access.account {
        Some(account) => Some((account.state, account.gives_access())),
        // The first sign-in creates the account that an assignment implies.
        None => access
            .assigned
            .gives_access()
            .then_some((LifecycleState::Active, true)),
    };
    let user = match access.user.state {
        LifecycleState::Invited => LifecycleState::Active,
        state => state,
    };
    obstacle_of(user, account).filter(|reason| reason.is_decision())
}

/// Decides by the state of the user, and by the state of the account and whether something grants access.
fn obstacle_of(
    user: LifecycleState,
    account: Option<(LifecycleState, bool)>,
) -> Option<AccessDenied> {
    match (user, account) {
        (LifecycleState::Invited, _) => Some(AccessDenied::NoDevice),
        (LifecycleState::Suspended, _) => Some(AccessDenied::UserSuspended),
        (LifecycleState::Terminated, _) => Some(AccessDenied::UserTerminated),
        (LifecycleState::Active, None) => Some(AccessDenied::NoAccount),
        (LifecycleState::Active, Some((LifecycleState::Suspended, _))) => {
            Some(AccessDenied::AccountSuspended)
        }
        (LifecycleState::Active, Some((LifecycleState::Terminated, _))) => {
            Some(AccessDenied::AccountTerminated)
        }
        (
            LifecycleState::Active,
            Some((LifecycleState::Invited | LifecycleState::Active, grants)),
        ) => (!grants).then_some(AccessDenied::NoAccount),
    }
}

/// Returns the user's account in the application: the stored one, or the one that an assignment implies.
pub async fn account_in(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Option<Account>, InternalError> {
    // The query is one statement for any result, so that the response time does not reveal whether the user has an
    // account.
    let AccountAccess { account, assigned } =
        services.store.access_of(user.id, application).await?;
    let implied = || {
        let is_assigned = assigned.gives_access();
        is_assigned.then(|| implied_account(services, user, application.clone(), assigned))
    };
    Ok(account.or_else(implied))
}

/// Returns the current access of a user to an application.
pub async fn access(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Access, InternalError> {
    // The account is read before the user's state is checked, so that the response time does not reveal whether the
    // user is suspended.
    let account = account_in(services, user, application).await?;
    Ok(access_with(user, account))
}

/// Returns the access of a user with this account, or with none.
fn access_with(user: &User, account: Option<Account>) -> Access {
    match (obstacle(user, account.as_ref()), account) {
        (None, Some(account)) => Access::Granted(account),
        (Some(AccessDenied::NoAccount), _) => Access::NoAccount,
        (_, _) => Access::Closed,
    }
}

/// Returns the reason why a user currently has no access to an application.
pub async fn access_denial(
    services: &Services,
    user: &User,
    application: &Did,
) -> Result<Option<AccessDenied>, InternalError> {
    let account = account_in(services, user, application).await?;
    Ok(obstacle(user, account.as_ref()))
}

/// Returns the access of a signed-in user, like [`access`]. It stores the account that an assignment implies, so that
/// the application identifies the user by one name from now on.
pub async fn signed_in_access(
    services: &Services,
    signed_in: &BrowserSession,
    application: &Did,
    origin: &Origin,
) -> Result<Access, InternalError> {
    let user = &signed_in.user;
    let found = match signed_in.account_in(application) {
        Some(account) => access_with(user, Some(account.clone())),
        None => access(services, user, application).await?,
    };
    match found {
        Access::Granted(account) if !account.is_stored() => {
            store_implied(services, user, account, origin).await
        }
        found => Ok(found),
    }
}

/// Stores an implied account. Its name is the user's name, or, if another account has it, the name with the short code.
async fn store_implied(
    services: &Services,
    user: &User,
    account: Account,
    origin: &Origin,
) -> Result<Access, InternalError> {
    let plain = Account {
        version: 1,
        ..account
    };
    let distinct = Account {
        name: format!("{}-{}", plain.name, plain.short_code.to_lowercase()),
        ..plain.clone()
    };
    let application = plain.application_id.clone();
    let by = AuditContext::new(Actor::User(user.id), origin.clone());
    for account in [plain, distinct] {
        let entry = audit::entry(services, Event::AccountCreated, &by)
            .about(user.id)
            .in_application(application.clone())
            .with("account", account.id.to_string())
            .with("state", account.state.as_str())
            .with("by_assignment", true)
            .personal(
                "after",
                serde_json::json!({"name": account.name, "roles": account.roles}),
            );
        let inserted = services
            .store
            .insert_implied_account(account, entry)
            .await?;
        // Another request may have inserted an account at the same time.
        match access(services, user, &application).await? {
            Access::Granted(found) if !found.is_stored() => {}
            found => {
                if inserted.is_done() {
                    tracing::info!(user = %user.id, %application, "account created by an assignment");
                }
                return Ok(found);
            }
        }
    }
    tracing::error!(user = %user.id, %application, "account of an assignment not created: its names are taken");
    Ok(Access::Closed)
}

/// Returns the user and the account of a token family, if they may still use its application.
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
            && found.account.gives_access()
    }))
}
