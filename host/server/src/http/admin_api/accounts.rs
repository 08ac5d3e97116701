//! Accounts: users in applications.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use utoipa_axum::routes;

use super::conditional::VersionedResponse;
use super::context::Context;
use super::input::{
    Body, ChangeBody, List, Page, PageLimit, Query, Search, after, id_of, list_query,
};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, AccountChange, AccountDocument, AccountQuery, CreateAccount, DeleteAccount, Names,
    NewAccount, UpdateAccount,
};
use crate::http::problem::Problem;
use assent_model::account::Account;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::Did;
use assent_model::user::LifecycleState;

/// The routes of accounts. A change of an account's name needs an action approval, because applications identify users
/// by it. So does a deletion or termination, because it releases the name, and an import. A change of roles needs none,
/// because an application may need many such changes a day.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "accounts",
            "Accounts: the memberships of users in an application, with their roles there.",
        )
        .route("list", Permission::AccountsRead, routes!(list))
        .route("create", Permission::AccountsWrite, routes!(create))
        .protected(ProtectedActionKind::CreateAccount)
        .noun("users.accounts", "The accounts of a user.")
        .route("list", Permission::AccountsRead, routes!(of_user))
        .of_noun("accounts")
        .route("show", Permission::AccountsRead, routes!(read))
        .route("update", Permission::AccountsState, routes!(update))
        .protected(ProtectedActionKind::UpdateAccount)
        .route("delete", Permission::AccountsWrite, routes!(remove))
        .protected(ProtectedActionKind::DeleteAccount)
}

async fn view(
    services: &Services,
    account: Account,
) -> Result<VersionedResponse<AccountDocument>, Problem> {
    let names = names(services, std::slice::from_ref(&account)).await?;
    Ok(VersionedResponse(
        account.version,
        AccountDocument::new(account, &names),
    ))
}

/// Reads the names of the users and applications of these accounts.
async fn names<'a>(
    services: &Services,
    accounts: impl IntoIterator<Item = &'a Account> + Clone,
) -> Result<Names, Problem> {
    let users = accounts.clone().into_iter().map(|account| account.user_id);
    let applications = accounts
        .into_iter()
        .map(|account| account.application_id.clone());
    Ok(Names::read(services, users.collect(), applications.collect()).await?)
}

/// Create an account for a user in an application.
#[utoipa::path(
    post,
    path = "/applications/{id}/accounts",
    request_body = NewAccount,
    responses((status = 201, description = "The account.", body = AccountDocument))
)]
async fn create(
    State(services): State<Arc<Services>>,
    context: Context,
    Path(application): Path<String>,
    Body(account): Body<NewAccount>,
) -> Result<(StatusCode, VersionedResponse<AccountDocument>), Problem> {
    let application = id_of(&application, "application")?;
    let command = CreateAccount {
        application,
        account,
    };
    let account = context.run(command).await?;
    Ok((StatusCode::CREATED, view(&services, account).await?))
}

list_query! {
    /// The filters of the list of accounts.
    struct AccountsQuery;
    /// The beginning of the account name, or of the user's name, email address or a word of the full name; or the
    /// complete id of the account or the user.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only users in this state.
    #[param(inline)]
    state: Option<LifecycleState>,
}

/// List and search an application's accounts.
///
/// An account is created for a user, or at the first sign-in of a user with access by a group or by everyone. So the
/// list does not contain all users with access: see `/applications/{id}/access`.
///
/// The accounts are in the order of creation; with `q`, in the order of the matching terms.
#[utoipa::path(
    get,
    path = "/applications/{id}/accounts",
    params(AccountsQuery),
    responses((status = 200, description = "A page of accounts.", body = List<AccountDocument>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(application): Path<String>,
    Query(query): Query<AccountsQuery>,
) -> Result<Json<List<AccountDocument>>, Problem> {
    let application = id_of(&application, "application")?;
    let rows = page(
        &services,
        &application,
        query.q.text(),
        query.state,
        query.after.as_deref(),
        query.limit,
    )
    .await?;
    let names = names(&services, rows.iter().map(|(_, account)| account)).await?;
    Ok(Json(List::from_rows(
        rows,
        query.limit,
        |(cursor, _)| cursor.clone(),
        |(_, account)| AccountDocument::new(account, &names),
    )))
}

/// Returns the accounts of a page after a cursor and the next one, each with its own cursor.
pub(super) async fn page(
    services: &Services,
    application: &Did,
    q: Option<String>,
    state: Option<LifecycleState>,
    cursor: Option<&str>,
    limit: PageLimit,
) -> Result<Vec<(String, Account)>, Problem> {
    let limit = limit.and_one();
    if let Some(q) = q {
        let query = AccountQuery {
            q,
            state,
            after: after(cursor)?,
        };
        let found = admin::find_accounts(services, application, &query, limit).await?;
        return Ok(found
            .into_iter()
            .map(|(place, account)| (place.to_string(), account))
            .collect());
    }
    let found = admin::accounts(services, application, state, after(cursor)?, limit).await?;
    Ok(found
        .into_iter()
        .map(|account| (account.id.to_string(), account))
        .collect())
}

/// List a user's accounts.
///
/// The list does not contain all applications that the user can open: see `/users/{id}/access`.
#[utoipa::path(
    get,
    path = "/users/{id}/accounts",
    params(Page),
    responses(
        (
            status = 200,
            description = "A page of accounts, in the order of creation.",
            body = List<AccountDocument>,
        ),
    )
)]
async fn of_user(
    State(services): State<Arc<Services>>,
    Path(user): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<List<AccountDocument>>, Problem> {
    let rows = admin::accounts_of_user(
        &services,
        id_of(&user, "user")?,
        page.after()?,
        page.limit.and_one(),
    )
    .await?;
    let names = names(&services, &rows).await?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        |row| row.id.to_string(),
        |row| AccountDocument::new(row, &names),
    )))
}

/// Read an account.
#[utoipa::path(
    get,
    path = "/accounts/{id}",
    responses((status = 200, description = "The account.", body = AccountDocument))
)]
async fn read(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<VersionedResponse<AccountDocument>, Problem> {
    view(
        &services,
        admin::account(&services, id_of(&id, "account")?).await?,
    )
    .await
}

/// Update an account.
///
/// A new state that permits no sign-in ends the account's tokens and pending sign-ins. Members other than `state` need
/// the permission `accounts:write`.
#[utoipa::path(
    patch,
    path = "/accounts/{id}",
    request_body = AccountChange,
    responses((status = 200, description = "The updated account.", body = AccountDocument))
)]
async fn update(
    State(services): State<Arc<Services>>,
    context: Context,
    Path(id): Path<String>,
    ChangeBody(change): ChangeBody<AccountChange>,
) -> Result<VersionedResponse<AccountDocument>, Problem> {
    let account = id_of(&id, "account")?;
    let account = context.run(UpdateAccount { account, change }).await?;
    view(&services, account).await
}

/// Delete an account.
#[utoipa::path(delete, path = "/accounts/{id}", responses((status = 204, description = "Deleted.")))]
async fn remove(context: Context, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    context
        .no_content(DeleteAccount(id_of(&id, "account")?))
        .await
}
