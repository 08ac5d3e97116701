//! Who has access to an application, and which applications a user can open: the grants, their start, and the last use.

use super::{Result, registered_application, user};
use crate::domain::Services;
use crate::domain::sign_in::access::{AccessDenied, denial_of};
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::id::{AccountId, Did, GroupId, UserId};
use assent_model::search::{Cursor, Prefix};
use assent_store::{AccessFilter, ApplicationCursor, EffectiveAccess, MemberUse};

/// The access of a user to an application.
#[derive(Clone, Debug)]
pub struct UserAccess {
    /// Everything that decides about it.
    pub access: EffectiveAccess,
    /// What grants it: at least one.
    pub grants: Vec<AccessGrant>,
    /// The decision of an administrator that denies it in spite of the grants.
    pub denied: Option<AccessDenied>,
}

/// One way in which a user has access to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessGrant {
    /// The kind.
    pub source: GrantSource,
    /// The roles that it adds.
    pub roles: Vec<String>,
    /// When it began.
    pub since: Timestamp,
    /// Who gave it, as far as it is known.
    pub by: Option<Actor>,
}

/// What grants access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantSource {
    /// The user's own account.
    Account(AccountId),
    /// A group of the user, with its name.
    Group(GroupId, String),
    /// An assignment to everyone.
    Everyone,
}

impl UserAccess {
    /// Returns the access, unless nothing grants it.
    fn new(access: EffectiveAccess) -> Option<Self> {
        let own = access.account.as_ref().filter(|account| account.individual);
        let own = own.map(|account| AccessGrant {
            source: GrantSource::Account(account.id),
            roles: account.roles.clone(),
            since: access.granted_at.unwrap_or(account.created_at),
            by: access.granted_by.clone(),
        });
        let groups = access.assigned.groups.iter().map(|group| AccessGrant {
            source: GrantSource::Group(group.id, group.name.clone()),
            roles: group.roles.clone(),
            since: group.since,
            by: group.by.clone(),
        });
        let everyone = access.assigned.everyone.as_ref().map(|roles| AccessGrant {
            source: GrantSource::Everyone,
            roles: roles.clone(),
            since: access
                .everyone_since
                .map_or(access.user.created_at, |since| {
                    since.max(access.user.created_at)
                }),
            by: access.everyone_by.clone(),
        });
        let grants: Vec<AccessGrant> = own.into_iter().chain(groups).chain(everyone).collect();
        if grants.is_empty() {
            return None;
        }
        let denied = denial_of(&access);
        Some(Self {
            access,
            grants,
            denied,
        })
    }

    /// Returns when the earliest grant began.
    pub fn since(&self) -> Option<Timestamp> {
        self.grants.iter().map(|grant| grant.since).min()
    }

    /// Returns the roles that the application receives: those of the account, and of all assignments.
    pub fn roles(&self) -> Vec<String> {
        let own = self
            .access
            .account
            .iter()
            .flat_map(|account| &account.roles);
        let mut roles: Vec<String> = Vec::new();
        for role in own.chain(self.access.assigned.roles()) {
            if !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        roles
    }
}

/// A row of a list: the cursor, and the access, unless it ended while the list was read.
pub type AccessRow = (String, Option<UserAccess>);

/// Returns up to `limit` users with access to an application after `after`, in the order of their creation.
///
/// # Errors
/// [`AdminError::NotFound`](super::AdminError::NotFound) if there is no such application. Otherwise if the database
/// fails.
pub async fn access_to(
    services: &Services,
    application: &Did,
    filter: AccessFilter,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<AccessRow>> {
    registered_application(services, application).await?;
    let found = services
        .store
        .access_to(application, filter, after, limit)
        .await?;
    Ok(found
        .into_iter()
        .map(|access| (access.user.id.to_string(), UserAccess::new(access)))
        .collect())
}

/// A search in the users with access to an application.
#[derive(Clone, Debug)]
pub struct AccessQuery {
    /// The beginning of the account's name or of a search term of its user, or the complete id of either.
    pub q: String,
    /// The position of the last user of the previous page.
    pub after: Option<Cursor>,
}

/// Returns up to `limit` matching users with access to an application, in the order of the matching terms.
///
/// # Errors
/// [`AdminError::NotFound`](super::AdminError::NotFound) if there is no such application. Otherwise if the database
/// fails.
pub async fn find_access(
    services: &Services,
    application: &Did,
    query: &AccessQuery,
    limit: u32,
) -> Result<Vec<AccessRow>> {
    registered_application(services, application).await?;
    if query.after.is_none()
        && let Some(user) = user_by_text(services, application, query.q.trim()).await?
    {
        let found = services.store.access_of_users(application, &[user]).await?;
        let found = found.into_iter().filter_map(UserAccess::new);
        return Ok(found.map(|access| (String::new(), Some(access))).collect());
    }
    let Some(prefix) = Prefix::parse(&query.q) else {
        return Ok(Vec::new());
    };
    let after = query.after.clone().unwrap_or_default();
    let found = services
        .store
        .search_access(application, &prefix, &after, limit)
        .await?;
    Ok(found
        .into_iter()
        .map(|(place, access)| (place.to_string(), UserAccess::new(access)))
        .collect())
}

/// Returns the user whose id, or the id of whose account, the text is.
async fn user_by_text(
    services: &Services,
    application: &Did,
    text: &str,
) -> Result<Option<UserId>> {
    if let Ok(id) = text.parse::<AccountId>()
        && let Some(account) = services.store.account(id).await?
    {
        let is_here = account.application_id == *application;
        return Ok(is_here.then_some(account.user_id));
    }
    Ok(text.parse().ok())
}

/// Returns up to `limit` applications to which a user has access after `after`, in the order of their names.
///
/// # Errors
/// [`AdminError::NotFound`](super::AdminError::NotFound) if there is no such user.
pub async fn access_of(
    services: &Services,
    id: UserId,
    after: Option<&ApplicationCursor>,
    limit: u32,
) -> Result<Vec<AccessRow>> {
    user(services, id).await?;
    let found = services.store.access_of_user(id, after, limit).await?;
    let with_cursor = |access: EffectiveAccess| {
        let cursor = ApplicationCursor {
            id: access.application.clone(),
            name: access.application_name.clone(),
        };
        (cursor.to_string(), UserAccess::new(access))
    };
    Ok(found.into_iter().map(with_cursor).collect())
}

/// Returns up to `limit` members of a group after `after`, in the order of their creation, with their last use of an
/// application of the group.
///
/// # Errors
/// [`AdminError::NotFound`](super::AdminError::NotFound) if there is no such group.
pub async fn access_by(
    services: &Services,
    id: GroupId,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<(String, Option<MemberUse>)>> {
    super::group(services, id).await?;
    let members = services.store.access_by_group(id, after, limit).await?;
    Ok(members
        .into_iter()
        .map(|member| (member.user.id.to_string(), Some(member)))
        .collect())
}
