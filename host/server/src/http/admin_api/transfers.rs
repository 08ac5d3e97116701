//! Users and accounts as tables: export and import.

use axum::extract::Path;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::Query;
use super::routes::Area;
use super::table::Table;
use crate::domain::admin::{ACCOUNT_COLUMNS, ImportReport, ImportTable, RowError, USER_COLUMNS};
use crate::http::admin_api::export;
use crate::http::admin_api::import_limit::ImportPermit;
use crate::http::admin_api::values::id_of;
use crate::http::problem::{Problem, ProblemKind};
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::Did;

pub(super) fn of_users() -> Area {
    Area::new()
        .route(
            "users.export",
            Permission::UsersRead,
            routes!(export::export_users),
        )
        .protected(
            "users.import",
            Permission::UsersWrite,
            ProtectedActionKind::ImportTable,
            routes!(import_users),
        )
}

pub(super) fn of_accounts() -> Area {
    Area::new()
        .route(
            "accounts.export",
            Permission::AccountsRead,
            routes!(export::export_accounts),
        )
        .protected(
            "accounts.import",
            Permission::AccountsWrite,
            ProtectedActionKind::ImportTable,
            routes!(import_accounts),
        )
}

/// How a table is imported.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ImportQuery {
    /// Checks all of it, and changes nothing.
    #[serde(default)]
    #[param(required = false)]
    dry_run: bool,
}

/// What came of an import, or would come of it.
#[derive(Serialize, ToSchema)]
#[schema(as = Import)]
struct ImportView {
    dry_run: bool,
    rows: u64,
    /// How many new ones were made. Where a row is refused nothing is done, and this is 0.
    created: u64,
    /// How many were changed; 0 as well where a row is refused.
    changed: u64,
    /// How many were as the table says already.
    unchanged: u64,
    /// How many rows are refused.
    rejected: u64,
    /// Why, of the first hundred.
    errors: Vec<RowErrorView>,
}

/// Why a row is refused.
#[derive(Serialize, ToSchema)]
#[schema(as = RowError)]
struct RowErrorView {
    /// The line on which the row begins, from 1.
    line: u64,
    /// The column, where it is about one.
    column: Option<String>,
    detail: String,
}

fn view(dry_run: bool, report: ImportReport) -> Json<ImportView> {
    let ImportReport {
        rows,
        created,
        changed,
        unchanged,
        rejected,
        errors,
        readdressed: _,
        renamed: _,
    } = report;
    let error = |RowError {
                     line,
                     column,
                     detail,
                 }| RowErrorView {
        line,
        column,
        detail,
    };
    let errors = errors.into_iter().map(error).collect();
    Json(ImportView {
        dry_run,
        rows,
        created,
        changed,
        unchanged,
        rejected,
        errors,
    })
}

/// Lets an import go on to its end even where nobody waits for it any more. None begins before that.
async fn to_the_end(
    alone: ImportPermit,
    import: impl Future<Output = Result<ImportReport, Problem>> + Send + 'static,
) -> Result<ImportReport, Problem> {
    let importing = async move {
        let report = import.await;
        drop(alone);
        report
    };
    tokio::spawn(importing).await.map_err(|error| {
        tracing::error!(%error, "an import broke off");
        Problem::of(
            ProblemKind::Internal,
            "the server could not do this; import the same again",
        )
    })?
}

/// Imports the accounts of an application, or else users.
async fn imported(
    context: Context,
    alone: ImportPermit,
    application: Option<Did>,
    table: Table,
    dry_run: bool,
) -> Result<Json<ImportView>, Problem> {
    let columns: &[&'static str] = match application {
        Some(_) => &ACCOUNT_COLUMNS,
        None => &USER_COLUMNS,
    };
    let rows = table.read(columns).await?.into();
    let command = ImportTable {
        application,
        rows,
        dry_run,
    };
    let import = async move { context.run(command).await };
    Ok(view(dry_run, to_the_end(alone, import).await?))
}

/// Import users from a table.
///
/// The columns are those of an export; a column that is missing leaves what it stands for as it is, and an empty cell takes it
/// away. A row is about the user with its `id` or, without one, with its `name`; where there is none, it makes one, who is invited.
/// Where a row is wrong, nothing is done at all. No row gives or takes a role in the console, or closes anybody for good.
#[utoipa::path(post, path = "/users/import", params(ImportQuery), request_body(content = String, content_type = "text/csv"), responses((status = 200, description = "What came of it.", body = ImportView)))]
async fn import_users(
    context: Context,
    Extension(alone): Extension<ImportPermit>,
    Query(ImportQuery { dry_run }): Query<ImportQuery>,
    table: Table,
) -> Result<Json<ImportView>, Problem> {
    imported(context, alone, None, table, dry_run).await
}

/// Import an application's accounts from a table.
///
/// As users are. `user` is a user's name, e-mail address or id; `roles` have `;` or blanks between them, or are a list in JSON. A
/// new account without `name` has the user's, and without `state` is active.
#[utoipa::path(post, path = "/applications/{id}/accounts/import", params(ImportQuery), request_body(content = String, content_type = "text/csv"), responses((status = 200, description = "What came of it.", body = ImportView)))]
async fn import_accounts(
    context: Context,
    Extension(alone): Extension<ImportPermit>,
    Path(application): Path<String>,
    Query(ImportQuery { dry_run }): Query<ImportQuery>,
    table: Table,
) -> Result<Json<ImportView>, Problem> {
    let id: Did = id_of(&application, "application")?;
    imported(context, alone, Some(id), table, dry_run).await
}
