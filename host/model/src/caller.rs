//! The callers of the admin API, and their permissions.

use crate::administration::{AdminScopes, Permission};
use crate::application::{Application, RegisteredApplication};
use crate::audit::AuditContext;
use crate::user::{ConsoleRole, User};

type Result<T> = std::result::Result<T, Denied>;

/// The reason to reject a caller: the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub &'static str);

/// A caller with its permissions, for authorization and the audit log. It is created for each request, so a revoked
/// role or scope has no further effect.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The actor and the origin.
    pub by: AuditContext,
    /// The kind of caller.
    pub principal: Principal,
}

/// Proof that the checks of a [`Caller`] authorized a use case. Only these checks create it.
#[derive(Debug)]
pub struct Authorization(());

impl Authorization {
    /// Combines two authorizations.
    pub fn and(self, _: Self) -> Self {
        self
    }
}

/// A kind of caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// An operator with a token from the server's machine, who has the permissions of an owner.
    AdminToken,
    /// A user with this role in the console.
    User(ConsoleRole),
    /// An application that acts as itself.
    Application(AdminScopes),
}

impl Caller {
    /// Whether the caller has this permission.
    pub fn may(&self, permission: Permission) -> bool {
        match &self.principal {
            Principal::AdminToken => true,
            Principal::User(role) => role.gives(permission),
            Principal::Application(scopes) => scopes.grants(permission),
        }
    }

    /// Returns all permissions of the caller.
    pub fn permissions(&self) -> Vec<Permission> {
        Permission::ALL
            .into_iter()
            .filter(|permission| self.may(*permission))
            .collect()
    }

    /// Authorizes a use case that requires this permission.
    ///
    /// # Errors
    /// [`Denied`], with `why`.
    pub fn authorize(&self, permission: Permission, why: &'static str) -> Result<Authorization> {
        if self.may(permission) {
            Ok(Authorization(()))
        } else {
            Err(Denied(why))
        }
    }

    /// Authorizes the management of a user. Otherwise a caller could become an owner by enrolling or revoking an
    /// owner's devices.
    ///
    /// # Errors
    /// [`Denied`] if the user's console role exceeds the caller's rights.
    pub fn authorize_user_access(&self, user: &User) -> Result<Authorization> {
        let reaches = match &self.principal {
            Principal::AdminToken => true,
            Principal::User(role) => role.may_act_upon(user.console_role),
            Principal::Application(_) => user.console_role.is_none(),
        };
        let why = match user.console_role {
            Some(ConsoleRole::Owner) => "the user is an owner; only an owner may do this",
            _ => "the user has a role in the console; only an owner or admin may do this",
        };
        if reaches {
            Ok(Authorization(()))
        } else {
            Err(Denied(why))
        }
    }

    /// Authorizes the first authenticator of a user, or a link that the caller receives and that enrols it. Its holder
    /// becomes the user, with all prepared access. So only a caller who may grant access may do this. Other callers
    /// let the server send the link to the user's own address.
    ///
    /// # Errors
    /// [`Denied`] without the permission for accounts.
    pub fn authorize_first_authenticator(&self) -> Result<Authorization> {
        self.authorize(
            Permission::AccountsWrite,
            "the user has no device yet, and may already have access to applications; have the server send the link \
             to the user's email address, or ask an administrator",
        )
    }

    /// Authorizes changes of an account, except suspending and reactivating it.
    ///
    /// # Errors
    /// [`Denied`] without the permission for accounts.
    pub fn authorize_account_writes(&self) -> Result<Authorization> {
        self.authorize(
            Permission::AccountsWrite,
            "you may only suspend and activate accounts",
        )
    }

    /// Authorizes changes of applications, except service accounts.
    ///
    /// # Errors
    /// [`Denied`] without the permission for applications.
    pub fn authorize_application_writes(&self) -> Result<Authorization> {
        self.authorize(
            Permission::ApplicationsWrite,
            "you may not change applications",
        )
    }

    /// Authorizes changes of a client. A caller that creates a secret for a service account could act as it.
    ///
    /// # Errors
    /// [`Denied`] without the permission for applications, or for roles if the client is a service account.
    pub fn authorize_application(&self, application: &Application) -> Result<Authorization> {
        match application.settings.is_service_account() {
            true => self.authorize(
                Permission::RolesWrite,
                "the application has admin scopes; only an owner may change it",
            ),
            false => self.authorize_application_writes(),
        }
    }

    /// Authorizes changes of an application of either protocol.
    ///
    /// # Errors
    /// [`Denied`], as for [`Self::authorize_application`].
    pub fn authorize_registered(
        &self,
        application: &RegisteredApplication,
    ) -> Result<Authorization> {
        match application {
            RegisteredApplication::Client(client) => self.authorize_application(client),
            RegisteredApplication::ServiceProvider(_) => self.authorize_application_writes(),
        }
    }
}
