//! Who calls the admin API, and what they may do there.

use super::{Refused, Result};
use crate::domain::{Broken, Host};
use crate::id::Did;
use crate::model::administration::{AdminScopes, Permission};
use crate::model::application::{Application, Registered};
use crate::model::audit::{Actor, By, Origin};
use crate::model::user::{ConsoleRole, User};

/// Who calls: for the audit log, and with what they may do. It is made anew for each request, so a role or scope that was
/// taken away counts no more.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who, and from where.
    pub by: By,
    /// As what.
    pub standing: Standing,
}

/// As what somebody calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Whoever holds the machine: as an owner.
    Machine,
    /// A person with this role in the console.
    Person(ConsoleRole),
    /// An application that acts as itself.
    Service(AdminScopes),
}

impl Caller {
    /// Whether they may do this.
    pub fn may(&self, permission: Permission) -> bool {
        match &self.standing {
            Standing::Machine => true,
            Standing::Person(role) => role.gives(permission),
            Standing::Service(scopes) => scopes.give(permission),
        }
    }

    /// Everything that they may do.
    pub fn permissions(&self) -> Vec<Permission> {
        Permission::ALL.iter().copied().filter(|permission| self.may(*permission)).collect()
    }

    /// Refuses what they may not do.
    ///
    /// # Errors
    /// [`Refused::Forbidden`], with `why`.
    pub fn must(&self, permission: Permission, why: &'static str) -> Result<()> {
        if self.may(permission) { Ok(()) } else { Err(Refused::Forbidden(why)) }
    }

    /// Refuses to act upon somebody whom they may not act upon: who could make a link to enrol a phone for an owner, or take
    /// an owner's phone away, would be one.
    ///
    /// # Errors
    /// [`Refused::Forbidden`].
    pub fn must_reach(&self, user: &User) -> Result<()> {
        let reaches = match &self.standing {
            Standing::Machine => true,
            Standing::Person(role) => role.may_act_upon(user.console_role),
            Standing::Service(_) => user.console_role.is_none(),
        };
        let why = match user.console_role {
            Some(ConsoleRole::Owner) => "the user is an owner; only an owner may do this",
            _ => "the user has a role in the console; only an owner or admin may do this",
        };
        if reaches { Ok(()) } else { Err(Refused::Forbidden(why)) }
    }

    /// Refuses to give somebody something to approve with that whoever calls from the console was not asked about on the phone. It
    /// was not needed when the request came, and the person has got something meanwhile.
    ///
    /// # Errors
    /// [`Refused::Conflict`].
    pub fn must_have_asked_about(&self, user: &User) -> Result<()> {
        let is_asked = matches!(self.standing, Standing::Person(_));
        if is_asked && self.by.approval.is_none() && !user.is_only_invited() {
            return Err(Refused::Conflict("the person can sign in by now; send it again to be asked on your phone"));
        }
        Ok(())
    }

    /// Refuses to give or take admin scopes.
    ///
    /// # Errors
    /// [`Refused::Forbidden`].
    pub fn must_give_scopes(&self) -> Result<()> {
        self.must(Permission::RolesWrite, "admin_scopes: only an owner may give or take them")
    }

    /// Refuses to change more of an account than whether it may be used.
    ///
    /// # Errors
    /// [`Refused::Forbidden`].
    pub fn must_write_accounts(&self) -> Result<()> {
        self.must(Permission::AccountsWrite, "you may suspend an account and let it be used again, and nothing else")
    }

    /// Refuses to change an application that is a service account: who could make a secret for it could act as it does.
    ///
    /// # Errors
    /// [`Refused::Forbidden`].
    pub fn must_reach_application(&self, application: &Application) -> Result<()> {
        match application.settings.is_service_account() {
            true => self.must(Permission::RolesWrite, "the application has admin scopes; only an owner may change it"),
            false => Ok(()),
        }
    }

    /// The same, whatever the application speaks.
    ///
    /// # Errors
    /// [`Refused::Forbidden`].
    pub fn must_reach_registered(&self, application: &Registered) -> Result<()> {
        match application {
            Registered::Client(client) => self.must_reach_application(client),
            Registered::ServiceProvider(_) => Ok(()),
        }
    }
}

/// The caller that an application is with a token of these admin scopes; `None` if nothing is left of them.
pub async fn service_account(
    host: &Host,
    application: Did,
    token: &AdminScopes,
    from: Origin,
) -> std::result::Result<Option<Caller>, Broken> {
    let Some(client) = host.store.application(&application).await? else { return Ok(None) };
    let scopes = client.settings.admin_scopes_of(token);
    let by = By::new(Actor::Application(application), from);
    Ok((!scopes.is_empty()).then_some(Caller { by, standing: Standing::Service(scopes) }))
}
