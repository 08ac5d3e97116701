//! The writes of a plan, with the same audit entries as separate requests.

use super::change::{ChangeAction, Operation, PlannedChange};
use super::plan::ManifestPlan;
use crate::domain::admin::changes::AuditedSettings;
use crate::domain::admin::groups::{MemberPlan, about};
use crate::domain::admin::{Execution, Result, accounts, logos};
use crate::domain::keys::saml_keys;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{Services, audit};
use assent_model::account::Account;
use assent_model::application::RegisteredApplication;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::group::Group;
use assent_model::id::Did;
use assent_model::logo::ApplicationLogo;
use assent_model::management::{ManifestKey, ManifestOwner};
use assent_model::saml::ServiceProvider;
use assent_store::{ManagedWrite, ManifestWrites};

/// Executes all changes of a plan in one transaction.
///
/// # Errors
/// If the database fails, or a name is taken.
pub(super) async fn execute(
    services: &Services,
    plan: &ManifestPlan,
    by: &AuditContext,
) -> Result<Execution<()>> {
    if plan.changes.is_empty() {
        return Ok(Execution::Done(()));
    }
    let writer = Writer {
        services,
        by,
        owner: &plan.owner,
        digest: plan.digest.to_text(),
    };
    let mut writes = Vec::new();
    for change in &plan.changes {
        writes.extend(writer.writes(change).await?);
    }
    let writes = ManifestWrites {
        owner: plan.owner.clone(),
        expected: plan.expected.clone(),
        writes,
    };
    let applied = services.store.apply_manifest(writes, services.now()).await;
    let Execution::Done(()) = Execution::from_write(applied)? else {
        return Ok(Execution::Overtaken);
    };
    services.wakeups.send(Wakeup::LoggedOut);
    tracing::info!(
        owner = %plan.owner,
        plan = plan.digest.to_text(),
        created = plan.count(ChangeAction::Create),
        deleted = plan.count(ChangeAction::Delete),
        changes = plan.changes.len(),
        "manifest applied"
    );
    Ok(Execution::Done(()))
}

type Writes = Vec<(ManagedWrite, Vec<Entry>)>;

struct Writer<'a> {
    services: &'a Services,
    by: &'a AuditContext,
    owner: &'a ManifestOwner,
    digest: String,
}

impl Writer<'_> {
    /// Returns the entry with the digest of this plan.
    fn of_plan(&self, entry: Entry) -> Entry {
        entry.with("plan", self.digest.as_str())
    }

    fn entry(&self, event: Event) -> Entry {
        self.of_plan(audit::entry(self.services, event, self.by))
    }

    /// Returns the entry of an object that the owner manages from now on.
    fn managed(&self, entry: Entry, key: &ManifestKey) -> Entry {
        entry
            .with("managed_by", self.owner.as_str())
            .with("managed_key", key.as_str())
    }

    async fn writes(&self, change: &PlannedChange) -> Result<Writes> {
        Ok(match &change.operation {
            Operation::CreateClient(client, key) => {
                let entry = self
                    .entry(Event::ApplicationCreated)
                    .in_application(client.id.clone());
                let entry = AuditedSettings::of_client(client).made(self.managed(entry, key));
                let write = ManagedWrite::InsertClient(client.as_ref().clone(), key.clone());
                vec![(write, vec![entry])]
            }
            Operation::UpdateClient {
                before,
                after,
                adopt,
            } => {
                let (was, is) = (
                    AuditedSettings::of_client(before),
                    AuditedSettings::of_client(after),
                );
                let write = ManagedWrite::UpdateClient(after.as_ref().clone());
                self.application_update(&after.id, (was, is), write, adopt.as_ref())
            }
            Operation::CreateServiceProvider(provider, key) => {
                self.service_provider_creation(provider, key).await?
            }
            Operation::UpdateServiceProvider {
                before,
                after,
                adopt,
            } => {
                let of = AuditedSettings::of_service_provider;
                let write = ManagedWrite::UpdateServiceProvider(after.as_ref().clone());
                self.application_update(&after.id, (of(before), of(after)), write, adopt.as_ref())
            }
            Operation::DeleteApplication(application) => self.application_deletion(application),
            Operation::ChangeLogo {
                application,
                before,
                after,
            } => self.logo_change(application, before.as_ref(), after.as_ref()),
            Operation::CreateGroup(group, key, members) => {
                let entry = self.managed(self.about_group(Event::GroupCreated, group), key);
                let write = ManagedWrite::InsertGroup(group.clone(), key.clone());
                let mut writes = vec![(write, vec![entry])];
                writes.extend(self.members(members));
                writes
            }
            Operation::UpdateGroup {
                before,
                after,
                adopt,
                members,
            } => self.group_update(before, after, adopt.as_ref(), members),
            Operation::DeleteGroup(group) => {
                let entry = self.about_group(Event::GroupDeleted, group);
                vec![(
                    ManagedWrite::DeleteGroup(group.id, group.version),
                    vec![entry],
                )]
            }
            Operation::Assign(plan) => {
                let entry = self.of_plan(plan.entry(self.services, Event::AccessAssigned, self.by));
                let (application, to) = (plan.application.clone(), plan.assignee());
                vec![(
                    ManagedWrite::Assign(application, to, plan.roles.clone()),
                    vec![entry],
                )]
            }
            Operation::Unassign(plan) => {
                let entry = self.of_plan(plan.entry(self.services, Event::AccessRemoved, self.by));
                vec![(
                    ManagedWrite::Unassign(plan.application.clone(), plan.assignee()),
                    vec![entry],
                )]
            }
            Operation::CreateAccount(user_account) => {
                let entry = accounts::creation(self.services, &user_account.account, self.by);
                let write = ManagedWrite::InsertAccount(user_account.account.clone());
                vec![(write, vec![self.of_plan(entry)])]
            }
            Operation::UpdateAccount { before, after } => self.account_update(before, after),
            Operation::DeleteAccount(user_account) => {
                let account = &user_account.account;
                let entry = self.of_plan(accounts::deletion(self.services, account, self.by));
                vec![(
                    ManagedWrite::DeleteAccount(account.id, account.version),
                    vec![entry],
                )]
            }
        })
    }

    async fn service_provider_creation(
        &self,
        provider: &ServiceProvider,
        key: &ManifestKey,
    ) -> Result<Writes> {
        let signing = saml_keys::create_first_key(self.services, &provider.id).await?;
        let entry = self
            .entry(Event::ApplicationCreated)
            .in_application(provider.id.clone());
        let entry = AuditedSettings::of_service_provider(provider).made(self.managed(entry, key));
        let write = ManagedWrite::InsertServiceProvider(provider.clone(), signing, key.clone());
        Ok(vec![(write, vec![entry])])
    }

    fn application_update(
        &self,
        id: &Did,
        (was, is): (AuditedSettings, AuditedSettings),
        write: ManagedWrite,
        adopt: Option<&ManifestKey>,
    ) -> Writes {
        let entry = || {
            self.entry(Event::ApplicationUpdated)
                .in_application(id.clone())
        };
        let mut writes = Vec::new();
        if let Some(key) = adopt {
            let adoption = ManagedWrite::AdoptApplication(id.clone(), key.clone());
            writes.push((adoption, vec![self.managed(entry(), key)]));
        }
        // Without a difference, the application itself is not written.
        if let Some(entry) = was.change(is, entry()) {
            writes.push((write, vec![entry]));
        }
        writes
    }

    fn application_deletion(&self, application: &RegisteredApplication) -> Writes {
        let id = application.id().clone();
        let settings = match application {
            RegisteredApplication::Client(client) => AuditedSettings::of_client(client),
            RegisteredApplication::ServiceProvider(provider) => {
                AuditedSettings::of_service_provider(provider)
            }
        };
        let entry = self
            .entry(Event::ApplicationDeleted)
            .in_application(id.clone());
        let entry = settings.deletion_entry(entry);
        vec![(
            ManagedWrite::DeleteApplication(id, application.version()),
            vec![entry],
        )]
    }

    fn logo_change(
        &self,
        application: &Did,
        before: Option<&String>,
        after: Option<&ApplicationLogo>,
    ) -> Writes {
        let entry = match after {
            Some(logo) => logos::setting(self.services, application, logo, self.by),
            None => logos::removal(self.services, application, self.by),
        };
        let write = ManagedWrite::ChangeLogo {
            application: application.clone(),
            before: before.cloned(),
            after: after.cloned(),
        };
        vec![(write, vec![self.of_plan(entry)])]
    }

    fn account_update(&self, before: &Account, after: &Account) -> Writes {
        let mut entries = accounts::differences(self.services, before, after, self.by);
        if entries.is_empty() {
            // The owner adopts the account without a change.
            let entry = accounts::about(self.services, Event::AccountUpdated, after, self.by);
            entries.push(entry.with("managed_by", self.owner.as_str()));
        }
        let entries = entries
            .into_iter()
            .map(|entry| self.of_plan(entry))
            .collect();
        vec![(ManagedWrite::UpdateAccount(after.clone()), entries)]
    }

    fn about_group(&self, event: Event, group: &Group) -> Entry {
        self.of_plan(about(self.services, event, group, self.by))
    }

    fn group_update(
        &self,
        before: &Group,
        after: &Group,
        adopt: Option<&ManifestKey>,
        members: &MemberPlan,
    ) -> Writes {
        let mut writes = Vec::new();
        if let Some(key) = adopt {
            let entry = self.managed(self.about_group(Event::GroupUpdated, after), key);
            writes.push((ManagedWrite::AdoptGroup(after.id, key.clone()), vec![entry]));
        }
        if before != after {
            let mut entry = self.about_group(Event::GroupUpdated, after);
            if before.name != after.name {
                entry = entry.with("former_name", before.name.as_str());
            }
            writes.push((ManagedWrite::UpdateGroup(after.clone()), vec![entry]));
        }
        writes.extend(self.members(members));
        writes
    }

    fn members(&self, members: &MemberPlan) -> Option<(ManagedWrite, Vec<Entry>)> {
        if members.is_empty() {
            return None;
        }
        let entries = members.entries(self.services, self.by);
        let entries = entries
            .into_iter()
            .map(|entry| self.of_plan(entry))
            .collect();
        let write = ManagedWrite::ChangeMembers(members.group.id, members.change());
        Some((write, entries))
    }
}
