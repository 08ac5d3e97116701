//! The writes of administrators' commands and of manifests: all writes of one plan are one transaction.

use std::collections::BTreeSet;

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::accounts;
use crate::tables::actors::actor_of;
use crate::tables::applications;
use crate::tables::applications::details_types::{self, RegisteredDetailsType};
use crate::tables::applications::logos;
use crate::tables::applications::registrations;
use crate::tables::applications::service_providers;
use crate::tables::groups;
use crate::tables::groups::members::MemberChange;
use crate::tables::groups::{assignments, members};
use crate::tables::users::actions::UserAction;
use crate::{Result, Store, StoreError, UserGuard, VersionedWrite, audit, taken};
use assent_model::account::Account;
use assent_model::application::Application;
use assent_model::audit::Entry;
use assent_model::authorization_details::name::TypeName;
use assent_model::client_registration::{ClientRegistration, RegistrationToken};
use assent_model::clock::Timestamp;
use assent_model::group::{Assignee, Group};
use assent_model::id::{AccountId, Did, GroupId, RegistrationTokenId, UserId};
use assent_model::logo::ApplicationLogo;
use assent_model::management::{ManifestKey, ManifestOwner};
use assent_model::saml::{SamlKey, ServiceProvider};
use assent_model::user::LifecycleState;

/// The name of the value that is taken if another object has the key.
const KEY: &str = "the key";

/// A write of a plan. A plan of a manifest names the key of each new object.
#[derive(Clone, Debug)]
pub enum AdminWrite {
    /// Adds a client.
    InsertClient(Application, Option<ManifestKey>),
    /// Replaces this version of a client's name, settings and secrets. If it disables the client, the earlier grants
    /// are revoked: they stay invalid when the client is enabled again.
    UpdateClient(Application),
    /// Adds a service provider, and the key that signs for it.
    InsertServiceProvider(ServiceProvider, SamlKey, Option<ManifestKey>),
    /// Replaces this version of a service provider's name and settings.
    UpdateServiceProvider(ServiceProvider),
    /// Adopts an application that no manifest manages, with this key.
    AdoptApplication(Did, ManifestKey),
    /// Deletes this version of an application with its accounts, which ends its tokens.
    DeleteApplication(Did, i64),
    /// Adds a client that registered itself, and counts it for its initial access token.
    RegisterClient(Application, Box<ClientRegistration>),
    /// Replaces the metadata of a registration.
    UpdateRegistration(Box<ClientRegistration>),
    /// Deletes this version of a client that registered itself before this time, if it is not used.
    DeleteUnusedClient(Application, Timestamp),
    /// Adds an initial access token.
    InsertRegistrationToken(RegistrationToken),
    /// Deletes an initial access token.
    DeleteRegistrationToken(RegistrationTokenId),
    /// Adds a type of authorization details, or replaces this version of it.
    PutDetailsType {
        /// The type.
        after: Box<RegisteredDetailsType>,
        /// The time of the last change that the plan read; `None` for a new type.
        before: Option<Timestamp>,
    },
    /// Deletes a type of authorization details.
    DeleteDetailsType(TypeName),
    /// Sets or removes the logo of an application.
    ChangeLogo {
        /// The application.
        application: Did,
        /// The digest of the logo that the plan read; `None` without a logo.
        before: Option<String>,
        /// The new logo; `None` removes the logo.
        after: Option<ApplicationLogo>,
    },
    /// Adds a group.
    InsertGroup(Group, Option<ManifestKey>),
    /// Replaces the name and the description of this version of a group. The applications that are assigned to it
    /// receive the new name.
    UpdateGroup(Group),
    /// Adopts a group that no manifest manages, with this key.
    AdoptGroup(GroupId, ManifestKey),
    /// Deletes this version of a group. Members who had access only through it lose the access at once, and the
    /// applications are notified.
    DeleteGroup(GroupId, i64),
    /// Adds and removes members of a group. Users who lose their last access to an application lose it at once, and the
    /// application is notified.
    ChangeMembers(GroupId, MemberChange),
    /// Assigns an application, or replaces the roles. The owner of a manifest manages the assignment from then on.
    Assign(Did, Assignee, Vec<String>),
    /// Removes an assignment. Users who had access only through it lose the access at once, and the application is
    /// notified.
    Unassign(Did, Assignee),
    /// Adds an account.
    InsertAccount(Account),
    /// Replaces this version of an account's name, roles and state. If the state differs from this earlier one,
    /// everything that began with the account ends. The owner of a manifest manages the account from then on.
    UpdateAccount(Account, LifecycleState),
    /// Deletes this version of an account, which ends everything that began with it.
    DeleteAccount(Account),
    /// A write that concerns one user.
    User(UserAction),
}

/// The versions that the plan read. If one of them has changed, nothing is written.
#[derive(Clone, Debug, Default)]
pub struct ExpectedVersions {
    /// Users that the plan does not change.
    pub users: Vec<(UserId, i64)>,
    /// Applications.
    pub applications: Vec<(Did, i64)>,
    /// Groups.
    pub groups: Vec<(GroupId, i64)>,
}

/// The writes of a plan.
#[derive(Clone, Debug, Default)]
pub struct AdminWrites {
    /// The owner of the manifest, if the plan is one of a manifest.
    pub owner: Option<ManifestOwner>,
    /// The versions that the plan read.
    pub expected: ExpectedVersions,
    /// The writes, each with its entries for the audit log.
    pub writes: Vec<(AdminWrite, Vec<Entry>)>,
}

impl AdminWrite {
    /// The position of the write in the transaction. A write that names the version of a row precedes those that
    /// increment it. An object with references to it is added first and deleted last. As an exception, an application
    /// takes its accounts and assignments with it.
    const fn rank(&self) -> u8 {
        match self {
            Self::UpdateClient(_) | Self::UpdateServiceProvider(_) | Self::User(_) => 0,
            Self::DeleteAccount(..) => 1,
            Self::DeleteApplication(..) | Self::DeleteUnusedClient(..) => 2,
            Self::InsertRegistrationToken(_)
            | Self::DeleteRegistrationToken(_)
            | Self::PutDetailsType { .. }
            | Self::DeleteDetailsType(_) => 3,
            Self::DeleteGroup(..) => 4,
            Self::UpdateGroup(_) => 5,
            Self::AdoptApplication(..) | Self::AdoptGroup(..) => 6,
            Self::InsertClient(..)
            | Self::RegisterClient(..)
            | Self::InsertServiceProvider(..)
            | Self::InsertGroup(..) => 7,
            Self::ChangeLogo { .. } | Self::UpdateRegistration(_) => 8,
            Self::ChangeMembers(_, change) if change.removed.is_empty() => 8,
            Self::Assign(..) => 9,
            Self::InsertAccount(_) | Self::UpdateAccount(..) => 10,
            // Access is granted before other access is removed, so that users who keep access stay signed in.
            Self::ChangeMembers(..) => 11,
            Self::Unassign(..) => 12,
        }
    }
}

impl Store {
    /// Executes the writes of a plan: all of them, or none.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if a row was changed since the plan read it; [`StoreError::Taken`] if a name is taken;
    /// [`StoreError::QuotaExhausted`] if an initial access token registers no further application;
    /// [`StoreError::Overtaken`] if the object of an assignment or of members was deleted. Otherwise as a
    /// [`UserAction`].
    pub async fn execute(&self, plan: AdminWrites, now: Timestamp) -> Result<()> {
        let mut plan = plan;
        plan.writes.sort_by_key(|(write, _)| write.rank());
        plan.expected.sort();
        let _counted = self.counted_write();
        self.write(plan, move |db, plan| {
            Box::pin(async move {
                lock(db, plan, now).await?;
                for (write, entries) in &plan.writes {
                    let mut entries = entries.clone();
                    let owner = plan.owner.as_ref();
                    let written = execute(db, owner, write, &mut entries, now).await?;
                    if written == VersionedWrite::Stale {
                        return Err(StoreError::Stale);
                    }
                    audit::append(db, &entries).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

impl ExpectedVersions {
    /// Sorts the rows, because transactions must lock the same rows in the same order.
    fn sort(&mut self) {
        self.users.sort_unstable();
        self.users.dedup();
        self.applications
            .sort_unstable_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        self.applications.dedup();
        self.groups.sort_unstable();
        self.groups.dedup();
    }
}

/// Locks the rows that the plan read: users first, then groups, then applications, as in all transactions. Rows of one
/// table are locked in the order of their ids. If the groups of users change, their versions are incremented once for
/// all of their groups.
async fn lock(
    db: &mut Connection,
    AdminWrites {
        owner,
        expected,
        writes,
    }: &AdminWrites,
    now: Timestamp,
) -> Result<()> {
    let mut changed = MemberChange::default();
    for (write, _) in writes {
        if let AdminWrite::ChangeMembers(_, MemberChange { added, removed }) = write {
            changed.added.extend(added);
            changed.removed.extend(removed);
        }
    }
    // The increment locks the members of one group by itself. Only with the users of other writes is there an order
    // between them.
    if owner.is_some() || !expected.users.is_empty() {
        let members = changed.added.iter().chain(&changed.removed);
        let users: BTreeSet<(UserId, i64)> = members.chain(&expected.users).copied().collect();
        for (id, version) in users {
            UserGuard::at_version(id, version).lock(db).await?;
        }
    }
    members::increment_versions(db, &changed, now).await?;
    for (id, version) in &expected.groups {
        let locked =
            sql::query("UPDATE user_groups SET version = version WHERE id = $1 AND version = $2")
                .bind(id.to_string())
                .bind(*version)
                .execute(&mut *db)
                .await?;
        must_be_some(locked)?;
    }
    for (id, version) in &expected.applications {
        let locked =
            sql::query("UPDATE applications SET version = version WHERE id = $1 AND version = $2")
                .bind(id.to_string())
                .bind(*version)
                .execute(&mut *db)
                .await?;
        must_be_some(locked)?;
    }
    Ok(())
}

const fn must_be_some(rows: u64) -> Result<()> {
    match rows {
        0 => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

async fn execute(
    db: &mut Connection,
    owner: Option<&ManifestOwner>,
    write: &AdminWrite,
    entries: &mut Vec<Entry>,
    now: Timestamp,
) -> Result<VersionedWrite> {
    // The owner of a manifest manages the objects that it adds or adopts. Other plans have neither owner nor key.
    let management = |key: Option<&ManifestKey>| owner.cloned().zip(key.cloned());
    match write {
        AdminWrite::InsertClient(application, key) => {
            applications::insert(db, application).await?;
            let id = application.id.to_string();
            manage(db, MANAGE_APPLICATION, id, management(key.as_ref())).await
        }
        AdminWrite::UpdateClient(application) => applications::update(db, application).await,
        AdminWrite::InsertServiceProvider(provider, signing, key) => {
            service_providers::insert(db, provider, signing).await?;
            let id = provider.id.to_string();
            manage(db, MANAGE_APPLICATION, id, management(key.as_ref())).await
        }
        AdminWrite::UpdateServiceProvider(provider) => {
            service_providers::update(db, provider).await
        }
        AdminWrite::AdoptApplication(id, key) => {
            manage(db, ADOPT_APPLICATION, id.to_string(), management(Some(key))).await
        }
        AdminWrite::DeleteApplication(id, version) => applications::delete(db, id, *version).await,
        AdminWrite::RegisterClient(application, registration) => {
            // Before the insertions, so that a request above the quota writes nothing.
            let source = &registration.source;
            registrations::count_registration(db, source.token, now).await?;
            applications::insert(db, application).await?;
            registrations::insert(db, registration).await?;
            Ok(VersionedWrite::Done)
        }
        AdminWrite::UpdateRegistration(registration) => {
            registrations::update(db, registration).await
        }
        AdminWrite::DeleteUnusedClient(application, before) => {
            registrations::delete_unused(db, application, *before).await
        }
        AdminWrite::InsertRegistrationToken(token) => {
            registrations::insert_token(db, token).await?;
            Ok(VersionedWrite::Done)
        }
        AdminWrite::DeleteRegistrationToken(id) => registrations::delete_token(db, *id).await,
        AdminWrite::PutDetailsType { after, before } => {
            details_types::put(db, after, *before).await
        }
        AdminWrite::DeleteDetailsType(name) => details_types::delete(db, name).await,
        AdminWrite::ChangeLogo {
            application,
            before,
            after,
        } => logos::change(db, application, before.as_ref(), after.as_ref()).await,
        AdminWrite::InsertGroup(group, key) => {
            groups::insert(db, group).await?;
            manage(
                db,
                MANAGE_GROUP,
                group.id.to_string(),
                management(key.as_ref()),
            )
            .await
        }
        AdminWrite::UpdateGroup(group) => groups::update(db, group, now).await,
        AdminWrite::AdoptGroup(id, key) => {
            manage(db, ADOPT_GROUP, id.to_string(), management(Some(key))).await
        }
        AdminWrite::DeleteGroup(id, version) => groups::delete(db, *id, *version, now).await,
        AdminWrite::ChangeMembers(group, change) => {
            members::change_members(db, *group, change, actor_of(entries), now).await?;
            Ok(VersionedWrite::Done)
        }
        AdminWrite::Assign(application, to, roles) => {
            assignments::assign(db, application, *to, roles, actor_of(entries), now).await?;
            manage_assignment(db, owner, application, *to).await
        }
        AdminWrite::Unassign(application, from) => {
            assignments::unassign(db, application, *from, now).await?;
            Ok(VersionedWrite::Done)
        }
        AdminWrite::InsertAccount(account) => {
            accounts::insert(db, account, account.user_id.into(), actor_of(entries)).await?;
            manage_account(db, owner, account.id).await
        }
        AdminWrite::UpdateAccount(account, before) => {
            let guard = account.user_id.into();
            match accounts::update(db, account, guard, *before, actor_of(entries), now).await? {
                VersionedWrite::Done => manage_account(db, owner, account.id).await,
                VersionedWrite::Stale => Ok(VersionedWrite::Stale),
            }
        }
        AdminWrite::DeleteAccount(account) => accounts::delete(db, account, now).await,
        AdminWrite::User(action) => {
            action.execute(db, entries, now).await?;
            Ok(VersionedWrite::Done)
        }
    }
}

/// Stores the owner and key of a new application.
const MANAGE_APPLICATION: &str = "UPDATE applications SET managed_by = $2, managed_key = $3
     WHERE id = $1 AND managed_by IS NULL";
/// Stores the owner and key of an application that no manifest manages. The API shows both, so the version changes.
const ADOPT_APPLICATION: &str = "UPDATE applications
     SET managed_by = $2, managed_key = $3, version = version + 1 WHERE id = $1 AND managed_by IS NULL";
/// Stores the owner and key of a new group.
const MANAGE_GROUP: &str = "UPDATE user_groups SET managed_by = $2, managed_key = $3
     WHERE id = $1 AND managed_by IS NULL";
/// Stores the owner and key of a group that no manifest manages.
const ADOPT_GROUP: &str = "UPDATE user_groups
     SET managed_by = $2, managed_key = $3, version = version + 1 WHERE id = $1 AND managed_by IS NULL";

/// Stores the owner and key of an object that a manifest manages, with one of the statements above.
async fn manage(
    db: &mut Connection,
    statement: &'static str,
    id: String,
    management: Option<(ManifestOwner, ManifestKey)>,
) -> Result<VersionedWrite> {
    let Some((owner, key)) = management else {
        return Ok(VersionedWrite::Done);
    };
    let written = sql::query(statement)
        .bind(id)
        .bind(owner.to_string())
        .bind(key.to_string())
        .execute(db)
        .await
        .map_err(taken(KEY));
    stale_if_taken(written)
}

/// If another request took the key meanwhile, the plan is stale.
fn stale_if_taken(written: Result<u64>) -> Result<VersionedWrite> {
    match written {
        Ok(rows) => Ok(VersionedWrite::of_rows(rows)),
        Err(StoreError::Taken(_)) => Ok(VersionedWrite::Stale),
        Err(error) => Err(error),
    }
}

async fn manage_assignment(
    db: &mut Connection,
    owner: Option<&ManifestOwner>,
    application: &Did,
    to: Assignee,
) -> Result<VersionedWrite> {
    let Some(owner) = owner else {
        return Ok(VersionedWrite::Done);
    };
    let query = match to {
        Assignee::Everyone => {
            sql::query("UPDATE applications SET everyone_managed_by = $2 WHERE id = $1")
                .bind(application.to_string())
                .bind(owner.to_string())
        }
        Assignee::Group(group) => sql::query(
            "UPDATE group_assignments SET managed_by = $2 WHERE application_id = $1 AND group_id = $3",
        )
        .bind(application.to_string())
        .bind(owner.to_string())
        .bind(group.to_string()),
    };
    Ok(VersionedWrite::of_rows(query.execute(db).await?))
}

async fn manage_account(
    db: &mut Connection,
    owner: Option<&ManifestOwner>,
    id: AccountId,
) -> Result<VersionedWrite> {
    let Some(owner) = owner else {
        return Ok(VersionedWrite::Done);
    };
    let written = sql::query(
        "INSERT INTO managed_accounts (account_id, managed_by) VALUES ($1, $2)
         ON CONFLICT (account_id) DO UPDATE SET managed_by = excluded.managed_by",
    )
    .bind(id.to_string())
    .bind(owner.to_string())
    .execute(db)
    .await?;
    Ok(VersionedWrite::of_rows(written))
}
