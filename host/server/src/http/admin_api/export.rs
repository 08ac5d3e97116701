//! Exports of users, accounts and members, streamed row by row.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::domain::admin::{ACCOUNT_COLUMNS, Caller, MEMBER_COLUMNS, USER_COLUMNS};
use crate::domain::{InternalError, Services, admin, audit};
use crate::http::admin_api::file_stream::stream_table;
use crate::http::admin_api::input::{List, PageLimit, Query, Search, after, id_of};
use crate::http::admin_api::{accounts, users};
use crate::http::problem::Problem;
use assent_model::account::Account;
use assent_model::audit::{Entry, Event};
use assent_model::group::Group;
use assent_model::id::{Did, UserId};
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::UserOrder;

/// Some rows of a table, and the position of the next ones.
type Rows = List<Vec<String>>;

/// The filters of the export of users.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsersQuery {
    /// Only users that this search finds, as in the list.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users in this state.
    #[param(inline)]
    state: Option<LifecycleState>,
    /// Only users with this role in the console.
    #[param(inline)]
    role: Option<ConsoleRole>,
}

/// The filters of the export of accounts.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AccountsQuery {
    /// Only users that this search finds, as in the list.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users in this state.
    #[param(inline)]
    state: Option<LifecycleState>,
}

/// The cursor of a row.
fn cursor_of<R>((cursor, _): &(String, R)) -> String {
    cursor.clone()
}

/// Records an export in the audit log.
async fn record(services: &Services, entry: Entry) -> Result<(), InternalError> {
    Ok(services.store.append_audit(vec![entry]).await?)
}

/// Export users as CSV.
///
/// UTF-8, in the order of the list. A cell that a spreadsheet would read as a formula begins with an apostrophe, which
/// an import removes. `groups` are separated by `;`, or are a JSON array.
#[utoipa::path(
    get,
    path = "/users/export",
    params(UsersQuery),
    responses((status = 200, description = "The CSV file.", body = String, content_type = "text/csv")),
)]
pub(super) async fn export_users(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Query(UsersQuery { q, state, role }): Query<UsersQuery>,
) -> Result<Response, Problem> {
    let q = q.text();
    // The search text may identify a user, and an erasure would not find it in the audit log.
    let entry = audit::entry(&services, Event::UsersExported, &caller.by)
        .with("searched", q.is_some())
        .with("state", state.map(LifecycleState::as_str))
        .with("role", role.map(ConsoleRole::as_str));
    record(&services, entry).await?;
    let page = move |after: Option<String>| -> BoxFuture<'static, Result<Rows, Problem>> {
        let (services, q) = (Arc::clone(&services), q.clone());
        Box::pin(async move {
            let found = users::page(
                &services,
                q,
                state,
                role,
                UserOrder::default(),
                after.as_deref(),
                PageLimit::EXPORT,
            )
            .await?;
            let ids: Vec<UserId> = found.iter().map(|(_, user)| user.id).collect();
            let groups = services.store.group_names_of(&ids).await;
            let groups = groups.map_err(InternalError::from)?;
            let cells = |(_, user): (_, User)| {
                let groups = groups.get(&user.id).map_or(&[][..], Vec::as_slice);
                admin::user_cells(&user, groups)
            };
            Ok(List::from_rows(found, PageLimit::EXPORT, cursor_of, cells))
        })
    };
    Ok(stream_table("users", &USER_COLUMNS, page))
}

/// Export an application's accounts as CSV.
///
/// In the format of the export of users. `user` is the user's name.
#[utoipa::path(
    get,
    path = "/applications/{id}/accounts/export",
    params(AccountsQuery),
    responses((status = 200, description = "The CSV file.", body = String, content_type = "text/csv"))
)]
pub(super) async fn export_accounts(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    Path(application): Path<String>,
    Query(AccountsQuery { q, state }): Query<AccountsQuery>,
) -> Result<Response, Problem> {
    let id: Did = id_of(&application, "application")?;
    admin::registered_application(&services, &id).await?;
    let q = q.text();
    let entry = audit::entry(&services, Event::AccountsExported, &caller.by)
        .in_application(id.clone())
        .with("searched", q.is_some())
        .with("state", state.map(LifecycleState::as_str));
    record(&services, entry).await?;
    let page = move |after: Option<String>| -> BoxFuture<'static, Result<Rows, Problem>> {
        let (services, q, id) = (Arc::clone(&services), q.clone(), id.clone());
        Box::pin(async move {
            let found = accounts::page(
                &services,
                &id,
                q,
                state,
                after.as_deref(),
                PageLimit::EXPORT,
            )
            .await?;
            let user_ids: Vec<UserId> = found.iter().map(|(_, account)| account.user_id).collect();
            let users = services
                .store
                .users_by_ids(&user_ids)
                .await
                .map_err(InternalError::from)?;
            let cells = |(_, account): (_, Account)| {
                admin::account_cells(&account, users.get(&account.user_id))
            };
            Ok(List::from_rows(found, PageLimit::EXPORT, cursor_of, cells))
        })
    };
    Ok(stream_table("accounts", &ACCOUNT_COLUMNS, page))
}

/// The members of a group as CSV.
pub(super) async fn members(
    services: Arc<Services>,
    caller: &Caller,
    group: Group,
) -> Result<Response, Problem> {
    let entry = audit::entry(&services, Event::GroupMembersExported, &caller.by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str());
    record(&services, entry).await?;
    let page = move |cursor: Option<String>| -> BoxFuture<'static, Result<Rows, Problem>> {
        let services = Arc::clone(&services);
        Box::pin(async move {
            let after = after(cursor.as_deref())?;
            let found =
                admin::members_of(&services, group.id, after, PageLimit::EXPORT.and_one()).await?;
            Ok(List::from_rows(
                found,
                PageLimit::EXPORT,
                |(membership, _)| membership.user.to_string(),
                |(_, user)| admin::member_cells(&user),
            ))
        })
    };
    Ok(stream_table("members", &MEMBER_COLUMNS, page))
}
