//! The execution of plans: their writes, with the audit entries.

use std::sync::Arc;

use crate::domain::admin::error::Result;
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::management::{ManifestKey, ManifestOwner};
use assent_model::user::User;
use assent_store::{AdminWrite, AdminWrites, ExpectedVersions, StoreError, UserAction};

/// The result of an execution.
#[derive(Debug)]
pub enum Execution<T> {
    /// The execution succeeded.
    Done(T),
    /// The state differs from the planned one. Nothing was changed.
    Overtaken,
}

impl<T> Execution<T> {
    /// Returns the execution with another outcome.
    pub(crate) fn map<U>(self, outcome: impl FnOnce(T) -> U) -> Execution<U> {
        match self {
            Self::Done(done) => Execution::Done(outcome(done)),
            Self::Overtaken => Execution::Overtaken,
        }
    }

    /// Converts the result of a write. [`StoreError::Stale`] means that the state changed since the plan.
    ///
    /// # Errors
    /// All other errors of the store.
    pub(in crate::domain) fn from_write(
        written: std::result::Result<T, StoreError>,
    ) -> Result<Self> {
        match written {
            Ok(done) => Ok(Self::Done(done)),
            Err(StoreError::Stale) => Ok(Self::Overtaken),
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes, each with its audit entries.
pub(crate) type Writes = Vec<(AdminWrite, Vec<Entry>)>;

/// Creates the audit entries of a plan, and executes its writes.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    pub(crate) services: &'a Arc<Services>,
    pub(crate) by: &'a AuditContext,
    /// The owner of the manifest and the digest of the plan, if the plan is one of a manifest.
    pub(super) manifest: Option<(&'a ManifestOwner, String)>,
}

impl<'a> Recorder<'a> {
    /// Records the plan of a command.
    pub(super) const fn of_command(services: &'a Arc<Services>, by: &'a AuditContext) -> Self {
        Self {
            services,
            by,
            manifest: None,
        }
    }

    pub(super) fn entry(&self, event: Event) -> Entry {
        self.with_plan(audit::entry(self.services, event, self.by))
    }

    /// Adds the digest of the plan.
    pub(super) fn with_plan(&self, entry: Entry) -> Entry {
        match &self.manifest {
            Some((_, digest)) => entry.with("plan", digest.as_str()),
            None => entry,
        }
    }

    /// Adds the manifest that manages the object from now on.
    pub(super) fn with_management(&self, entry: Entry, key: Option<&ManifestKey>) -> Entry {
        match (&self.manifest, key) {
            (Some((owner, _)), Some(key)) => entry
                .with("managed_by", owner.as_str())
                .with("managed_key", key.as_str()),
            _ => entry,
        }
    }

    /// Executes the writes of a command, which expect versions themselves.
    ///
    /// # Errors
    /// If a name is taken.
    pub(super) async fn write(&self, writes: Writes) -> Result<Execution<()>> {
        self.execute(ExpectedVersions::default(), writes).await
    }

    /// Executes a write about one user, which expects the user's version itself.
    ///
    /// # Errors
    /// If the object does not exist, a name is taken, or no owner would remain.
    pub(super) async fn write_user(
        &self,
        action: UserAction,
        entries: Vec<Entry>,
    ) -> Result<Execution<()>> {
        self.write(vec![(AdminWrite::User(action), entries)]).await
    }

    /// Executes all writes in one transaction.
    ///
    /// # Errors
    /// If a name is taken.
    pub(super) async fn execute(
        &self,
        expected: ExpectedVersions,
        writes: Writes,
    ) -> Result<Execution<()>> {
        let plan = AdminWrites {
            owner: self.manifest.as_ref().map(|(owner, _)| (*owner).clone()),
            expected,
            writes,
        };
        Execution::from_write(self.services.store.execute(plan, self.services.now()).await)
    }
}

/// Expects this version of a user, who may have received a console role since then.
pub(super) fn version_of(user: &User) -> ExpectedVersions {
    ExpectedVersions {
        users: vec![(user.id, user.version)],
        ..ExpectedVersions::default()
    }
}
