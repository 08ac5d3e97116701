//! The commands that add, remove and replace members of groups.
//!
//! A change of single members is routine, like the creation of an account, and needs no approval. A change of a whole
//! table of members does.

use std::collections::HashSet;

use serde::Serialize;

use super::queries::group;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::{Execution, Recorder, Writes};
use crate::domain::admin::groups::assignments::{about, authorize};
use crate::domain::admin::users::named_users;
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{InternalError, Services};
use assent_model::audit::Event;
use assent_model::group::Group;
use assent_model::id::{GroupId, UserId};
use assent_model::secret::Digest;
use assent_model::user::{LifecycleState, User};
use assent_store::{AdminWrite, MemberChange};

/// The largest number of users that one request adds.
const MOST_ADDED: usize = 200;
/// The largest number of members that one request may change, because the change is one transaction.
pub(in crate::domain::admin) const MOST_CHANGED: usize = 5_000;
/// The number of members that are read at a time.
const PAGE: u32 = 500;

/// A planned change of the members of a group.
#[derive(Clone, Debug)]
pub struct MemberPlan {
    pub(in crate::domain::admin) group: Group,
    pub(in crate::domain::admin) added: Vec<User>,
    pub(in crate::domain::admin) removed: Vec<User>,
}

impl MemberPlan {
    /// Adds and removes the members.
    pub(in crate::domain::admin) fn writes(&self, recorder: &Recorder<'_>) -> Writes {
        if self.is_empty() {
            return Writes::new();
        }
        let versions = |users: &[User]| users.iter().map(|user| (user.id, user.version)).collect();
        let change = MemberChange {
            added: versions(&self.added),
            removed: versions(&self.removed),
        };
        let entry = |event, user: &User| about(recorder, event, &self.group).about(user.id);
        let added = self
            .added
            .iter()
            .map(|user| entry(Event::GroupMemberAdded, user));
        let removed = self
            .removed
            .iter()
            .map(|user| entry(Event::GroupMemberRemoved, user));
        let write = AdminWrite::ChangeMembers(self.group.id, change);
        vec![(write, added.chain(removed).collect())]
    }

    /// Returns the protected action of a change of a whole table.
    pub(super) fn as_action(&self) -> Result<ProtectedAction> {
        let ids = |users: &[User]| users.iter().map(|user| user.id).collect::<Vec<UserId>>();
        let digest = serde_json::to_vec(&(ids(&self.added), ids(&self.removed)))
            .map(|json| Digest::sha256(&json).to_text())
            .map_err(InternalError::from)?;
        Ok(ProtectedAction::ReplaceMembers {
            group: self.group.id,
            digest,
            added: self.added.len() as u64,
            removed: self.removed.len() as u64,
        })
    }

    /// Returns whether the plan adds and removes no member.
    pub(in crate::domain::admin) const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    pub(super) async fn save(self, recorder: &Recorder<'_>) -> Result<Execution<MembersChanged>> {
        let outcome = MembersChanged {
            added: self.added.len() as u64,
            removed: self.removed.len() as u64,
        };
        if self.is_empty() {
            return Ok(Execution::Done(outcome));
        }
        let Execution::Done(()) = recorder.write(self.writes(recorder)).await? else {
            return Ok(Execution::Overtaken);
        };
        if outcome.removed > 0 {
            recorder.services.wakeups.send(Wakeup::LoggedOut);
        }
        let (group, added, removed) = (self.group.id, outcome.added, outcome.removed);
        tracing::info!(%group, added, removed, "members of a group changed");
        Ok(Execution::Done(outcome))
    }
}

/// The result of a change of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersChanged {
    /// The number of added members.
    pub added: u64,
    /// The number of removed members.
    pub removed: u64,
}

/// Returns the users that are not members yet. Terminated users cannot become members.
pub(super) async fn without_members(
    services: &Services,
    group: GroupId,
    users: Vec<User>,
) -> Result<Vec<User>> {
    let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
    let members: HashSet<UserId> = services
        .store
        .members_among(group, &ids)
        .await?
        .into_iter()
        .collect();
    Ok(users
        .into_iter()
        .filter(|user| !members.contains(&user.id))
        .collect())
}

/// Rejects terminated users as new members.
pub(in crate::domain::admin) fn must_not_be_terminated(users: &[User]) -> Result<()> {
    match users
        .iter()
        .find(|user| user.state == LifecycleState::Terminated)
    {
        Some(user) => Err(invalid(
            "users",
            format!("the user {} is terminated", user.name),
        )),
        None => Ok(()),
    }
}

assent_model::admin_command! {
    /// Adds users to a group. Existing members remain members.
    #[derive(Clone, Debug, Serialize)]
    pub struct AddMembers {
        /// The group.
        target group: GroupId,
        /// The users.
        target users: Vec<UserId>,
    }
}

impl AdminCommand for AddMembers {
    type Plan = MemberPlan;
    type Outcome = MembersChanged;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<MemberPlan>> {
        let services = &context.services;
        let mut authorization = authorize(&context.caller)?;
        let group = group(services, self.group).await?;
        if self.users.is_empty() || self.users.len() > MOST_ADDED {
            return Err(invalid("users", "expected the ids of 1 to 200 users"));
        }
        let users = named_users(services, &self.users).await?;
        must_not_be_terminated(&users)?;
        for user in &users {
            authorization = authorization.and(context.caller.authorize_user_access(user)?);
        }
        let plan = MemberPlan {
            added: without_members(services, group.id, users).await?,
            removed: Vec::new(),
            group,
        };
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(approved: ApprovedPlan<'_, MemberPlan>) -> Result<Execution<MembersChanged>> {
        let (plan, recorder) = approved.into_parts();
        plan.save(&recorder).await
    }
}

assent_model::admin_command! {
    /// Removes a member from a group, with the access that only the group grants.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct RemoveMember {
        /// The group.
        target group: GroupId,
        /// The user.
        target user: UserId,
    }
}

impl AdminCommand for RemoveMember {
    type Plan = MemberPlan;
    type Outcome = MembersChanged;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<MemberPlan>> {
        let services = &context.services;
        let authorization = authorize(&context.caller)?;
        let group = group(services, self.group).await?;
        if services
            .store
            .members_among(group.id, &[self.user])
            .await?
            .is_empty()
        {
            return Err(AdminError::NotFound("member"));
        }
        let user = crate::domain::admin::user(services, self.user).await?;
        let authorization = authorization.and(context.caller.authorize_user_access(&user)?);
        let plan = MemberPlan {
            group,
            added: Vec::new(),
            removed: vec![user],
        };
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(approved: ApprovedPlan<'_, MemberPlan>) -> Result<Execution<MembersChanged>> {
        let (plan, recorder) = approved.into_parts();
        plan.save(&recorder).await
    }
}

assent_model::admin_command! {
    /// Replaces the members of a group with these users.
    #[derive(Clone, Debug, Serialize)]
    pub struct ReplaceMembers {
        /// The group.
        target group: GroupId,
        /// The users.
        target users: Vec<UserId>,
    }
}

/// Returns all members of a group.
async fn all_members(services: &Services, group: GroupId) -> Result<Vec<User>> {
    let mut members: Vec<User> = Vec::new();
    loop {
        let after = members.last().map(|user| user.id);
        let page = services.store.members_of(group, after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        members.extend(page.into_iter().map(|(_, user)| user));
        if members.len() > MOST_CHANGED {
            return Err(AdminError::Conflict(
                "the group has too many members to replace them in one request; add and remove members",
            ));
        }
        if is_last {
            return Ok(members);
        }
    }
}

/// Returns the members of a group without terminated users. No manifest names these.
pub(in crate::domain::admin) async fn lasting_members(
    services: &Services,
    group: GroupId,
) -> Result<Vec<User>> {
    let mut members = all_members(services, group).await?;
    members.retain(|user| user.state != LifecycleState::Terminated);
    Ok(members)
}

impl AdminCommand for ReplaceMembers {
    type Plan = MemberPlan;
    type Outcome = MembersChanged;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<MemberPlan>> {
        let services = &context.services;
        let mut authorization = authorize(&context.caller)?;
        let group = group(services, self.group).await?;
        if self.users.len() > MOST_CHANGED {
            return Err(invalid("users", "expected the ids of at most 5000 users"));
        }
        let users = named_users(services, &self.users).await?;
        let members = all_members(services, group.id).await?;
        let wanted: HashSet<UserId> = users.iter().map(|user| user.id).collect();
        let known: HashSet<UserId> = members.iter().map(|user| user.id).collect();
        let added: Vec<User> = users
            .into_iter()
            .filter(|user| !known.contains(&user.id))
            .collect();
        must_not_be_terminated(&added)?;
        let plan = MemberPlan {
            added,
            removed: members
                .into_iter()
                .filter(|user| !wanted.contains(&user.id))
                .collect(),
            group,
        };
        for user in plan.added.iter().chain(&plan.removed) {
            authorization = authorization.and(context.caller.authorize_user_access(user)?);
        }
        if plan.is_empty() {
            return Ok(Planned::harmless(authorization, plan));
        }
        let action = plan.as_action()?;
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(approved: ApprovedPlan<'_, MemberPlan>) -> Result<Execution<MembersChanged>> {
        let (plan, recorder) = approved.into_parts();
        plan.save(&recorder).await
    }
}
