//! Who calls the admin API, and what they may do there.

use crate::administration::{AdminScopes, Permission};
use crate::application::{Application, RegisteredApplication};
use crate::audit::AuditContext;
use crate::user::{ConsoleRole, User};

type Result<T> = std::result::Result<T, Denied>;

/// The caller may not do this, and why: the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub &'static str);

/// Who calls: for the audit log, and with what they may do. It is made anew for each request, so a role or scope that
/// was taken away counts no more.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who, and from where.
    pub by: AuditContext,
    /// As what.
    pub principal: Principal,
}

/// Proof that the checks of a [`Caller`] authorized a use case. Nothing else makes one.
#[derive(Debug)]
pub struct Authorization(());

impl Authorization {
    /// Both.
    pub fn and(self, _: Self) -> Self {
        self
    }
}

/// A kind of caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// Whoever holds the machine: as an owner.
    AdminToken,
    /// A person with this role in the console.
    User(ConsoleRole),
    /// An application that acts as itself.
    Application(AdminScopes),
}

impl Caller {
    /// Whether they may do this.
    pub fn may(&self, permission: Permission) -> bool {
        match &self.principal {
            Principal::AdminToken => true,
            Principal::User(role) => role.gives(permission),
            Principal::Application(scopes) => scopes.grants(permission),
        }
    }

    /// Everything that they may do.
    pub fn permissions(&self) -> Vec<Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(|permission| self.may(*permission))
            .collect()
    }

    /// Authorizes what needs this permission.
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

    /// Authorizes to act upon a user. Who could enrol a device for an owner, or revoke an owner's device, would be an
    /// owner.
    ///
    /// # Errors
    /// [`Denied`].
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

    /// Authorizes to change more of an account than whether it may be used.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn authorize_account_writes(&self) -> Result<Authorization> {
        self.authorize(
            Permission::AccountsWrite,
            "you may suspend an account and let it be used again, and nothing else",
        )
    }

    /// Authorizes to change applications, but service accounts.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn authorize_application_writes(&self) -> Result<Authorization> {
        self.authorize(
            Permission::ApplicationsWrite,
            "you may not change applications",
        )
    }

    /// Authorizes to change a client. Who could make a secret for a service account could act as it does.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn authorize_application(&self, application: &Application) -> Result<Authorization> {
        match application.settings.is_service_account() {
            true => self.authorize(
                Permission::RolesWrite,
                "the application has admin scopes; only an owner may change it",
            ),
            false => self.authorize_application_writes(),
        }
    }

    /// Authorizes to change an application of either protocol.
    ///
    /// # Errors
    /// [`Denied`].
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
