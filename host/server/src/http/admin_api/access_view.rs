//! The views of access: of a user's access to an application, of a member of a group, and of the totals of a list.

use serde::Serialize;
use utoipa::ToSchema;

use super::actor_view::{ActorView, actor_view};
use crate::domain::admin::{AccessGrant, GrantSource, Names, UserAccess};
use crate::domain::audit::moment_text;
use crate::domain::sign_in::access::AccessDenied;
use assent_model::user::LifecycleState;
use assent_store::{AccessTotals, EffectiveAccess, MemberUse};

/// The access of a user to an application: everything that grants it, and the decision.
#[derive(Serialize, ToSchema)]
#[schema(as = Access)]
pub(super) struct AccessView {
    user_id: String,
    /// The user's name at sign-in.
    user_name: String,
    /// The user's full name.
    display_name: Option<String>,
    user_state: LifecycleState,
    application_id: String,
    /// The display name of the application.
    application_name: String,
    /// Whether the application is enabled. No user can sign in to a disabled application.
    application_enabled: bool,
    /// Whether the user has access. A user without a device must enrol one first.
    granted: bool,
    /// Why the user has no access in spite of `via`.
    denied: Option<AccessDenialView>,
    /// Everything that grants access.
    via: Vec<AccessGrantView>,
    /// The roles that the application receives: those of the account, of the groups and of everyone.
    roles: Vec<String>,
    /// When the earliest of the grants in `via` began.
    #[schema(format = DateTime)]
    since: Option<String>,
    /// When the user last signed in to the application, with an accuracy of ten minutes. Absent if the user never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime, nullable = false)]
    used: Option<String>,
    /// The user's account in the application. The first sign-in creates it, if there is none.
    account: Option<AccessAccountView>,
}

/// A state that denies access in spite of a grant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AccessDenial)]
enum AccessDenialView {
    /// The user is suspended.
    UserSuspended,
    /// The user is terminated.
    UserTerminated,
    /// The account in the application is suspended.
    AccountSuspended,
    /// The account in the application is terminated.
    AccountTerminated,
}

impl AccessDenialView {
    const fn from_reason(reason: AccessDenied) -> Option<Self> {
        match reason {
            AccessDenied::UserSuspended => Some(Self::UserSuspended),
            AccessDenied::UserTerminated => Some(Self::UserTerminated),
            AccessDenied::AccountSuspended => Some(Self::AccountSuspended),
            AccessDenied::AccountTerminated => Some(Self::AccountTerminated),
            AccessDenied::NoDevice
            | AccessDenied::NoAccount
            | AccessDenied::NoName
            | AccessDenied::UnconfirmedAddress => None,
        }
    }
}

/// What grants access.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AccessSource)]
enum AccessSourceView {
    /// The user's own account.
    Account,
    /// A group of the user.
    Group,
    /// An assignment of the application to everyone.
    Everyone,
}

/// One way in which a user has access.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessGrant)]
struct AccessGrantView {
    kind: AccessSourceView,
    /// The group, or the account.
    id: Option<String>,
    /// The name of the group.
    name: Option<String>,
    /// The roles that it adds.
    roles: Vec<String>,
    /// When it began. For a group this is the later of the membership and the assignment.
    #[schema(format = DateTime)]
    since: String,
    /// Who gave it: the actor of `since`. `null` if it is unknown.
    by: Option<ActorView>,
}

/// The account of a user in an application.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessAccount)]
struct AccessAccountView {
    id: String,
    /// The user's name in the application: the claim `upn`.
    name: String,
    state: LifecycleState,
}

fn grant_view(grant: AccessGrant, names: &Names) -> AccessGrantView {
    let AccessGrant {
        source,
        roles,
        since,
        by,
    } = grant;
    let (kind, id, name) = match source {
        GrantSource::Account(id) => (AccessSourceView::Account, Some(id.to_string()), None),
        GrantSource::Group(id, name) => (AccessSourceView::Group, Some(id.to_string()), Some(name)),
        GrantSource::Everyone => (AccessSourceView::Everyone, None, None),
    };
    AccessGrantView {
        kind,
        id,
        name,
        roles,
        since: moment_text(since),
        by: by.map(|by| actor_view(&by, names)),
    }
}

/// Returns the view of a user's access.
pub(super) fn access_view(found: UserAccess, names: &Names) -> AccessView {
    let (roles, since) = (found.roles(), found.since());
    let UserAccess {
        access,
        grants,
        denied,
    } = found;
    let EffectiveAccess {
        user,
        application,
        application_name,
        application_enabled,
        account,
        used_at,
        assigned: _,
        everyone_since: _,
        everyone_by: _,
        granted_by: _,
        granted_at: _,
    } = access;
    AccessView {
        user_id: user.id.to_string(),
        user_name: user.name.to_string(),
        display_name: user.profile.name,
        user_state: user.state,
        application_id: application.to_string(),
        application_name,
        application_enabled,
        granted: denied.is_none(),
        denied: denied.and_then(AccessDenialView::from_reason),
        via: grants
            .into_iter()
            .map(|grant| grant_view(grant, names))
            .collect(),
        roles,
        since: since.map(moment_text),
        used: used_at.map(moment_text),
        account: account.map(|account| AccessAccountView {
            id: account.id.to_string(),
            name: account.name,
            state: account.state,
        }),
    }
}

/// A member of a group, with the last use of the applications that the group opens.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupAccess)]
pub(super) struct MemberAccessView {
    user_id: String,
    /// The user's name at sign-in.
    user_name: String,
    /// The user's full name.
    display_name: Option<String>,
    user_state: LifecycleState,
    /// When the user was added to the group.
    #[schema(format = DateTime)]
    since: String,
    /// Who added the user. `null` if it is unknown.
    by: Option<ActorView>,
    /// When the user last signed in to an application of the group, with an accuracy of ten minutes. Absent if the user
    /// never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime, nullable = false)]
    used: Option<String>,
}

/// Returns the view of a member.
pub(super) fn member_access_view(member: MemberUse, names: &Names) -> MemberAccessView {
    let MemberUse {
        user,
        added_at,
        added_by,
        used_at,
    } = member;
    MemberAccessView {
        user_id: user.id.to_string(),
        user_name: user.name.to_string(),
        display_name: user.profile.name,
        user_state: user.state,
        since: moment_text(added_at),
        by: added_by.map(|by| actor_view(&by, names)),
        used: used_at.map(moment_text),
    }
}

/// The numbers of entries of a list without its filters, up to 1,000.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessTotals)]
pub(super) struct TotalsView {
    /// The entries.
    entries: u32,
    /// The entries whose access the state of the user or of the account denies.
    denied: u32,
    /// The entries that were never used.
    never_used: u32,
    /// The entries that were not used in the last 90 days, with those that were never used.
    unused_90_days: u32,
    /// Whether the list has more than 1,000 entries. The numbers are those of the first 1,000 then.
    more: bool,
}

impl From<AccessTotals> for TotalsView {
    fn from(totals: AccessTotals) -> Self {
        let AccessTotals {
            entries,
            denied,
            never_used,
            unused,
            more,
        } = totals;
        Self {
            entries,
            denied,
            never_used,
            unused_90_days: unused,
            more,
        }
    }
}
