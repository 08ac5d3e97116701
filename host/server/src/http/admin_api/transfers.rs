//! Import and export of users and accounts as tables.

use axum::extract::Path;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Query, id_of};
use super::routes::Area;
use super::table::CsvBody;
use crate::domain::admin::{ACCOUNT_COLUMNS, ImportReport, ImportTable, RowError, USER_COLUMNS};
use crate::http::admin_api::export;
use crate::http::admin_api::import_limit::ImportPermit;
use crate::http::problem::{Problem, ProblemKind};
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::Did;

pub(super) fn of_users() -> Area {
    Area::new()
        .of_noun("users")
        .route(
            "export",
            Permission::UsersRead,
            routes!(export::export_users),
        )
        .route("import", Permission::UsersWrite, routes!(import_users))
        .protected(ProtectedActionKind::ImportTable)
}

pub(super) fn of_accounts() -> Area {
    Area::new()
        .of_noun("accounts")
        .route(
            "export",
            Permission::AccountsRead,
            routes!(export::export_accounts),
        )
        .route(
            "import",
            Permission::AccountsWrite,
            routes!(import_accounts),
        )
        .protected(ProtectedActionKind::ImportTable)
}

/// The options of an import.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ImportQuery {
    /// Checks the complete file, and changes nothing.
    #[serde(default)]
    #[param(required = false)]
    pub(super) dry_run: bool,
}

/// The result of an import.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportResult)]
pub(super) struct ImportView {
    dry_run: bool,
    rows: u64,
    /// The number of created records; 0 if a row is rejected.
    created: u64,
    /// The number of updated records; 0 if a row is rejected.
    updated: u64,
    /// The number of records that have the values of their row already.
    unchanged: u64,
    /// The number of rejected rows.
    rejected: u64,
    /// The errors of the rejected rows; 100 at most.
    errors: Vec<RowErrorView>,
}

/// The error of a rejected row.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportError)]
struct RowErrorView {
    /// The line on which the row begins, from 1.
    line: u64,
    /// The column, if the error concerns one.
    column: Option<String>,
    detail: String,
}

pub(super) fn import_view(dry_run: bool, report: ImportReport) -> Json<ImportView> {
    let ImportReport {
        rows,
        created,
        updated,
        unchanged,
        rejected,
        errors,
        readdressed: _,
        confirmed: _,
        renamed: _,
        named_by_other_address: _,
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
        updated,
        unchanged,
        rejected,
        errors,
    })
}

/// Lets an import complete even if its client disconnects. No other import begins before its end.
pub(super) async fn to_the_end(
    permit: ImportPermit,
    import: impl Future<Output = Result<ImportReport, Problem>> + Send + 'static,
) -> Result<ImportReport, Problem> {
    let importing = async move {
        let report = import.await;
        drop(permit);
        report
    };
    tokio::spawn(importing).await.map_err(|error| {
        tracing::error!(%error, "import aborted");
        Problem::with_kind(
            ProblemKind::Internal,
            "the server could not do this; import the same again",
        )
    })?
}

/// Imports the accounts of an application, or users if there is no application.
async fn import_table(
    context: Context,
    permit: ImportPermit,
    application: Option<Did>,
    table: CsvBody,
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
    Ok(import_view(dry_run, to_the_end(permit, import).await?))
}

/// Import users from CSV.
///
/// The columns are those of an export. A missing column leaves its value unchanged, and an empty cell removes it. A row
/// updates the user with its `id` or, without an `id`, the user with its `name`; if there is none, it creates an
/// invited user. If a row is not valid, the import changes nothing. No row can change a role in the console or
/// the groups of a user, or terminate a user.
#[utoipa::path(
    post,
    path = "/users/import",
    params(ImportQuery),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, description = "The result.", body = ImportView)),
)]
async fn import_users(
    context: Context,
    Extension(permit): Extension<ImportPermit>,
    Query(ImportQuery { dry_run }): Query<ImportQuery>,
    table: CsvBody,
) -> Result<Json<ImportView>, Problem> {
    import_table(context, permit, None, table, dry_run).await
}

/// Import an application's accounts from CSV.
///
/// The rules of the import of users apply. `user` is a user's name, email address or id. `roles` are separated by `;`
/// or blanks, or are a JSON array. A new account has the user's name if `name` is missing, and is active if `state` is
/// missing.
#[utoipa::path(
    post,
    path = "/applications/{id}/accounts/import",
    params(ImportQuery),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, description = "The result.", body = ImportView)),
)]
async fn import_accounts(
    context: Context,
    Extension(permit): Extension<ImportPermit>,
    Path(application): Path<String>,
    Query(ImportQuery { dry_run }): Query<ImportQuery>,
    table: CsvBody,
) -> Result<Json<ImportView>, Problem> {
    let id: Did = id_of(&application, "application")?;
    import_table(context, permit, Some(id), table, dry_run).await
}
