//! The conditions and the totals of lists of access.

use std::time::Duration;

use super::Result;
use super::access::UserAccess;
use crate::domain::Services;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, GroupId, UserId};
use assent_model::user::LifecycleState;
use assent_store::{AccessTotals, MemberUse};

/// The days without a use from which access counts as unused.
const UNUSED_DAYS: u64 = 90;
/// The largest number of entries that a page with conditions examines. It returns fewer items than the limit rather
/// than examine more.
const MOST_EXAMINED: usize = 1_000;
/// The number of entries that a page with conditions examines at a time.
const EXAMINED_AT_ONCE: u32 = 250;

/// How long access was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// Never.
    Never,
    /// Not in the last 90 days, which includes never.
    For90Days,
}

impl Unused {
    /// Whether the last use fits.
    fn fits(self, used_at: Option<Timestamp>, now: Timestamp) -> bool {
        match self {
            Self::Never => used_at.is_none(),
            Self::For90Days => used_at.is_none_or(|at| at < unused_since(now)),
        }
    }

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::For90Days => "90-days",
        }
    }
}

/// Returns the time from which on a use counts.
fn unused_since(now: Timestamp) -> Timestamp {
    now - Duration::from_secs(UNUSED_DAYS * 24 * 60 * 60)
}

/// The access that a list contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessConditions {
    /// Only access that the state of the user or of the account denies.
    pub denied: bool,
    /// Only access that was not used.
    pub unused: Option<Unused>,
    /// Only access with this role.
    pub role: Option<String>,
}

impl AccessConditions {
    /// Whether the list contains this access.
    pub fn fit(&self, found: &UserAccess, now: Timestamp) -> bool {
        (!self.denied || found.denied.is_some())
            && self
                .unused
                .is_none_or(|unused| unused.fits(found.access.used_at, now))
            && self
                .role
                .as_ref()
                .is_none_or(|role| found.roles().contains(role))
    }

    /// Whether the list contains this member of a group. A member has no roles without an application.
    pub fn fit_member(&self, member: &MemberUse, now: Timestamp) -> bool {
        let is_denied = matches!(
            member.user.state,
            LifecycleState::Suspended | LifecycleState::Terminated
        );
        (!self.denied || is_denied)
            && self
                .unused
                .is_none_or(|unused| unused.fits(member.used_at, now))
    }

    /// Returns the number of rows that a page of `limit` items reads at a time. `finds_denied`: whether the statement
    /// itself finds only denied access.
    pub fn rows_at_once(&self, limit: u32, finds_denied: bool) -> u32 {
        let is_met = self.unused.is_none() && self.role.is_none() && (!self.denied || finds_denied);
        if is_met {
            limit.saturating_add(1)
        } else {
            EXAMINED_AT_ONCE
        }
    }

    /// Whether a page ends after this number of examined rows.
    pub const fn is_enough(examined: usize) -> bool {
        examined >= MOST_EXAMINED
    }
}

/// What a list of access is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessSubject {
    /// The users with access to an application.
    Application(Did),
    /// The applications that a user can open.
    User(UserId),
    /// The members of a group.
    Group(GroupId),
}

/// Returns the totals of a list without its conditions.
///
/// # Errors
/// If the database fails.
pub async fn access_totals(services: &Services, of: &AccessSubject) -> Result<AccessTotals> {
    let since = unused_since(services.now());
    Ok(match of {
        AccessSubject::Application(id) => services.store.access_totals_to(id, since).await?,
        AccessSubject::User(id) => services.store.access_totals_of(*id, since).await?,
        AccessSubject::Group(id) => services.store.access_totals_by(*id, since).await?,
    })
}
